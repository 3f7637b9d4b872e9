from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from chainrule.bundle import load

from .conftest import LINES, Chainrule

FIGURES = {"perplexity", "bits_per_symbol", "bits_per_byte", "symbols", "unknown", "log2prob", "seconds"}


def test_a_text_is_scored_symbol_by_symbol(chainrule: Chainrule, lm: Path) -> None:
    done = chainrule("score", lm, "what is the moon", "--json")
    assert done.code == 0 and set(done.json) >= FIGURES
    assert [one["token"] for one in done.json["tokens"]] == ["what", "is", "the", "<unk>", "</s>"]
    assert {"log2prob", "bits", "order"} <= set(done.json["tokens"][0])
    assert done.json["unknown"] == 1
    people = chainrule("score", lm, "what is the moon").out
    assert "perplexity" in people and "<unk>" in people


def test_the_name_of_a_file_is_a_text_but_not_without_a_word(
    chainrule: Chainrule, lm: Path, tmp_path: Path
) -> None:
    path = tmp_path / "test.txt"
    path.write_text("what is the sun")
    done = chainrule("score", lm, path)
    assert done.code == 0 and "use --file" in done.err
    assert "--file" not in chainrule("score", lm, "what is").err


def test_a_file_standard_input_and_python_agree(
    chainrule: Chainrule, lm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "test.txt"
    path.write_text("\n".join(LINES))
    by_file = chainrule("score", lm, "--file", path, "--json").json
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    by_input = chainrule("score", lm, "--json").json
    assert set(by_file) >= FIGURES
    assert {**by_file, "seconds": 0} == {**by_input, "seconds": 0}
    assert by_file["log2prob"] == pytest.approx(load(lm).score_texts(LINES).log2prob)
    assert by_file["bytes"] == path.stat().st_size + 1


def test_a_text_and_a_file_together_are_refused(chainrule: Chainrule, lm: Path) -> None:
    done = chainrule("score", lm, "text", "--file", "file")
    assert done.code == 2 and "not both" in done.err and done.out == ""


def test_generated_text_is_the_same_for_people_scripts_and_python(chainrule: Chainrule, lm: Path) -> None:
    words = ["generate", lm, "what is", "--length", "8", "--seed", "3"]
    found = chainrule(*words, "--json").json
    assert chainrule(*words).out == found["text"] + "\n"
    assert found["text"] == "what is" + found["continuation"] == load(lm).generate("what is", 8, seed=3)
    assert found["seed"] == 3


def test_every_way_to_generate_is_a_flag(chainrule: Chainrule, lm: Path) -> None:
    done = chainrule(
        *("generate", lm, "what", "--temperature", "0.5", "--top-k", "3", "--top-p", "0.9", "--count", "2")
    )
    assert done.code == 0 and len(done.out.splitlines()) == 2
    assert chainrule("generate", lm, "what is", "--beam", "4", "--stop", "the").out == "what is \n"


def test_completion_is_for_people_and_scripts(chainrule: Chainrule, lm: Path) -> None:
    found = chainrule("complete", lm, "what is the", "-k", "2", "--json").json
    assert len(found["next"]) == len(found["continuations"]) == 2
    assert {"symbol", "text", "probability", "ends"} == set(found["next"][0])
    assert "what is the weather" in chainrule("complete", lm, "what is the").out


def test_the_next_symbol_is_shown_with_bars_that_grow_with_probability(
    chainrule: Chainrule, lm: Path
) -> None:
    header, *lines, others = chainrule("next", lm, "what is the", "-k", "3").out.splitlines()
    lengths = [sum(letter in "▏▎▍▌▋▊▉█" for letter in line) for line in lines]
    assert header.split() == ["next", "probability"] and "(all others)" in others
    assert len(lines) == 3 and lengths[0] == 30 and lengths == sorted(lengths, reverse=True)
    found = chainrule("next", lm, "what is the", "-k", "3", "--json").json
    assert found == load(lm).next("what is the", 3).to_dict()


def test_the_next_symbol_shows_itself_in_a_notebook(lm: Path) -> None:
    found = load(lm).next("what is the", 3)
    drawn = found._repr_html_()
    assert drawn.startswith("<table") and drawn.count("width:") == 3 and found.symbols[0].token in drawn
    assert 0 < found.rest < 1 and "NextSymbols" in repr(found)


def test_candidates_are_ranked_from_words_or_lines(
    chainrule: Chainrule, lm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    candidates = ["what is the whether two day", "what is the weather today"]
    given = chainrule("rank", lm, *candidates, "--json").json
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("\n".join(candidates).encode())))
    read = chainrule("rank", lm, "--json").json
    assert [one["text"] for one in given["ranked"]] == candidates[::-1]
    assert given["ranked"] == read["ranked"]
    assert chainrule("rank", lm, *candidates).out.splitlines()[1].startswith(candidates[1])


