"""Sources that are no texts: how they are recognised, where their files are, how rows of them are divided."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from chainrule.codecs.base import UNIT, Texts
from chainrule.codecs.registry import codec
from chainrule.data.attached import attached, source_choice
from chainrule.data.dataset import prepare, read_part
from chainrule.data.encoder_inputs import EncoderInputs
from chainrule.data.rows import TARGET
from chainrule.errors import ConfigError, DataError
from chainrule.symbols import FIRST, PADDING
from chainrule.tasks.translate import Translate


def roles(*names: str) -> list:
    return list(Translate(sources=names if len(names) > 1 else ()).roles())


@pytest.mark.parametrize(
    ("cells", "name"),
    [
        (["a.png", "b/c.JPG", "d.jpeg"], "images"),
        (["one.wav", "two.wav"], "audio"),
        (["x.csv", "y.npy"], "frames"),
        (["1\t2 3\t4", "5\t6"], "frames"),
        (["anna", "boris"] * 20, "labels"),
        (["so it is", "a.png"], None),
        (["anna", "boris"] * 5, None),
        (["two words"] * 50, None),
    ],
)
def test_what_is_no_text_is_recognised_by_its_cells(cells: list[str], name: str | None) -> None:
    found = source_choice(Texts.of(cells))
    assert (found.name if found else None) == name


def test_matrices_are_read_from_files_beside_the_table(tmp_path: Path) -> None:
    numbers = np.array([[1.0, 2.0], [3.0, np.nan], [5.0, 6.0]])
    np.save(tmp_path / "a.npy", numbers)
    (tmp_path / "b.csv").write_text("x,y\n1,2\n3,\n5,6\n")
    (tmp_path / "c.csv").write_text("1,2\n3,nan\n5,6\n")
    told = f"1 2{UNIT}3 nan{UNIT}5 6"
    found = attached(Texts.of(["a.npy", "b.csv", "c.csv", told]), codec("frames"), [tmp_path])
    parsed = [
        codec("frames").learn(lambda one=one: [Texts.of([one])], codec("frames").Config()) for one in found
    ]
    assert {tuple(one.moments.mean) for one in parsed} == {(3.0, 4.0)}  # type: ignore[attr-defined]
    assert {one.moments.missing for one in parsed} == {1}  # type: ignore[attr-defined]
    with pytest.raises(DataError):
        attached(Texts.of(["missing.npy"]), codec("frames"), [tmp_path])


def test_frames_of_json_lines_and_of_python_are_the_same(tmp_path: Path) -> None:
    weeks = [[[at + 0.5, 2.0 * at], [1.0, at]] for at in range(12)]
    words = [f"word {at}" for at in range(12)]
    rows = (json.dumps({"week": week, "said": one}) for week, one in zip(weeks, words, strict=True))
    (tmp_path / "weeks.jsonl").write_text("\n".join(rows))
    options = {"source": "week", "target": "said"}
    first = prepare(tmp_path / "weeks.jsonl", roles=roles("source"), options=options, divide=False)
    arrays = {"source": [np.array(week) for week in weeks], "target": words}
    second = prepare(arrays, roles=roles("source"), divide=False)
    assert first.codecs["source"].name == second.codecs["source"].name == "frames"
    one, other = (each.train["source"].vectors for each in (first, second))
    assert one is not None and other is not None and np.allclose(one, other) and first.train["source"].bare


def test_encoders_are_given_ids_of_labels_without_an_end_and_frames_with_padding() -> None:
    data = {
        "author": ["anna", "boris"] * 20,
        "series": [[[1.0, 2.0]] * (1 + at % 3) for at in range(40)],
        "target": [f"so {at}" for at in range(40)],
    }
    ready = prepare(data, roles=roles("author", "series"), divide=False)
    inputs = EncoderInputs.of(ready.train, TARGET)
    labels, frames = inputs.take(np.arange(3))
    assert labels.tolist() == [[FIRST], [FIRST + 1], [FIRST]] and inputs.lengths[:3].tolist() == [2, 3, 4]
    assert frames.shape == (3, 3, 2) and ((frames == PADDING).sum((1, 2)) == [4, 2, 0]).all()
    picked = EncoderInputs.of(ready.train.select(np.array([2, 0])), TARGET).take(np.arange(2))
    assert np.array_equal(picked[0], labels[[2, 0]]) and np.array_equal(picked[1], frames[[2, 0]])


def test_questions_and_documents_have_one_vocabulary_and_labels_their_own() -> None:
    data = {
        "question": [f"where is {at}" for at in range(40)],
        "document": [f"here is {at}" for at in range(40)],
        "author": ["anna", "boris"] * 20,
        "target": [f"at {at}" for at in range(40)],
    }
    ready = prepare(data, roles=roles("question", "document", "author"), codec="words", divide=False)
    marks = {role: one.fingerprint() for role, one in ready.codecs.items()}
    assert marks["question"] == marks["document"] != marks[TARGET] and ready.codecs["author"].name == "labels"
    sizes = Translate(sources=("question", "document", "author")).sizes(ready.codecs)
    assert sizes["source_sizes"] == (ready.codecs["question"].size, -1, FIRST + 2)
    assert sizes["source_kinds"] == ("symbols",) * 3


def test_a_folder_may_be_moved_and_its_rows_are_divided_alike(tmp_path: Path) -> None:
    parts = []
    for folder in (tmp_path / "here", tmp_path / "far" / "there"):
        (folder / "series").mkdir(parents=True)
        for at in range(60):
            (folder / "series" / f"{at}.csv").write_text(f"{at},1\n2,{at}\n")
        lines = (f"series/{at}.csv\tword {at}\n" for at in range(60))
        (folder / "all.tsv").write_text("source\ttarget\n" + "".join(lines))
        ready = prepare(folder / "all.tsv", roles=roles("source"), codec="words")
        assert ready.valid is not None
        parts.append(ready.codecs["source"].values(ready.valid["source"].vectors))  # type: ignore[attr-defined]
    assert np.allclose(parts[0], parts[1])
    again = read_part(folder / "all.tsv", ready.codecs, roles=roles("source"))
    assert again.examples == 60 and again["source"].vectors is not None


def test_rows_of_labels_are_divided_by_what_is_written() -> None:
    data = {"source": ["anna", "boris"] * 100, "target": [f"so it is , {at}" for at in range(200)]}
    ready = prepare(data, roles=roles("source"))
    assert ready.valid is not None and ready.test is not None
    for part in (ready.train, ready.valid, ready.test):
        assert len(set(part["source"].ids[1::3].tolist())) == 2


def test_names_of_several_sources_must_be_names() -> None:
    for names in (("a", "target"), ("a", "a"), ("a", "no name")):
        with pytest.raises(ConfigError, match="several sources"):
            Translate(sources=names)


def test_a_cell_too_long_for_a_name_is_refused_as_a_file_that_is_not_there(tmp_path: Path) -> None:
    long = f"{'9' * 5000}.npy"
    assert attached(Texts.of([f"{'9' * 5000}.png"]), codec("images"), [tmp_path])
    with pytest.raises(DataError):
        attached(Texts.of([long]), codec("frames"), [tmp_path])
