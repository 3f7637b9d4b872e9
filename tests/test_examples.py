"""Examples are always the same, are read as they are meant, and hold something to find."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from datetime import date, datetime
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import typer

from chainrule.cli import example as verb
from chainrule.cli.verb import Verb
from chainrule.data.examples import EXAMPLES, MADE, example
from chainrule.errors import BundleError, ConfigError
from chainrule.seasons import season
from chainrule.use.check import check

Run = Callable[..., str]
CODECS = {"weather": "events", "visits": "events", "dna": "characters", "numbers": "numbers", "text": "words"}
CODECS["sensors"] = "frames"


def rows(name: str) -> list[list[str]]:
    return [line.split(",") for line in example(name)[1].splitlines()[1:]]


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_always_the_same_small_and_ends_with_a_line_end(name: str) -> None:
    file, content = example(name)
    assert (file, content) == example(name) and file.startswith(name)
    assert 15_000 < len(content.encode()) < 2_000_000 and content.endswith("\n")


@pytest.mark.parametrize("name", CODECS)
def test_the_options_of_an_example_are_those_its_data_need(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHAINRULE_CACHE", str(tmp_path / "cache"))
    file, content = example(name)
    (tmp_path / file).write_text(content, encoding="utf-8")
    words = MADE[name].options
    options = {flag.removeprefix("--"): value for flag, value in zip(words[::2], words[1::2], strict=True)}
    found = check(tmp_path / file, **options)
    assert found.codec.name == CODECS[name]
    assert all(found.facts.parts[part].symbols > 200 for part in ("train", "valid", "test"))


def test_unknown_examples_are_refused_with_a_suggestion() -> None:
    with pytest.raises(ConfigError, match=r"'wether'.*Did you mean 'weather'"):
        example("wether")


def test_it_snows_in_winter_only_and_each_state_likes_to_stay() -> None:
    days = rows("weather")
    assert {date[5:7] for date, state in days if state == "snow"} <= {
        "10",
        "11",
        "12",
        "01",
        "02",
        "03",
        "04",
    }
    pairs = Counter(pairwise(state for _, state in days))
    totals = Counter(state for _, state in days)
    assert all(pairs[state, state] / totals[state] > 1.2 * totals[state] / len(days) for state in totals)


def test_visitors_are_mixed_up_and_some_buy_while_others_look_around() -> None:
    visits = rows("visits")
    times = [time for _, time, _ in visits]
    assert times == sorted(times)
    assert sum(one[0] != other[0] for one, other in pairwise(visits)) > len(visits) / 20
    paid = Counter(user for user, _, page in visits if page == "pay")
    users = {user for user, _, _ in visits}
    assert len(users) == 300 and 0.3 < len([user for user in users if paid[user] > 1]) / len(users) < 0.6


def test_genes_have_a_signal_before_their_start_and_a_period_of_three() -> None:
    for line in example("dna")[1].splitlines():
        found = re.search(r"TATAAT[ACGT]{5,8}ATG((?:[ACGT]{3})+)$", line)
        assert found is not None and found[1][-3:] in ("TAA", "TAG", "TGA")
    codons = [found[1] for found in re.findall(r"(TATAAT[ACGT]{5,8}ATG)([ACGT]*)", example("dna")[1])]
    thirds = Counter(letter for genes in codons for letter in genes[2::3])
    assert thirds["C"] > 2 * thirds["A"]


def test_temperatures_have_days() -> None:
    values = np.array([float(value) for _, value in rows("numbers")])
    assert season(values[:4000]) == 24
    hours = values.reshape(-1, 24).mean(0)
    assert hours.argmin() in (2, 3, 4) and hours.argmax() in (14, 15, 16) and 8 < np.ptp(hours) < 12


def test_a_letter_is_asked_for_again_after_any_number_of_digits() -> None:
    lines = [line.split() for line in example("recall")[1].splitlines()]
    assert all(
        line[0] == line[-1] and line[-2] == "?" and "".join(line[1:-2]).isdigit() == (len(line) > 3)
        for line in lines
    )
    assert {len(line) - 3 for line in lines} == set(range(31))
    assert len({line[0] for line in lines}) == 8


def test_the_text_is_sentences_without_markup() -> None:
    texts = example("text")[1].splitlines()
    assert len(texts) > 300
    assert all(text[0].isupper() and text.endswith(".") and len(text.split()) >= 8 for text in texts)
    assert not set('*"`') & set("".join(texts))


def test_a_date_is_told_in_many_ways_and_each_means_one_day() -> None:
    pairs = [line.split("\t") for line in example("dates")[1].splitlines()[1:]]
    humans = [human for human, _ in pairs]
    assert len(set(humans)) == len(pairs) == 10_000
    assert all(1970 <= date.fromisoformat(iso).year <= 2049 for _, iso in pairs)
    shapes = Counter(re.sub(r"[a-z]+", "a", re.sub(r"\d", "9", human.lower())) for human in humans)
    assert len([shape for shape, count in shapes.items() if count > 100]) >= 20
    read = {
        r"(\d+)\.(\d+)\.(\d{4})": "%d.%m.%Y",
        r"(\d\d)/(\d\d)/(\d\d)": "%m/%d/%y",
        r"(\d+) ([A-Za-z]{4,}) (\d{4})": "%d %B %Y",
        r"([A-Za-z]+), ([A-Za-z]+) (\d+), (\d{4})": "%A, %B %d, %Y",
    }
    for pattern, form in read.items():
        found = [
            (human, iso)
            for human, iso in pairs
            if re.fullmatch(pattern, human) and "sept " not in human.lower()
        ]
        years = [(datetime.strptime(human, form).date(), date.fromisoformat(iso)) for human, iso in found]
        assert len(found) > 100 and all(
            told.replace(year=said.year) == said and told.year % 100 == said.year % 100
            for told, said in years
        )


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Call the verb in an empty folder; what it printed comes back."""
    monkeypatch.chdir(tmp_path)
    app = typer.Typer(rich_markup_mode=None)
    app.command("example", cls=Verb)(verb.example)

    def call(*words: str) -> str:
        app(list(words), standalone_mode=False)
        return capfd.readouterr().out

    return call


