"""Translation: a source and a target, from fit to evaluate, in Python and on the command line."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest

import chainrule as cr
from chainrule.cli import main
from chainrule.errors import ConfigError, DataError, ModelError
from chainrule.use.translate import Translator

DIGITS = "zero one two three four".split()
SMALL = {"model": "transformer", "layers": 1, "width": 32, "heads": 2, "dropout": 0.0, "codec": "words"}


def pairs(count: int, seed: int = 0) -> tuple[list[str], list[str]]:
    """Numbers in words, and the same from the end as digits: every target depends on all of its source."""
    rng = np.random.default_rng(seed)
    rows = [rng.integers(0, len(DIGITS), rng.integers(1, 5)).tolist() for _ in range(count)]
    return [" ".join(DIGITS[one] for one in row) for row in rows], [
        " ".join(map(str, reversed(row))) for row in rows
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Parallel files and a model of them."""
    place = tmp_path_factory.mktemp("writing")
    for part, (source, target) in {"train": pairs(600), "valid": pairs(60, 1)}.items():
        (place / f"{part}.en").write_text("\n".join(source) + "\n")
        (place / f"{part}.de").write_text("\n".join(target) + "\n")
    data = {"source": str(place / "train.en"), "target": str(place / "train.de")}
    valid = {"source": str(place / "valid.en"), "target": str(place / "valid.de")}
    model = cr.fit(data, valid=valid, epochs=50, lr=0.01, batch_size=16, **SMALL)
    model.save(place / "mt")
    return place


def test_what_was_learnt_is_written_for_sources_of_any_length(folder: Path) -> None:
    model = cr.load(folder / "mt")
    source, target = pairs(40, 2)
    found = model.translate(source)
    assert [one.row for one in found] == list(range(1, 41))
    assert np.mean([one.text == wanted for one, wanted in zip(found, target, strict=True)]) > 0.9


def test_a_translation_does_not_depend_on_those_beside_it(folder: Path) -> None:
    model, (source, _) = cr.load(folder / "mt"), pairs(70, 3)
    together = [one.choices[0] for one in model.translate(source)]
    alone = [model.translate([one])[0].choices[0] for one in source[:12]]
    assert [one.text for one in together[:12]] == [one.text for one in alone]
    assert [one.log2prob for one in together[:12]] == pytest.approx([one.log2prob for one in alone], abs=1e-3)


def test_several_choices_differ_and_the_best_comes_first(folder: Path) -> None:
    [found] = cr.load(folder / "mt").translate(["one two"], count=3)
    assert len({one.text for one in found.choices}) == 3
    logs = [one.log2prob for one in found.choices]
    assert logs == sorted(logs, reverse=True) or len({len(one.text.split()) for one in found.choices}) > 1
    [drawn] = cr.load(folder / "mt").translate(["one two"], temperature=1.0, seed=1)
    assert drawn.choices[0].log2prob is None


def test_lengths_are_bounded_by_the_source(folder: Path) -> None:
    model = cr.load(folder / "mt")
    [long] = model.translate(["one"], min_length_ratio=6.0)
    assert len(long.text.split()) >= 6
    [greedy] = model.translate(["one"], temperature=0.0, min_length_ratio=6.0)
    assert len(greedy.text.split()) >= 6
    [longer] = model.translate(["one two three four"], min_length_ratio=6.0, max_length_ratio=0.5)
    assert len(longer.text.split()) >= 24  # what it must have at least comes before what it may have
    [short] = model.translate(["one two three four"], length=2)
    assert len(short.text.split()) <= 2


