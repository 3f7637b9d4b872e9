"""Text files with labels: a file or a folder for each, lines that begin with one."""

from __future__ import annotations

from pathlib import Path

import pytest

import chainrule as cr
from chainrule.data.labelled_text import labelled_text, labels_of_names
from chainrule.data.sources import ReadConfig, read
from chainrule.errors import DataError


def written(folder: Path, files: dict[str, str]) -> list[Path]:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return [folder / name for name in files]


def found(given: object) -> list[tuple[bytes, bytes]]:
    columns = labelled_text(read(given, ReadConfig()))  # type: ignore[arg-type]
    return list(zip(columns["label"], columns["text"], strict=True))


def test_a_file_for_every_label(tmp_path: Path) -> None:
    paths = written(tmp_path, {"rt-polarity.pos": "good\n\nfine\n", "rt-polarity.neg": "bad\n"})
    assert sorted(found(paths)) == [(b"neg", b"bad"), (b"pos", b"fine"), (b"pos", b"good")]


def test_a_folder_for_every_label(tmp_path: Path) -> None:
    written(tmp_path, {"spam/1.txt": "buy\nnow\n", "ham/2.txt": "see you\n", "ham/3.txt": "hello"})
    assert sorted(found(tmp_path)) == [(b"ham", b"hello"), (b"ham", b"see you"), (b"spam", b"buy now")]


def test_marked_lines(tmp_path: Path) -> None:
    (path,) = written(tmp_path, {"all.txt": "__label__spam buy now\n__label__ham see you\n"})
    assert found(path) == [(b"spam", b"buy now"), (b"ham", b"see you")]


def test_lines_that_begin_with_one_of_few_words(tmp_path: Path) -> None:
    (path,) = written(tmp_path, {"sst.txt": "".join(f"{at % 2} a film {at}\n" for at in range(12))})
    assert found(path)[:2] == [(b"0", b"a film 0"), (b"1", b"a film 1")]


def test_a_book_has_no_labels(tmp_path: Path) -> None:
    (path,) = written(tmp_path, {"book.txt": "it was late\nso he said\nno more of it\n"})
    with pytest.raises(DataError, match="says no labels"):
        found(path)


@pytest.mark.parametrize(
    ("names", "labels"),
    [
        (["rt-polarity.pos", "rt-polarity.neg"], ["pos", "neg"]),
        (["spam.txt", "ham.txt"], ["spam", "ham"]),
        (["train_en_x.txt", "train_de_x.txt"], ["en", "de"]),
        (["a.txt", "a.txt.old"], ["a.txt", "old"]),
    ],
)
def test_labels_are_what_differs_in_names(names: list[str], labels: list[str]) -> None:
    assert labels_of_names(names) == labels


def test_a_model_is_fitted_to_a_file_for_every_label(tmp_path: Path) -> None:
    texts = {"good": "good film {}", "bad": "bad film {}"}
    paths = written(
        tmp_path,
        {
            f"{label}.txt": "".join(f"{text.format(at)}\n" for at in range(30))
            for label, text in texts.items()
        },
    )
    model = cr.fit(paths, task="classify", model="bag")
    assert model.predict("a good one")[0].label == "good"
    assert model.evaluate(paths).figures["accuracy"] == 1.0


def test_trees_of_sst_give_the_label_of_the_root_and_the_words(tmp_path: Path) -> None:
    trees = [r"(3 (2 a) (4 (3 good) (2 (2 -LRB-) (2 and\/or))))", "(1 (2 bad) (2 film))", "(2 so)"]
    path = tmp_path / "train.txt"
    path.write_text("".join(f"{tree}\n" for tree in trees), encoding="utf-8")
    found = labelled_text(read(path, ReadConfig()))
    assert found == {"text": [b"a good ( and/or", b"bad film", b"so"], "label": [b"3", b"1", b"2"]}