def test_a_model_is_shown_and_verified(chainrule: Chainrule, lm: Path) -> None:
    found = chainrule("show", lm, "--verify", "--json").json
    assert (found["family"], found["codecs"]["text"]["name"], found["verified"]) == ("ngram", "words", True)
    assert found["parameters"] > 0
    people = chainrule("show", lm).out.split()
    assert "ngram" in people and people[people.index("order") + 1] == "3"
    assert people[people.index("min_count") + 1] == "1" and people[people.index("closed") + 1] == "off"


def test_what_is_shown_lines_up_in_columns_and_names_its_units(
    chainrule: Chainrule, book: Path, tmp_path: Path
) -> None:
    words = ["--model", "rnn", "--width", "8", "--epochs", "1", "--codec", "words"]
    assert chainrule("fit", book, *words, "-o", tmp_path / "lm", "-q").code == 0
    lines = chainrule("show", tmp_path / "lm").out.splitlines()
    column = lines[0].index(str(tmp_path))
    card = lines[: lines.index("")]  # the table of layers has columns of its own
    assert all(line[column - 1] == " " != line[column] for line in card if len(line) > column)
    assert all(len(line.split()) == 1 for line in card if len(line) <= column), "headings have no value"
    named = {line.split()[0]: line[column:] for line in card}
    assert " nats per symbol" in named["history"]
    assert named["best"].endswith(" nats per symbol") and named["log2prob"].endswith(" bits")
    assert named["seconds"].endswith(" s") and named["bytes"].endswith(" bytes")


@pytest.mark.parametrize("codec", [["words"], ["words", "--split", "simple"], ["characters"]])
def test_unknown_is_the_same_count_in_fit_check_and_score(
    chainrule: Chainrule, book: Path, tmp_path: Path, codec: list[str]
) -> None:
    text = tmp_path / "text.txt"
    text.write_text("what is a zebra today\n\n<unk> is the time\nÜber, the weather!\n", encoding="utf-8")
    told = [book, "--test", text, "--codec", *codec]
    fitted = chainrule("fit", *told, "--order", "2", "-o", tmp_path / "lm", "--json").json["test"]
    part = chainrule("check", *told, "--json").json["parts"]["test"]
    scored = chainrule("score", tmp_path / "lm", "--file", text, "--json").json
    counts = {(one["unknown"], one["symbols"]) for one in (fitted, part, scored)}
    assert len(counts) == 1 and fitted["unknown"] > 2
    people = chainrule("check", *told).out.splitlines()
    header, row = (next(line for line in people if line.startswith(word)) for word in ("part ", "test "))
    cells = dict(zip(re.split(r"  +", header), re.split(r"  +", row), strict=True))
    assert cells["unknown"] == str(fitted["unknown"])


