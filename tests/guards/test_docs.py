"""What README and docs promise is run, linked and up to date."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from asked import asked, squad
from chainrule.cli import main

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
CODE = [
    path
    for folder in ("src", "tests", "benchmarks")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in (".py", ".md") and path != Path(__file__)
]
RIDDLES = (
    r"\b(anew|foresaw|foresees?|foretells?|foretold|prophecy|hush(?:ed)?|spoken|taste|(?<!question )answering|luck"
    r"|go on|goes on|gone on|silent (?:symbol|token)s?|(?:may|can|never) speak|speaks of)\b"
)
LINES = ["she went to class", "he was late for class", "what is the weather today", "she was late today"]
REVIEWS = ["a good film,yes", "a bad film,no", "good and short,yes", "bad and long,no"]
EVENTS = ["login", "look", "buy"] * 4
FILES = {
    "book.txt": [f"{line} {number % 7}" for number in range(40) for line in LINES],
    "test.txt": LINES,
    "new.txt": [f"{line} indeed {number % 5}" for number in range(20) for line in LINES],
    "guesses.txt": ["what is the weather today", "what is the whether two day"],
    "nbest.csv": [
        "utterance,hypothesis,text,acoustic",
        "u1,1,what is the weather,-12.5",
        "u1,2,what is the whether,-12.1",
    ],
    "visits.csv": [
        "visitor,time,action",
        *(f"{person},{hour},{event}" for person in "abc" for hour, event in enumerate(EVENTS)),
    ],
    "essays.csv": [
        "text,score",
        *(f"a good essay {'so ' * (number % 7)},{number / 4}" for number in range(60)),
    ],
    "reviews.csv": ["text,stars", *(f"{number} {row}" for number in range(15) for row in REVIEWS)],
    "pairs.csv": [
        "premise,hypothesis,gold",
        *(f"it is {one} {at},{two} it is,{one == two}" for at in range(20) for one in "abc" for two in "abc"),
    ],
    "val.en": LINES,
    "val.de": [line[::-1] for line in LINES],
    "topics.csv": [
        "text,topics",
        *(
            f"a {one} and {two} {at},{one};{two}"
            for at in range(20)
            for one in ("ball", "tea")
            for two in ("soup", "bus")
        ),
    ],
    **{
        f"MRPC/{name}.tsv": [
            "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String",
            *(
                f"{int(at % 2)}\t1\t2\tit is {at}\t{'it is' if at % 2 else 'so what'} {at}"
                for at in range(40)
            ),
        ]
        for name in ("train", "dev")
    },
    "squad.json": [json.dumps(squad(asked(40, 0, 2, 0.3)))],
    "train.conllu": [
        row
        for _ in range(12)
        for row in (
            *(
                f"{at}\t{word}\t_\t{tag}" + 6 * "\t_"
                for at, (word, tag) in enumerate([("she", "PRON"), ("was", "AUX"), ("late", "ADJ")], 1)
            ),
            "",
        )
    ],
    "good.txt": [f"a good film {number}" for number in range(20)],
    "bad.txt": [f"a bad film {number}" for number in range(20)],
    "sales.csv": [
        "day,sold",
        *(f"2024-{1 + at // 28:02}-{1 + at % 28:02},{20 + 5 * (at % 7) + at * at % 3}" for at in range(280)),
    ],
    "stores.csv": [
        "day,store,sold",
        *(
            f"2024-{1 + at // 28:02}-{1 + at % 28:02},{store},{size * (20 + 5 * (at % 7) + at * at % 3)}"
            for at in range(140)
            for store, size in {"north": 1, "south": 8}.items()
        ),
    ],
    "train.en": [f"a house {number}" for number in range(20)],
    "train.de": [f"ein Haus {number}" for number in range(20)],
}

CHECK = """
import use_ema, use_one_label
from laws.case import Case, teach
from laws.laws import LAWS, applies

