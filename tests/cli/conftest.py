from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from chainrule.bundle import Bundle
from chainrule.cli import main
from chainrule.codecs.base import Texts
from chainrule.codecs.registry import codec
from chainrule.models.ngram import Ngram, NgramConfig

LINES = ["what is the weather today", "what is the time", "the weather is fine today", "she was late"]


@dataclass(frozen=True)
class Done:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Chainrule = Callable[..., Done]


@pytest.fixture
def chainrule(capsys: pytest.CaptureFixture[str]) -> Chainrule:
    """Run one command in this process."""

    def run(*words: str | Path) -> Done:
        capsys.readouterr()
        code = main([str(word) for word in words])
        return Done(code, *capsys.readouterr())

    return run


@pytest.fixture(scope="session")
def lm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved model of a few lines."""
    words = codec("words").learn(lambda: [Texts.of(LINES * 3)], codec("words").Config())
    config = NgramConfig(vocab_size=words.size, suppressed=words.suppressed, order=3)
    folder = tmp_path_factory.mktemp("saved") / "lm"
    Bundle.of(words, Ngram.learn(config, words.encode(Texts.of(LINES * 3)).ids)).save(folder)
    return folder


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """A small file to train on."""
    path = tmp_path / "book.txt"
    path.write_text(
        "\n".join(f"{line} {number % 7}" for number in range(40) for line in LINES), encoding="utf-8"
    )
    return path