def test_without_a_name_the_verb_lists_the_examples(run: Run) -> None:
    text = run()
    assert all(f"{name} " in text for name in EXAMPLES)
    assert json.loads(run("--json")) == {"examples": dict(EXAMPLES)}


def test_the_verb_writes_the_file_and_says_what_to_do_next(run: Run) -> None:
    text = run("weather", "-o", "some where.csv")
    assert Path("some where.csv").read_text(encoding="utf-8") == example("weather")[1]
    assert text.endswith("Next: chainrule compare 'some where.csv' --column state\n")
    values = json.loads(run("dna", "--json"))
    assert Path("dna.txt").stat().st_size == values["bytes"] and values["output"] == "dna.txt"
    assert values["next"] == "chainrule compare dna.txt"
    words = "chainrule fit dates.tsv --source human --target iso --codec characters -o dates-model"
    assert json.loads(run("dates", "--json"))["next"] == words


def test_the_verb_overwrites_only_when_forced_and_never_a_folder(run: Run) -> None:
    Path("dna.txt").write_text("precious")
    with pytest.raises(BundleError, match="exists already"):
        run("dna")
    assert Path("dna.txt").read_text() == "precious"
    run("dna", "--force")
    assert Path("dna.txt").read_text() == example("dna")[1]
    Path("folder").mkdir()
    with pytest.raises(BundleError, match="is a folder"):
        run("dna", "-o", "folder", "--force")


def test_the_verb_refuses_a_place_without_a_name_and_a_name_it_does_not_know(run: Run) -> None:
    with pytest.raises(ConfigError, match="Which example"):
        run("-o", "file.csv")
    with pytest.raises(ConfigError, match="There is no example"):
        run("nothing")
    assert list(Path().iterdir()) == []


def test_data_on_standard_output_stand_there_alone(run: Run) -> None:
    assert run("dna", "-o", "/dev/stdout") == example("dna")[1]