case = Case("ema", use_ema.ema.Ema.tiny, teach)
for law in filter(lambda law: applies(law, case), LAWS):
    law(case)
assert use_ema.lm.card["figures"]["test"]["perplexity"] < 10, "of 24 symbols"
assert use_one_label.model.card["figures"]["test"]["accuracy"] == 1.0
"""


def blocks(page: Path, mark: str, language: str) -> list[str]:
    """The code blocks below such a mark."""
    pattern = rf"<!-- {mark} -->\n```{language}\n(.*?)```"
    return re.findall(pattern, page.read_text(encoding="utf-8"), re.DOTALL)


def having(mark: str, language: str) -> list[object]:
    return [pytest.param(page, id=page.name) for page in PAGES if blocks(page, mark, language)]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files the pages name."""
    for name, lines in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("\n".join(lines))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CHAINRULE_CACHE", str(tmp_path / "cache"))
    return tmp_path


def shell(line: str) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command = ["bash", "-euo", "pipefail", "-c", line]
    done = subprocess.run(
        command, env=os.environ | {"PATH": path}, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("page", having("run", "sh"))
def test_the_commands_of_a_page_run(page: Path, place: Path) -> None:
    for line in "".join(blocks(page, "run", "sh")).splitlines():
        words = shlex.split(line)
        if words[0] == "chainrule" and not {"|", "<", ">"} & set(words):
            assert main(words[1:]) == 0, line  # in this process, so that torch is imported once
        else:
            shell(line)


@pytest.mark.parametrize("page", having("run", "python"))
def test_the_python_of_a_page_runs_and_prints_no_empty_line(
    page: Path, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    exec(compile("\n".join(blocks(page, "run", "python")), page.name, "exec"), {})
    assert all(line.strip() for line in capsys.readouterr().out.splitlines())


def test_the_examples_of_a_family_and_of_a_task_work_as_printed_and_keep_the_laws(place: Path) -> None:
    for name, file in (("add-a-family.md", "ema.py"), ("add-a-task.md", "one_label.py")):
        page = ROOT / "docs" / name
        (place / file).write_text(blocks(page, f"file: {file}", "python")[0])
        (place / f"use_{file}").write_text(blocks(page, f"use: {file}", "python")[0])
    (place / "check.py").write_text(CHECK)
    paths = os.pathsep.join(map(str, (ROOT / "src", ROOT / "tests")))
    done = subprocess.run(  # in a process of its own: what it registers is not seen by other tests
        [sys.executable, "check.py"], env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def anchors(page: Path) -> set[str]:
    """The headings of a page as links name them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_of_a_page_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]*)#?([^)]*)\)", page.read_text(encoding="utf-8"))
    for target, anchor in ((page.parent / name, anchor) for name, anchor in links if "://" not in name):
        assert target.exists(), target
        assert not anchor or anchor in anchors(target), f"{target.name} has no heading {anchor}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_uses_the_words_of_the_field(page: Path) -> None:
    assert re.findall(RIDDLES, page.read_text(encoding="utf-8"), re.IGNORECASE) == []


def test_the_code_uses_the_words_of_the_field() -> None:
    found = {
        f"{path.relative_to(ROOT)}: {word}"
        for path in CODE
        for word in re.findall(RIDDLES, path.read_text(encoding="utf-8").replace("_", " "), re.IGNORECASE)
    }
    assert found == set()


def test_every_page_is_linked_from_the_readme() -> None:
    readme = PAGES[0].read_text(encoding="utf-8")
    assert [page.name for page in PAGES[1:] if f"(docs/{page.name})" not in readme] == []


def test_the_reference_is_up_to_date() -> None:
    spec = importlib.util.spec_from_file_location("reference", ROOT / "docs" / "reference.py")
    assert spec and spec.loader
    reference = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reference)
    written = reference.PAGE.read_text(encoding="utf-8")
    assert written == reference.page(), f"docs/reference.md is stale; write it again: {reference.COMMAND}"
