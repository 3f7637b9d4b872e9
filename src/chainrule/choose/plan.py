"""What a comparison is about: kept beside its results, so that it can go on and be done again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from chainrule.codecs.registry import codec as codec_named
from chainrule.config import share, to_json
from chainrule.data.corpus import Corpus
from chainrule.data.dataset import Prepared, encode_parts, open_data, prepare
from chainrule.data.sources import Given, ReadConfig
from chainrule.errors import BundleError, ConfigError
from chainrule.files import write_text
from chainrule.manifest import read_json

PLAN, CODECS = "plan.json", "codecs"
GIVEN, TYPED = "data.jsonl", "data.txt"  # where texts and standard input are put, for all processes
SPELLED = ("characters", "bytes", "words", "subwords", "tokenizer")  # codecs of text, judged by the byte


@dataclass(frozen=True)
class Plan:
    """Everything that decides what is compared; plain values only."""

    data: list[str]
    valid: str | None
    test: str | None
    options: Mapping[str, Any]  # of reading and of the codecs
    codecs: list[str]  # none: the one that suits the data
    budget: float  # seconds
    models: list[str]
    seed: int = 1

    @property
    def reading(self) -> ReadConfig:
        """How the files are read."""
        return ReadConfig.from_values(share(self.options, ReadConfig))

    @property
    def given(self) -> Given:
        """The data, as `read` takes them."""
        return self.data[0] if len(self.data) == 1 else [Path(one) for one in self.data]

    def begin(self, out: Path) -> dict[str, Prepared]:
        """Read the data for the first time, with every codec; these are kept, so that everybody uses the same ones."""
        wanted: list[str | None] = [*self.codecs] or [None]
        ready = [self._prepared(name) for name in wanted]
        _check_parts(ready)
        kept = {}
        for one in ready:
            folder = out / CODECS / one.codec.name
            folder.mkdir(parents=True, exist_ok=True)
            one.codec.save(folder)
            kept[one.codec.name] = [one.codec.config.values(), one.why]
        write_text(out / PLAN, to_json({"plan": asdict(self), CODECS: kept}, indent=2) + "\n")
        return {one.codec.name: one for one in ready}

    def _prepared(self, codec: str | None) -> Prepared:
        settings = self._settings(codec)
        return prepare(self.given, self.valid, self.test, codec=codec, settings=settings, config=self.reading)

    def _settings(self, codec: str | None) -> dict[str, Any]:
        """The options of a codec: all that are not of reading, but for those that belong to another codec alone."""
        reading = share(self.options, ReadConfig)
        others = {name for one in self.codecs for name in _known(one)} - (_known(codec) if codec else set())
        foreign = others if len(self.codecs) > 1 else set()
        return {name: value for name, value in self.options.items() if name not in {*reading, *foreign}}


def _known(codec: str) -> set[str]:
    return {setting.name for setting in fields(codec_named(codec).Config)}


def _check_parts(ready: list[Prepared]) -> None:
    """Whether there is something to judge on, and whether it is the same for all codecs."""
    if any(one.test is None for one in ready):
        raise ConfigError("There is nothing to judge on: the data are too few to hold any out. Give --test.")
    if len(ready) > 1 and not all(map(by_bytes, ready)):
        raise ConfigError(f"Only codecs of text can be compared with each other: {', '.join(SPELLED)}.")
    seen = {(one.data.how, judged_on(one).sequences, judged_on(one).bytes) for one in ready}
    if len(seen) > 1:
        names = " and ".join(one.codec.name for one in ready)
        raise ConfigError(
            f"{names} do not read these data as the same sequences. Compare them one at a time."
        )


def opened(out: Path, codec: str | None = None) -> tuple[Plan, dict[str, Prepared]]:
    """A plan that was begun, and its data again; as ids of all its codecs, or of one."""
    kept = read_json(out / PLAN)
    plan, wanted = Plan(**kept["plan"]), [codec] if codec else kept[CODECS]
    return plan, {name: _again(out, plan, name, *kept[CODECS][name]) for name in wanted}


def _again(out: Path, plan: Plan, name: str, settings: Mapping[str, Any], why: str) -> Prepared:
    kind = codec_named(name)
    codec = kind.load(out / CODECS / name, kind.Config.from_values(settings))
    data = open_data(plan.given, plan.valid, plan.test, plan.reading, name)
    return Prepared(codec, *encode_parts(codec, data), data, why)


def check_same(out: Path, plan: Plan) -> None:
    """Whether a comparison can go on as the one that was begun."""
    found = read_json(out / PLAN).get("plan")
    if found != asdict(plan):
        changed = sorted(name for name, value in asdict(plan).items() if (found or {}).get(name) != value)
        raise BundleError(
            f"{out} holds another comparison ({', '.join(changed)} differ). Go on with what it began with, or "
            "choose another folder."
        )


def by_bytes(prepared: Prepared) -> bool:
    """Whether bits are told per byte of text, and not per symbol."""
    return prepared.codec.name in SPELLED


def rate(prepared: Prepared) -> float:
    """What bits per symbol are multiplied by to be in the unit of the report."""
    test = judged_on(prepared)
    return test.symbols / test.bytes if by_bytes(prepared) and test.bytes else 1.0


def judged_on(prepared: Prepared) -> Corpus:
    """The part that nobody learns from."""
    assert prepared.test is not None
    return prepared.test
