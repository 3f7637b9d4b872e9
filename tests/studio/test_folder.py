"""Nothing outside the folder: names, links, values, commands."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chainrule.studio import words
from chainrule.studio.answers import ANSWERS, _files
from chainrule.studio.folder import Folder, Outside
from chainrule.studio.models import Models, views
from chainrule.studio.shelf import Shelf
from chainrule.views.kinds import kinds
from fitted import fitted


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    inner = tmp_path / "inner"
    (inner / "data").mkdir(parents=True)
    (tmp_path / "secret.txt").write_text("secret")
    (inner / "book.txt").write_text("a book\n")
    (inner / "data" / "more.txt").write_text("more\n")
    os.symlink(tmp_path / "secret.txt", inner / "link.txt")
    os.symlink(tmp_path, inner / "up")
    os.symlink(inner / "book.txt", inner / "same.txt")
    return Folder.of(inner)


BAD = [
    "",
    "..",
    "../secret.txt",
    "/etc/passwd",
    "data/../../secret.txt",
    "link.txt",
    "up/secret.txt",
    "~",
    "-o",
]


@pytest.mark.parametrize("name", [*BAD, ".studio/jobs", "a\\b", "a\0b"])
def test_a_name_that_leads_out_is_refused(folder: Folder, name: str) -> None:
    with pytest.raises(Outside):
        folder.inside(name)


def test_names_and_links_inside_are_fine(folder: Folder) -> None:
    assert folder.whole("data/more.txt").read_text() == "more\n"
    assert folder.whole("same.txt").read_text() == "a book\n"
    with pytest.raises(Outside, match="leads out"):
        folder.whole(".")


def test_files_that_are_listed_are_those_inside(folder: Folder) -> None:
    (folder.root / "loss.PNG").write_bytes(b"\x89PNG")  # no data: neither lines nor columns
    assert {one["name"] for one in folder.files()} == {"book.txt", "data/more.txt", "same.txt"}


@pytest.mark.parametrize("name", ["book.txt", "data/new", "..", ".hidden", "a*b", "a\nb", "x" * 200, "-o"])
def test_a_new_name_is_free_and_plain(folder: Folder, name: str) -> None:
    with pytest.raises(Outside):
        folder.new(name)


def test_what_is_deleted_can_be_put_back(folder: Folder) -> None:
    binned = folder.bin("data")
    assert not (folder.root / "data").exists()
    assert [(one["binned"], one["name"]) for one in folder.binned()] == [(binned, "data")]
    assert folder.restore(binned) == "data"
    assert folder.binned() == []
    assert (folder.root / "data" / "more.txt").exists()
    with pytest.raises(Outside):
        folder.restore("../../data")


def test_the_words_of_a_training_are_those_one_would_type(folder: Folder) -> None:
    form = {
        "data": "book.txt",
        "model": "lstm",
        "budget": "1m",
        "name": "m",
        "settings": {"layers": 2, "tied": "no", "stream": True, "bf16": False, "lr": ""},
    }
    expected = "fit book.txt --model lstm --budget 1m --layers 2 --tied no --stream --no-bf16 -o m"
    assert " ".join(words.training(folder, form).words) == expected
    compared = words.training(folder, {"compare": True, "data": "data", "budget": "1m", "name": "c"})
    assert " ".join(compared.words) == "compare data --budget 1m -o c"


@pytest.mark.parametrize(
    "given",
    [
        {"data": "../secret.txt"},
        {"data": "link.txt"},
        {"data": "-"},
        {"model": "--force"},
        {"label": "../x"},
        {"name": "../out"},
        {"settings": {"vectors": "../secret.txt"}},
        {"settings": {"valid": "link.txt"}},
        {"settings": {"valid": "*.txt"}},
        {"settings": {"valid": "up"}},
        {"settings": {"force": True}},
        {"settings": {"a b": "c"}},
        {"settings": {"lr": "--force"}},
        {"settings": {"config": "book.txt"}},
        {"data": 3},
    ],
)
def test_words_never_name_what_is_outside_or_another_flag(folder: Folder, given: dict[str, object]) -> None:
    with pytest.raises(Outside):
        words.training(folder, {"data": "book.txt", "model": "lstm", "name": "m", **given})


def test_settings_of_views_that_name_files_are_known() -> None:
    found = {view: _files(view) for view in kinds()}
    expected = {"attention": {"corpus"}, "cells": {"search"}, "filters": {"corpus"}, "recall": {"corpus"}}
    expected |= {"surprise": {"counts"}, "training": {"run"}}
    assert {view: names for view, names in found.items() if names} == expected


@pytest.mark.parametrize("name", ["../secret.txt", "link.txt", "/etc/passwd"])
def test_a_view_reads_no_file_outside(folder: Folder, name: str) -> None:
    fitted().save(folder.root / "lm")
    asked = {"do": "look", "model": "lm", "text": "the time", "view": "surprise"}
    with pytest.raises(Outside):
        list(ANSWERS["look"](Shelf(folder), {**asked, "settings": {"counts": name}}))
    [told] = ANSWERS["look"](Shelf(folder), {**asked, "settings": {"counts": "book.txt"}})
    assert told["result"]["kind"] == "surprise"


def test_views_that_a_model_cannot_draw_are_not_offered() -> None:
    assert views("lstm", "classify") == ["cells", "saliency", "training"]
    assert views("lstm", "next")[-4:] == ["gradient", "cells", "saliency", "training"]
    assert views("bert", "tag") == ["attention", "vectors", "training"]
    assert "saliency" not in views("transformer", "translate")


def test_models_are_listed_opened_and_renamed(folder: Folder) -> None:
    fitted().save(folder.root / "lm")
    fitted().save(folder.root / "nested" / "models" / "lm")
    (folder.root / "broken").mkdir()
    (folder.root / "broken" / "config.json").write_text("{}")
    models = Models(folder)
    assert {one["name"] for one in models.listed()} == {"lm", "nested/models/lm"}
    models.rename("lm", "other")
    assert {one["name"] for one in models.listed()} == {"other", "nested/models/lm"}
    assert models.detail("other")["model"]["order"] == 3
    for wrong in ("nested/models/lm", "broken", "data"):
        with pytest.raises(Outside):
            models.rename(wrong, "third")


def test_a_model_whose_files_lead_out_is_not_opened(folder: Folder) -> None:
    fitted().save(folder.root / "lm")
    (folder.root / "lm" / "card.json").unlink()
    os.symlink(folder.root.parent / "secret.txt", folder.root / "lm" / "card.json")
    assert Models(folder).listed() == []
    with pytest.raises(Outside, match="leads out"):
        Models(folder).detail("lm")