def test_families_codecs_and_their_options_are_listed(chainrule: Chainrule) -> None:
    listed = chainrule("models", "--json").json
    assert "ngram" in listed["families"] and "words" in listed["codecs"]
    assert "ngram" in chainrule("models").out
    flags = {one["flag"]: one for one in chainrule("models", "ngram", "--json").json["options"]}
    assert "default" in flags["--order"] and flags["--order"]["help"]
    assert "--alphabet" not in flags
    assert "--min-count" in chainrule("models", "words").out
    assert "Did you mean 'ngram'" in chainrule("models", "ngrm").err


def test_arpa_goes_out_and_comes_back(chainrule: Chainrule, lm: Path, tmp_path: Path) -> None:
    path = tmp_path / "lm.arpa.gz"
    assert chainrule("export", "arpa", lm, path).code == 0
    assert "--force" in chainrule("export", "arpa", lm, path).err
    assert chainrule("import", "arpa", path, "-o", tmp_path / "back", "--json").json["order"] == 3
    assert "--force" in chainrule("import", "arpa", path, "-o", tmp_path / "back").err
    text = "what is the weather today"
    scores = [chainrule("score", model, text, "--json").json["log2prob"] for model in (lm, tmp_path / "back")]
    assert scores[0] == pytest.approx(scores[1], abs=1e-3)


@pytest.mark.parametrize("verb", ["score {lm} 'what is the time' --json", "models", "--help"])
def test_a_reader_that_goes_away_is_no_error_to_speak_of(lm: Path, verb: str) -> None:
    command = f"{sys.executable} -m chainrule.cli {verb.format(lm=lm)} | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert done.stderr == "" and done.stdout in ("0\n", "141\n")


def test_a_dash_is_standard_input(chainrule: Chainrule, lm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"what is the time\n")))
    assert chainrule("score", lm, "-", "--json").json["symbols"] == 5


def test_unknown_symbols_are_named_on_stderr(chainrule: Chainrule, lm: Path) -> None:
    told = "'moon' is unknown to this model"
    for words in (["score"], ["generate", "--length", "2"], ["complete"], ["rank", "what is"]):
        verb, *rest = words
        done = chainrule(verb, lm, *([] if verb == "rank" else ["what moon is the"]), *rest)
        assert done.code == 0 and (told in done.err) == (verb != "rank")
    assert told in chainrule("rank", lm, "the moon", "the time", "--json").err
    assert chainrule("score", lm, "the moon", "--quiet").err == ""
    assert chainrule("score", lm, "what is <unk>").err == "", "that is how the unknown is written"


def test_several_texts_are_one_object_for_scripts(chainrule: Chainrule, lm: Path) -> None:
    words = ["generate", lm, "what", "--length", "5", "--seed", "4"]
    found = chainrule(*words, "--count", "3", "--json").json
    assert [one["seed"] for one in found["texts"]] == [4, 5, 6]
    assert found["text"] == found["texts"][0]["text"] == chainrule(*words, "--json").json["text"]
    assert len(chainrule(*words, "--json").json["texts"]) == 1


def test_a_beam_gives_the_best_different_texts(chainrule: Chainrule, lm: Path) -> None:
    words = ["generate", lm, "what is", "--beam", "4", "--count", "3"]
    found = chainrule(*words, "--json").json
    texts = [one["text"] for one in found["texts"]]
    assert len(set(texts)) == 3 and chainrule(*words).out.splitlines() == texts
    logs = [one["log2prob"] for one in found["texts"]]
    assert logs == sorted(logs, reverse=True) and "seed" not in found
    done = chainrule("generate", lm, "what is", "--beam", "2", "--count", "3")
    assert done.code == 2 and "3 wide" in done.err