def test_an_alignment_tells_where_each_word_came_from(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, (source, _) = cr.load(folder / "mt"), pairs(60, 6)
    found = [one for one in model.translate(source, alignment=True) if one.alignment]
    links = [(len(one.text.split()) - 1 - i == j) for one in found for i, j in one.alignment or ()]
    assert len(links) > 100 and np.mean(links) > 0.5  # as the numbers are turned round; a quarter by chance
    [nothing] = model.translate([""], alignment=True)
    assert nothing.alignment is None and model.translate(["one"])[0].alignment is None
    words = ["translate", str(folder / "mt"), found[0].source, "--alignment"]
    assert main(words) == 0
    told = " ".join(f"{i}-{j}" for i, j in found[0].alignment or ())
    assert capsys.readouterr().out == f"{found[0].text}\t{told}\n"
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["alignment"] == [
        list(link) for link in found[0].alignment or ()
    ]


def test_words_in_several_symbols_are_aligned_as_words() -> None:
    source, target = pairs(120)
    data = {"source": source, "target": target}
    model = cr.fit(data, **{**SMALL, "codec": "characters"}, steps=1)
    [found] = model.translate(["zero one"], alignment=True, temperature=0.0, length=9)
    words = len(found.text.split())
    assert found.alignment is not None
    assert all(i in (0, 1) and j < words for i, j in found.alignment)


def test_candidates_are_ranked_by_their_source_and_by_other_models(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = cr.load(folder / "mt")
    found = model.rank(["1 2", "2 1"], source="one two")
    assert [one.text for one in found.ranked] == ["2 1", "1 2"]
    logs = model.log_probability(["2 1", "1 2"], ["one two"] * 2) / np.log(2)
    assert [one.log2prob for one in found.ranked] == pytest.approx(logs.tolist(), abs=1e-3)
    with pytest.raises(ModelError, match="rank --source"):
        model.rank(["1 2", "2 1"])
    table = {"source": ["one two"] * 2, "text": ["1 2", "2 1"]}
    [ranked] = model.rank_file(table, source="source", column="text")
    assert [one.lm for one in ranked.ranked] == pytest.approx(logs.tolist(), abs=1e-3)


def test_a_noisy_channel_weighs_a_language_model_and_a_model_that_writes_backwards(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cr.fit(["1 2"] * 9 + ["2 1"], order=2, codec="words").save(tmp_path / "lm")
    backwards = {"source": str(folder / "train.de"), "target": str(folder / "train.en")}
    cr.fit(backwards, **SMALL, steps=2).save(tmp_path / "back")
    words = ["rank", str(folder / "mt"), "1 2", "2 1", "--source", "one two", "--json", "--log-base", "e"]
    assert main([*words, "--also", f"{tmp_path / 'lm'}=0", "--channel", f"{tmp_path / 'back'}=0.5"]) == 0
    [best, other] = json.loads(capsys.readouterr().out)["ranked"]
    assert best["text"] == "2 1" and best["total"] == pytest.approx(
        best["lm"] + sum(best["weighted"].values())
    )
    channel = cr.load(tmp_path / "back").log_probability(["one two"], ["2 1"])[0]
    assert best["weighted"][str(tmp_path / "back")] == pytest.approx(0.5 * channel, abs=1e-3)
    own = cr.load(tmp_path / "lm").rank(["1 2"]).ranked[0].log2prob * np.log(2)
    assert other["scores"][str(tmp_path / "lm")] == pytest.approx(own, abs=1e-3)
    assert main([*words, "--also", f"{tmp_path / 'lm'}=1000"]) == 0
    assert json.loads(capsys.readouterr().out)["ranked"][0]["text"] == "1 2"
    assert main([*words[:4], "--channel", f"{tmp_path / 'back'}=1"]) == 2
    assert "with --source" in capsys.readouterr().err


def test_evaluation_has_bleu_its_signature_and_perplexity(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [str(folder / "mt"), "--source", str(folder / "valid.en"), "--target", str(folder / "valid.de")]
    assert main(["evaluate", *words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["bleu"] > 80 and found["perplexity"] < 2 and "tok:13a" in found["signature"]
    assert found["intervals"]["bleu"][0] <= found["bleu"] <= found["intervals"]["bleu"][1]


def test_one_line_comes_out_for_every_line_that_goes_in(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in.txt").write_text("one two\n\nthree\n")
    assert main(["translate", str(folder / "mt"), "--file", str(tmp_path / "in.txt")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3 and lines[1] == "" and lines[0] == "2 1"
    (tmp_path / "out.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "right.txt").write_text("2 1\n\n3\n")
    words = ["--hypotheses", str(tmp_path / "out.txt"), "--references", str(tmp_path / "right.txt")]
    assert main(["evaluate", *words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["examples"] == 3
    assert main(["translate", str(folder / "mt"), "one two", "--count", "2", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["choices"]) == 2


def test_two_systems_are_compared_by_texts_and_as_models(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = pairs(60, 4)
    worse = [one if at % 3 else "0" for at, one in enumerate(target)]
    for name, rows in {"src": source, "ref": target, "a": target, "b": worse}.items():
        (tmp_path / name).write_text("\n".join(rows) + "\n")
    a, b, ref = (str(tmp_path / name) for name in ("a", "b", "ref"))
    texts = ["evaluate", "--hypotheses", a, "--references", ref, "--references", b, "--json"]
    for more in (["--hypotheses", b], ["--against", b]):
        assert main([*texts, *more]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["models"] == [a, b]
        assert found["differences"]["wer"]["first"] == found["differences"]["wer"]["second"] == 0.0
    assert main(["evaluate", "--hypotheses", a, "--hypotheses", b, "--references", ref, "--json"]) == 0
    one = json.loads(capsys.readouterr().out)["differences"]["wer"]
    assert one["first"] == 0.0 < one["second"] and one["significant"] and one["p_values"]["bootstrap"] < 0.01
    model = str(folder / "mt")
    data = ["--source", str(tmp_path / "src"), "--target", ref, "--against", model]
    assert main(["evaluate", model, *data]) == 0
    assert "p (randomisation)" in capsys.readouterr().out
    assert (
        main(["evaluate", "--hypotheses", a, "--hypotheses", a, "--hypotheses", b, "--references", ref]) == 2
    )
    assert "compare two" in capsys.readouterr().err


def test_the_command_fits_files_and_columns(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = "--model transformer --layers 1 --width 16 --heads 2 --steps 2 --codec words -q".split()
    files = ["--source", str(folder / "train.en"), "--target", str(folder / "train.de")]
    assert main(["fit", *files, *flags, "-o", str(tmp_path / "one")]) == 0
    source, target = pairs(80)
    rows = "".join(f"{one}\t{two}\n" for one, two in zip(source, target, strict=True))
    (tmp_path / "pairs.tsv").write_text(f"en\tde\n{rows}")
    words = ["fit", str(tmp_path / "pairs.tsv"), "--source", "en", "--target", "de", *flags]
    assert main([*words, "-o", str(tmp_path / "two")]) == 0
    assert cr.load(tmp_path / "two").card["columns"] == {"source": "en", "target": "de"}
    assert main(["evaluate", str(tmp_path / "two"), str(tmp_path / "pairs.tsv"), "--json"]) == 0
    capsys.readouterr()
    assert main(["fit", "--source", str(folder / "train.en"), "-o", str(tmp_path / "three")]) == 2
    assert "--target" in capsys.readouterr().err
    assert (
        main(["fit", "--source", str(folder / "train.en"), "--steps", "2", "-o", str(tmp_path / "three")])
        == 2
    )
    assert "--target" in capsys.readouterr().err
    assert main(["fit", "-o", str(tmp_path / "three")]) == 2 and "Name the data" in capsys.readouterr().err


def test_sub_words_are_shared_and_so_is_their_table(folder: Path) -> None:
    source, target = pairs(80)
    small = {**SMALL, "codec": "subwords", "vocab": 300, "steps": 2, "width": 16}
    shared = cr.fit({"source": np.array(source, object), "target": np.array(target, object)}, **small)
    assert shared.codecs["source"].fingerprint() == shared.codecs["target"].fingerprint()
    assert shared.body.config.source_size == 0 and "source_embedding.weight" not in shared.arrays()
    apart = cr.fit(
        {"source": np.array(source, object), "target": np.array(target, object)}, shared_vocab=False, **small
    )
    assert apart.body.config.source_size > 0 and "source_embedding.weight" in apart.arrays()


def test_a_recurrent_encoder_decoder_is_fitted_saved_and_writes(folder: Path, tmp_path: Path) -> None:
    data = {"source": str(folder / "train.en"), "target": str(folder / "train.de")}
    settings = {"attention": "additive", "cell": "gru", "width": 32, "dropout": 0.0, "codec": "words"}
    model = cr.fit(data, model="seq2seq", epochs=40, lr=0.01, batch_size=16, **settings)
    model.save(tmp_path / "rnn")
    again, (source, target) = cr.load(tmp_path / "rnn"), pairs(40, 2)
    found = again.translate(source)
    assert np.mean([one.text == wanted for one, wanted in zip(found, target, strict=True)]) > 0.8
    assert again.body.config.embedding == 16  # chosen
    tuned = cr.fit(data, init_from=again, steps=2)
    assert tuned.translate(["one two"])[0].text


def test_a_dash_is_standard_input_and_a_name_of_a_file_is_pointed_out(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"one two\nthree\n")))
    assert main(["translate", str(folder / "mt"), "-"]) == 0
    assert capsys.readouterr().out == "2 1\n3\n"
    assert main(["translate", str(folder / "mt"), str(folder / "valid.en")]) == 0
    assert "use --file" in capsys.readouterr().err


def test_a_source_longer_than_anything_seen_is_translated_and_ranked_with(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "one two " * 300  # longer than any name of a file may be
    assert main(["translate", str(folder / "mt"), text, "--temperature", "0"]) == 0
    assert capsys.readouterr().out.count("\n") == 1
    assert main(["rank", str(folder / "mt"), "2 1 " * 600, "--source", text]) == 0


def test_words_of_a_source_that_are_unknown_are_told(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["translate", str(folder / "mt"), "one zebra 2"]) == 0
    told = capsys.readouterr().err
    assert "'zebra' is unknown" in told and "'2' is unknown" in told and "'one'" not in told


def test_an_alignment_stands_beside_the_best_of_several(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["translate", str(folder / "mt"), "one two", "--count", "2"]
    assert main(words) == 0
    without = capsys.readouterr().out.splitlines()
    assert main([*words, "--alignment"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith(without[0] + "\t") and "-" in first.split("\t")[-1] and second == without[1]


def test_a_model_that_writes_from_a_source_is_not_used_without_one(folder: Path) -> None:
    model = cr.load(folder / "mt")
    for use in (
        model.score,
        model.generate,
        model.next,
        model.complete,
        lambda text: model.score_texts([text]),
    ):
        with pytest.raises(ModelError, match="writes from a source"):
            use("1 2")
    with pytest.raises(ModelError, match="writes from a source"):
        model.score_file(str(folder / "valid.de"))


def test_evaluation_is_the_same_in_python_and_writes_as_it_is_told(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, (source, target) = cr.load(folder / "mt"), pairs(30, 5)
    rows = "".join(f"{one}\t{two}\n" for one, two in zip(source, target, strict=True))
    (tmp_path / "pairs.tsv").write_text(f"en\tde\n{rows}")
    (tmp_path / "a").write_text("\n".join(source) + "\n")
    (tmp_path / "b").write_text("\n".join(target) + "\n")
    files = {"source": str(tmp_path / "a"), "target": str(tmp_path / "b")}
    found = model.evaluate(files)
    assert found.figures == model.evaluate(tmp_path / "pairs.tsv", source="en", target="de").figures
    assert (
        found.figures["bleu"] > 80 and model.evaluate_against(model, files).differences["bleu"].value == 0.0
    )
    short = model.evaluate(files, beam=2, length=1)
    assert short.figures["bleu"] < found.figures["bleu"]
    words = [str(folder / "mt"), str(tmp_path / "pairs.tsv"), "--source", "en", "--target", "de", "--json"]
    assert main(["evaluate", *words, "--beam", "2", "--length", "1"]) == 0
    assert json.loads(capsys.readouterr().out)["bleu"] == pytest.approx(short.figures["bleu"])


def test_settings_of_writing_are_refused_where_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = [("good", "yes"), ("bad", "no")] * 20
    rows = "".join(f"{text},{label}\n" for text, label in data)
    (tmp_path / "some.csv").write_text(f"text,label\n{rows}")
    cr.fit(tmp_path / "some.csv", task="classify", model="bag", column="text", label="label").save(
        tmp_path / "m"
    )
    assert main(["evaluate", str(tmp_path / "m"), str(tmp_path / "some.csv"), "--beam", "2"]) == 2
    assert "beam" in capsys.readouterr().err


def test_what_cannot_be_translated_is_refused(folder: Path) -> None:
    lm = cr.fit(["a b c"] * 30, model="ngram", order=2)
    with pytest.raises(ModelError, match="translates nothing"):
        lm.translate(["a"])
    with pytest.raises(ConfigError, match="beam"):
        Translator.of(cr.load(folder / "mt"), {"beam": 2, "temperature": 0.5})


def test_pairs_of_unlike_length_are_left_out_and_told() -> None:
    source, target = pairs(40)
    source[3], target[7] = " ".join(DIGITS * 4), " ".join("01234" * 4)
    data = {"source": source, "target": target}
    model = cr.fit(data, **SMALL, steps=1, valid=data, test=data, length_ratio=3.0)
    [note] = [note for note in model.card["notes"] if "left out" in note]
    assert (
        note.startswith("2 of 40 pairs to learn from were left out")
        and f"{target[3]!r} (20 and" in note
        and f"'{target[7][:30]}…' (" in note
    )
    assert not [note for note in cr.fit(data, **SMALL, steps=1).card["notes"] if "left out" in note]
    unlike = {"source": ["a a a a", "b b b b"], "target": ["a", "b"]}
    with pytest.raises(DataError, match="would leave out all 2 pairs"):
        cr.fit(unlike, **SMALL, valid=unlike, length_ratio=2.0)


def test_counting_families_leave_out_the_same_pairs_also_when_they_are_fitted_again() -> None:
    source, target = pairs(60)
    source[3] = " ".join(DIGITS * 4)
    model = cr.fit({"source": source, "target": target}, model="ibm1", codec="words", length_ratio=3.0)
    assert [note for note in model.card["notes"] if note.startswith("1 of ")]
