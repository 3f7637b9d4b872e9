"""Codecs answer for themselves: nobody asks which one it is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import chainrule
from chainrule.codecs.base import Texts
from chainrule.codecs.registry import codec, codecs
from chainrule.codecs.words import Words, WordsConfig

VALUES = ("events", "label-sets", "numbers")  # codecs whose symbols are whole values
NAMED = rf"[\"']({'|'.join(codecs())})[\"']"
ASKING = re.compile(
    r"codec\w*\.name\s*(==|!=|in\b|not in\b)|codec\w*\s*(==|in)\s*[\"(]|isinstance\(\w*\.?codec, (?!str)"
    rf"|[=!]=\s*{NAMED}|{NAMED}\s*[=!]=|\bin\s*[\[({{]{NAMED}"
)


def test_no_module_asks_a_codec_which_one_it_is() -> None:
    package = Path(chainrule.__file__).parent
    rooms = ("data", "choose", "judge", "cli", "train", "use", "interop", "tasks", "decode", "bundle.py")
    paths = [path for room in rooms for path in (package / room).rglob("*.py")] + [package / "bundle.py"]
    lines = {path.name: path.read_text(encoding="utf-8").splitlines() for path in paths}
    asking = [f"{name}: {line.strip()}" for name, all in lines.items() for line in all if ASKING.search(line)]
    assert asking == []


@pytest.mark.parametrize(
    "line", ['if name == "words":', "if 'bytes' != name:", 'if name in ("events", "numbers"):']
)
def test_a_line_that_asks_by_another_name_would_be_found(line: str) -> None:
    assert ASKING.search(line) and not ASKING.search('kind = codec("words")')


@pytest.mark.parametrize("name", codecs())
def test_every_codec_says_how_it_reads(name: str) -> None:
    kind = codec(name)
    assert kind.reads_bytes == (name == "bytes")
    assert kind.letters == (name in ("bytes", "characters"))
    values = (*VALUES, "frames")
    assert kind.joins_rows == (name in values)
    assert kind.spells == (name not in (*values, "labels", "tags", "values", "audio", "images"))
    assert kind.reads_files == (name in ("audio", "images"))
    assert kind.framed == (name == "frames")


@pytest.mark.parametrize("name", ["bytes", "characters", "events", "subwords", "words"])
def test_bits_per_byte_are_exact_where_nothing_else_is_said(name: str) -> None:
    kind = codec(name)
    texts = ["so it is , said he", "it is so"]
    made = kind.learn(lambda: [Texts.of(texts)], kind.Config())
    assert made.caveat(stream=False) is None
    assert [made.decode(made.encode(Texts.of([text])).ids) for text in texts] == texts


def test_what_bits_per_byte_leave_out_is_said() -> None:
    words = Words.learn(lambda: [Texts.of(["a\nb"])], WordsConfig())
    assert words.decode(words.encode(Texts.of(["a\nb"])).ids) == "a b"
    assert "line ends" in str(words.caveat(stream=True))
    numbers = codec("numbers")
    made = numbers.learn(lambda: [Texts.of(["1 2 3"])], numbers.Config())
    assert "bins" in str(made.caveat(stream=False)) and made.bins is not None and words.bins is None
