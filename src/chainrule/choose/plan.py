"""What a comparison is about: kept beside its results, so that it can go on and be done again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from chainrule.codecs.registry import codec as codec_named
from chainrule.config import share, to_json
from chainrule.data.corpus import Corpus
from chainrule.data.dataset import Prepared, encode_parts, open_data, prepare
from chainrule.data.sources import ReadConfig
from chainrule.errors import BundleError, ConfigError
from chainrule.files import write_text
from chainrule.manifest import read_json

PLAN, CODEC = "plan.json", "codec"


@dataclass(frozen=True)
class Plan:
    """Everything that decides what is compared; plain values only."""

    data: list[str]
    valid: str | None
    test: str | None
    options: Mapping[str, Any]  # of reading and of the codec
    codec: str | None
    budget: float  # seconds
    models: list[str]
    seed: int = 1

    @property
    def reading(self) -> ReadConfig:
        """How the files are read."""
        return ReadConfig.from_values(share(self.options, ReadConfig))

    def begin(self, out: Path) -> Prepared:
        """Read the data for the first time; the codec is kept, so that everybody uses the same one."""
        given = self.data[0] if len(self.data) == 1 else [Path(one) for one in self.data]
        reading = share(self.options, ReadConfig)
        settings = {name: value for name, value in self.options.items() if name not in reading}
        ready = prepare(
            given, self.valid, self.test, codec=self.codec, settings=settings, config=self.reading
        )
        if ready.test is None:
            raise ConfigError(
                "There is nothing to judge on: the data are too few to hold any out. Give --test."
            )
        (out / CODEC).mkdir(parents=True, exist_ok=True)
        ready.codec.save(out / CODEC)
        kept = {"plan": asdict(self), "codec": [ready.codec.name, ready.codec.config.values(), ready.why]}
        write_text(out / PLAN, to_json(kept, indent=2) + "\n")
        return ready


def opened(out: Path) -> tuple[Plan, Prepared]:
    """A plan that was begun, and its data again."""
    kept = read_json(out / PLAN)
    plan, (name, settings, why) = Plan(**kept["plan"]), kept["codec"]
    kind = codec_named(name)
    codec = kind.load(out / CODEC, kind.Config.from_values(settings))
    given = plan.data[0] if len(plan.data) == 1 else [Path(one) for one in plan.data]
    data = open_data(given, plan.valid, plan.test, plan.reading, name)
    return plan, Prepared(codec, *encode_parts(codec, data), data, why)


def check_same(out: Path, plan: Plan) -> None:
    """Whether a comparison can go on as the one that was begun."""
    found = read_json(out / PLAN).get("plan")
    if found != asdict(plan):
        changed = sorted(name for name, value in asdict(plan).items() if (found or {}).get(name) != value)
        raise BundleError(
            f"{out} holds another comparison ({', '.join(changed)} differ). Go on with what it began with, or "
            "choose another folder."
        )


def judged_on(prepared: Prepared) -> Corpus:
    """The part that nobody learns from."""
    assert prepared.test is not None
    return prepared.test
