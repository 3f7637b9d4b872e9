"""Write docs/reference.md: every setting, from the Configs it is defined in. Run it with `make reference`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import MISSING, Field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from chainrule.codecs.registry import BUILT_IN as CODECS
from chainrule.codecs.registry import codec
from chainrule.config import Config, flag, visible
from chainrule.data.sources import ReadConfig
from chainrule.models.registry import BUILT_IN as FAMILIES
from chainrule.models.registry import family
from chainrule.tasks.base import BUILT_IN as TASKS
from chainrule.tasks.base import task
from chainrule.train.config import FitConfig, TrainConfig
from chainrule.use.adapt import AdaptConfig

PAGE = Path(__file__).with_name("reference.md")
COMMAND = "make reference"
HEAD = f"""# Reference of all settings

Written by `{COMMAND}` from the source; do not edit it by hand. A flag `--seq-len 64` is `seq_len=64` in Python and
`seq_len = 64` in a TOML file given with `--config`. The default `chosen` means: chosen for the data and the budget, and
reported; `-` means: none. Switches are turned off with `--no-…`, such as `--no-bf16`.
"""


MADE = """`fit` refuses these: they are made of trained models. `chainrule mix` saves them, and `chainrule score` can
adapt a model while it scores. Both take these flags.
"""


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *_sections()])


def _sections() -> Iterator[str]:
    fitted = [name for name in FAMILIES if family(name).learner]
    yield "## Model families: `--model`\n"
    yield from (_section(f"`{name}`", FAMILIES[name][1], family(name).Config) for name in fitted)
    yield "## Models made of trained models: not for `--model`\n"
    yield MADE
    yield from (f"- `{name}`: {FAMILIES[name][1]}." for name in FAMILIES if name not in fitted)
    yield ""
    yield from _lines(AdaptConfig)
    yield "## Fitting, every family\n"
    yield from _lines(FitConfig)
    yield "## Training by gradient\n"
    yield from _lines(TrainConfig)
    yield "## Tasks\n"
    yield from (_section(f"`{name}`", TASKS[name][1], task(name)) for name in TASKS)
    yield "## Codecs: `--codec`\n"
    yield from (_section(f"`{name}`", CODECS[name][1], codec(name).Config) for name in CODECS)
    yield "## Reading data\n"
    yield from _lines(ReadConfig)
    if find_spec("chainrule.decode.config"):
        yield "## Generation\n"
        yield from _lines(import_module("chainrule.decode.config").GenerationConfig)


def _section(title: str, help: str, config: type[Config]) -> str:
    return "\n".join([f"### {title}\n", f"{help[0].upper()}{help[1:]}.\n", *_lines(config)])


def _lines(config: type[Config]) -> list[str]:
    settings = visible(config)
    if not settings:
        return ["No settings.\n"]
    rows = [(f"`{flag(one.name)}`", _default(one), _help(one.metadata)) for one in settings]
    return ["| flag | default | |", "|---|---|---|", *map(_row, rows), ""]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _default(setting: Field[Any]) -> str:
    value = setting.default
    if setting.metadata.get("chosen"):
        return "chosen"
    if isinstance(value, bool):
        return "on" if value else "off"
    if value is None or value is MISSING or value == ():
        return "-"
    return f"`{','.join(map(str, value)) if isinstance(value, tuple) else value}`"


def _help(facts: Any) -> str:
    choices, low, high = facts.get("choices"), facts.get("low"), facts.get("high")
    if choices:
        return f"{facts['help']} ({', '.join(f'`{one}`' for one in choices)})"
    ends = [f"at least {low:g}"] if low is not None else []
    ends += [f"at most {high:g}"] if high is not None else []
    return f"{facts['help']} ({', '.join(ends)})" if ends else str(facts["help"])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
