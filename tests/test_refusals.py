"""What cannot be done is refused in plain words, before it is tried."""

from __future__ import annotations

import importlib
import json
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
import typer

import chainrule
from chainrule.cli import main
from chainrule.cli.app import app
from chainrule.config import Config
from fitted import fitted

LINES = "".join(f"she was late and he was not {number}\n" for number in range(60))


def below(kind: type) -> list[type]:
    return [kind, *(one for child in kind.__subclasses__() for one in below(child))]


def plain(kind: Any) -> list[Any]:
    """The types inside a type: of `tuple[int, ...] | None` also int."""
    inside = get_args(kind)
    return [one for part in inside for one in plain(part)] if inside else [kind]


def test_every_number_among_the_settings_has_a_range() -> None:
    for module in pkgutil.walk_packages(chainrule.__path__, "chainrule."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    open_ended = []
    for kind in below(Config):
        types = get_type_hints(kind)
        for one in fields(kind) if kind.__module__.startswith("chainrule.") else ():
            numeric = {int, float} & set(plain(types[one.name]))
            if numeric and None in (one.metadata.get("low"), one.metadata.get("high")):
                open_ended.append(f"{kind.__qualname__}.{one.name}")
    assert open_ended == []


def commands(group: Any) -> Iterator[Any]:
    for one in group.commands.values():
        yield from commands(one) if hasattr(one, "commands") else [one]


def test_every_number_among_the_options_of_a_verb_has_a_range() -> None:
    open_ended = []
    for verb in commands(typer.main.get_command(app)):
        for name, kind in get_type_hints(verb.callback, include_extras=True).items():
            base, *facts = get_args(kind) or (kind,)
            if {int, float} & set(plain(base)):
                option: Any = next(one for one in facts if hasattr(one, "min"))
                open_ended += [] if None not in (option.min, option.max) else [f"{verb.name} {name}"]
    assert open_ended == []


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text(LINES)
    return path


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--model gru --seed -1", "--seed must be at least 0"),
        ("--model gru --epochs inf", "--epochs must be at most"),
        ("--model gru --width 1e12", "--width must be at most 65,536"),
        ("--model cache --size 1e30", "--size must be at most"),
    ],
)
def test_a_number_out_of_range_is_told_at_once(
    words: str, message: str, text: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fit", str(text), "-o", str(text.parent / "lm"), *words.split()]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("words", ["--beam 1e20", "--count 1e20", "--length 1e20"])
def test_generation_has_limits(words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fitted().save(tmp_path / "lm")
    assert main(["generate", str(tmp_path / "lm"), *words.split()]) == 2
    assert "must be at most" in capsys.readouterr().err


def test_completions_have_limits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fitted().save(tmp_path / "lm")
    assert main(["complete", str(tmp_path / "lm"), "the", "-k", "1000000"]) == 2
    assert "100" in capsys.readouterr().err


def test_a_model_is_replaced_in_the_folder_one_stands_in(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fitted().save(text.parent / "lm")
    monkeypatch.chdir(text.parent / "lm")
    assert main(["fit", str(text), "--order", "2", "-q", "-o", ".", "--force"]) == 0
    assert json.loads((text.parent / "lm" / "config.json").read_text())["model"]["order"] == 2


@pytest.mark.parametrize("verb", ["rank", "embed", "complete"])
def test_input_that_is_no_utf8_ends_in_one_sentence(verb: str, tmp_path: Path) -> None:
    fitted().save(tmp_path / "lm")
    words = [sys.executable, "-m", "chainrule.cli", verb, str(tmp_path / "lm")]
    words += ["-"] if verb != "embed" else []
    with subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stderr is not None
        process.stdin.write(b"a\xff\n")
        process.stdin.flush()  # the pipe stays open, so the reading thread waits on
        told = process.stderr.read().decode()
        assert process.wait() == 1
    assert "not UTF-8" in told and "Fatal" not in told


DATA = {
    "huge.conllu": ("1" * 5000 + "\ta\ta\tN\t_\t_\t0\troot\t_\t_\n\n", ""),
    "half.jsonl": ("".join(f'{{"text": "a {n}", "t": "\\ud800{n}"}}\n' for n in range(9)), "--sort t"),
    "long.jsonl": ("".join(f'{{"text": "a {n}", "t": "1{"0" * 400}"}}\n' for n in range(9)), "--sort t"),
}


@pytest.mark.parametrize(("name", "code"), [("huge.conllu", 1), ("half.jsonl", 1), ("long.jsonl", 0)])
def test_odd_cells_are_no_surprise(
    name: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content, words = DATA[name]
    (tmp_path / name).write_text(content)
    assert main(["check", str(tmp_path / name), *words.split()]) == code
    assert "unexpected" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "content", ["a=" + "[" * 100_000, ".".join("a" * 5000) + "=1", "order=" + "9" * 5000]
)
def test_settings_files_nobody_writes_are_refused(
    content: str, text: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = text.parent / "odd.toml"
    config.write_text(content)
    assert main(["fit", str(text), "--config", str(config), "-o", str(text.parent / "lm")]) == 2
    assert "is not TOML" in capsys.readouterr().err


def test_a_limit_of_the_cache_that_is_no_size_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from chainrule.data import cache
    from chainrule.errors import ConfigError

    for given in ("inf", "nan", "1e999"):
        monkeypatch.setenv("CHAINRULE_CACHE_LIMIT", given)
        with pytest.raises(ConfigError, match="should be a size"):
            cache.limit()


def test_a_user_without_a_home_can_fit_large_data(
    text: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr("chainrule.data.corpus.SMALL", 10)
    monkeypatch.delenv("CHAINRULE_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    assert main(["fit", str(text), "--order", "2", "-q", "-o", str(text.parent / "lm")]) == 0