def test_each_sequence_of_a_file_is_scored(chainrule: Chainrule, lm: Path, tmp_path: Path) -> None:
    path = tmp_path / "test.txt"
    path.write_text("\n".join([*LINES, "the moon"]))
    done = chainrule("score", lm, "--file", path, "--each")
    rows = [line.split("\t") for line in done.out.splitlines()]
    assert [text for _, _, text in rows] == [*LINES, "the moon"]
    assert float(rows[0][0]) == pytest.approx(load(lm).score(LINES[0]).log2prob, abs=1e-3)
    assert float(rows[0][1]) == pytest.approx(load(lm).score(LINES[0]).perplexity, abs=1e-3)
    assert "perplexity" in done.err
    lines = chainrule("score", lm, "--file", path, "--each", "--json").out.splitlines()
    found = [json.loads(line) for line in lines]
    assert set(found[0]) >= FIGURES - {"seconds"} and [one["unknown"] for one in found] == [0, 0, 0, 0, 1]
    assert chainrule("score", lm, "a text", "--each").code == 2


def test_a_half_typed_word_is_finished(chainrule: Chainrule, lm: Path) -> None:
    done = chainrule("complete", lm, "what is the wea")
    assert done.err == "" and "weather" in done.out and "what is the weather today" in done.out
    found = chainrule("complete", lm, "what is the wea", "--json").json
    assert [one["text"] for one in found["words"]] == ["ther"] and found["next"] == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--seed", str(1 << 64)], "--seed must be at most"),
        (["--beam", "2", "--temperature", "0.5"], "do not go together"),
        (["--beam", "2", "--top-k", "3"], "do not go together"),
    ],
)
def test_wishes_that_cannot_be_met_are_wrong_usage(
    chainrule: Chainrule, lm: Path, words: list[str], message: str
) -> None:
    done = chainrule("generate", lm, "what", *words)
    assert (done.code, done.out) == (2, "") and message in done.err


def test_an_empty_name_of_a_file_is_refused(chainrule: Chainrule, lm: Path) -> None:
    done = chainrule("score", lm, "--file", "")
    assert done.code == 2 and "is empty" in done.err


def test_a_model_is_exported_into_a_pipe_without_force(
    chainrule: Chainrule, lm: Path, tmp_path: Path
) -> None:
    pipe, found = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: found.append(pipe.read_text()), daemon=True)
    reader.start()
    assert chainrule("export", "arpa", lm, pipe).code == 0
    reader.join(10)
    assert pipe.is_fifo() and found[0].rstrip().endswith("\\end\\")


def test_an_export_to_standard_output_is_the_model_alone(lm: Path, tmp_path: Path) -> None:
    program = "import sys; from chainrule.cli import main; sys.exit(main())"
    words = [sys.executable, "-c", program, "export", "arpa", str(lm), "/dev/stdout"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0 and "n-grams" in done.stderr
    assert done.stdout.strip().startswith("\\data\\") and done.stdout.rstrip().endswith("\\end\\")


def test_an_export_packed_otherwise_is_refused(chainrule: Chainrule, lm: Path, tmp_path: Path) -> None:
    done = chainrule("export", "arpa", lm, tmp_path / "lm.arpa.xz")
    assert done.code == 2 and ".arpa.gz" in done.err and list(tmp_path.iterdir()) == []


def test_an_arpa_file_without_unk_is_said_to_follow_kenlm(chainrule: Chainrule, tmp_path: Path) -> None:
    lines = ["\\data\\", "ngram 1=3", "", "\\1-grams:", "-0.5\t<s>", "-0.5\t</s>", "-0.5\ta", "", "\\end\\"]
    (tmp_path / "x.arpa").write_text("\n".join([*lines, ""]))
    done = chainrule("import", "arpa", tmp_path / "x.arpa", "-o", tmp_path / "lm")
    assert done.code == 0 and "unknown words get the log10 probability -100" in done.err
    again = chainrule("import", "arpa", tmp_path / "x.arpa", "-o", tmp_path / "lm", "--force", "--json")
    assert any("<unk>" in note for note in json.loads(again.out)["notes"])
    assert "-100" in chainrule("show", tmp_path / "lm").out
