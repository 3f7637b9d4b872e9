"""What a comparison is about: kept beside its results, so that it can continue and be done again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from chainrule.choose.ladder import Rung, answers, ladders, liked, likings
from chainrule.codecs.base import Codec
from chainrule.codecs.registry import codec as codec_named
from chainrule.codecs.registry import codecs as codec_names
from chainrule.config import Config, share
from chainrule.data.corpus import Corpus
from chainrule.data.dataset import Dataset, Prepared, encoded, learn_codecs, open_data
from chainrule.data.roles import Role
from chainrule.data.rows import PAIR, main_of
from chainrule.data.sources import Given
from chainrule.errors import BundleError, ConfigError
from chainrule.store import sealed
from chainrule.tasks.base import Task
from chainrule.tasks.base import task as task_class

PLAN, CODECS, MARKS = "plan.json", "codecs", "fingerprints"
GIVEN, TYPED = "data.jsonl", "data.txt"  # where texts and standard input are put, for all processes


@dataclass(frozen=True)
class RacePlan:
    """Everything that decides what is compared; plain values only."""

    data: list[str]
    valid: str | None
    test: str | None
    options: Mapping[str, Any]  # of reading and of the codecs
    codecs: list[str]  # none: the one that suits the data
    budget: float  # seconds
    models: list[str]
    seed: int = 1
    roles: list[dict[str, Any]] = field(default_factory=list)  # fields of `Role`; none: the data are text
    task: str | None = None  # None: every family is trained for its own, language modelling

    @property
    def given(self) -> Given:
        """The data, as `read` takes them."""
        return self.data[0] if len(self.data) == 1 else [Path(one) for one in self.data]

    @property
    def kind(self) -> type[Task]:
        """The task that models are trained for."""
        return task_class(self.task or "next")

    @property
    def asked(self) -> Task:
        """The same, with its settings."""
        return self.kind.from_values(share(self.options, self.kind))

    @property
    def pairs(self) -> bool:
        """Whether two texts have one answer."""
        return any(role["name"] == PAIR for role in self.roles)

    @property
    def answers(self) -> bool:
        """Whether a head answers, and its answers are compared."""
        return answers(self.task)

    def read(self) -> list[Prepared]:
        """The data for the first time, with every codec."""
        opened = [self.open(name) for name in self.codecs] or self._suited()
        _check_symbols(opened)
        ready = [encoded(data, learn_codecs(data)) for data in opened]
        _check_parts(ready, not self.answers)
        return ready

    def rungs(self, codecs: Sequence[str]) -> list[Rung]:
        """Who competes: where heads answer and no codec is asked for, each family with the codec it likes."""
        task = self.task if self.answers else None
        if task is None or self.codecs:
            return ladders(list(codecs), self.models, task, self.pairs)
        found = likings(self.models, task, self.pairs)
        named = [one if one is not None and one in codecs else codecs[0] for one in found]
        return liked(dict(zip(found, named, strict=True)), self.models, task, self.pairs)

    def _suited(self) -> list[Dataset]:
        """The data with the codec that suits them, and with those that families like which read labelled data."""
        if not self.answers:
            return [self.open(None)]
        own = [] if self.kind.source else [None]  # where there is a source, all read it by the same codec
        liked = likings(self.models, str(self.task), self.pairs)
        found = [self._liked(one) for one in dict.fromkeys([*own, *liked])]
        codecs = [one.roles[one.main].codec for one in found]
        return [one for at, one in enumerate(found) if codecs[at] not in codecs[:at]]

    def _liked(self, codec: str | None) -> Dataset:
        roles = [Role(**one) for one in self.roles]
        main = [one.name for one in roles] if self.kind.source else [main_of(role.name for role in roles)]
        return self._open([replace(one, prefers=codec) if one.name in main else one for one in roles], None)

    def begin(self, out: Path, ready: Sequence[Prepared] = ()) -> dict[str, Prepared]:
        """Keep the plan and its codecs, so that all processes use the same ones; data not yet `ready` are read.

        The plan comes first, alone: then the folder is known for what it is, also if that is all that was written.
        """
        ready = ready or self.read()
        out.mkdir(parents=True, exist_ok=True)
        sealed.write_json(out / PLAN, {"plan": asdict(self)}, indent=2)
        kept = {one.codec.name: _save(one.codecs, out / CODECS / one.codec.name) for one in ready}
        marks = {one.codec.name: one.data.fingerprint for one in ready}
        sealed.write_json(out / PLAN, {"plan": asdict(self), CODECS: kept, MARKS: marks}, indent=2)
        return {one.codec.name: one for one in ready}

    def open(self, codec: str | None) -> Dataset:
        """The data for one of the codecs."""
        return self._open([Role(**one) for one in self.roles], codec)

    def again(self, codecs: Mapping[str, Codec]) -> Prepared:
        """The data with codecs, by role, that are known already."""
        roles = [Role(**one) for one in self.roles] or [Role(role) for role in codecs]
        named = [replace(role, codec=codecs[role.name].name) for role in roles]
        return encoded(self._open(named, None), codecs)

    def _open(self, roles: list[Role], codec: str | None) -> Dataset:
        allowed: list[type[Config]] = [
            *(codec_named(name).Config for name in self.codecs),
            *([self.kind] if self.answers else []),
        ]  # options may be for another of the codecs, or for the task
        parts = (self.given, self.valid, self.test)
        return open_data(*parts, roles=roles, codec=codec, options=self.options, allowed=allowed)


def _check_symbols(opened: Sequence[Dataset]) -> None:
    """Refuse what most families of a ladder cannot read."""
    if any(codec_named(str(one.roles[one.main].codec)).framed for one in opened):
        raise ConfigError(
            "The data are frames of real numbers, which compare does not read. Fit networks one by one, such as "
            "--model lstm, gru and cnn, and evaluate each."
        )


Kept = Mapping[str, tuple[str, Mapping[str, Any], str]]  # role -> name, settings and fingerprint of its codec


def _save(codecs: Mapping[str, Codec], folder: Path) -> Kept:
    """Write codecs, one folder a role, and give what is to be known besides to load them."""
    for role, codec in codecs.items():
        (folder / role).mkdir(parents=True, exist_ok=True)
        codec.save(folder / role)
    return {role: (codec.name, codec.config.values(), codec.fingerprint()) for role, codec in codecs.items()}


def _load(kept: Kept, folder: Path) -> dict[str, Codec]:
    found = {}
    for role, (name, settings, fingerprint) in kept.items():
        kind = codec_named(name)
        found[role] = kind.load(folder / role, kind.Config.from_values(settings))
        if found[role].fingerprint() != fingerprint:
            raise BundleError(
                f"{folder / role} is damaged: it is not what was written. Start from scratch with --force."
            )
    return found


def _check_parts(ready: list[Prepared], spelled: bool) -> None:
    """Whether there is something to judge on, and whether it is the same for all codecs."""
    if any(one.test is None for one in ready):
        raise ConfigError("There is nothing to judge on: the data are too few to hold any out. Give --test.")
    if len(ready) > 1 and spelled and not all(map(by_bytes, ready)):
        named = ", ".join(name for name in codec_names() if codec_named(name).spells)
        raise ConfigError(f"Only codecs of text can be compared with each other: {named}.")
    seen = {(one.data.how, judged_on(one).sequences, judged_on(one).bytes) for one in ready}
    if len(seen) > 1:
        names = " and ".join(one.codec.name for one in ready)
        raise ConfigError(
            f"{names} do not read these data as the same sequences. Compare them one at a time."
        )


def opened(out: Path, codec: str | None = None) -> tuple[RacePlan, dict[str, Prepared]]:
    """A plan that was begun, and its data again; as ids of all its codecs, or of one."""
    kept = sealed.read_json(out / PLAN)
    plan, wanted = RacePlan(**kept["plan"]), [codec] if codec else kept[CODECS]
    found = {name: plan.again(_load(kept[CODECS][name], out / CODECS / name)) for name in wanted}
    for name, one in found.items():
        _check_data(out, one, kept.get(MARKS, {}).get(name))
    return plan, found


def has_codecs(out: Path) -> bool:
    """Whether a plan was begun to the end, and not interrupted before its codecs were kept."""
    return CODECS in sealed.read_json(out / PLAN)


def _check_data(out: Path, prepared: Prepared, mark: str | None) -> None:
    """Figures of other data would stand beside the description of these."""
    if mark not in (None, prepared.data.fingerprint):
        raise BundleError(
            f"The data have changed since the comparison in {out} began. Give it the same data, replace it with "
            "--force, or choose another folder."
        )


def check_same(out: Path, plan: RacePlan) -> None:
    """Whether a comparison can continue the one that was begun."""
    found = sealed.read_json(out / PLAN).get("plan")
    if found != asdict(plan):
        changed = sorted(name for name, value in asdict(plan).items() if (found or {}).get(name) != value)
        raise BundleError(
            f"{out} holds another comparison ({', '.join(changed)} differ). Continue with what it began with, or "
            "choose another folder."
        )


def by_bytes(prepared: Prepared) -> bool:
    """Whether bits are told per byte of text, and not per symbol."""
    return prepared.codec.spells


def rate(prepared: Prepared) -> float:
    """What bits per symbol are multiplied by to be in the unit of the report."""
    test = judged_on(prepared)
    return test.symbols / test.bytes if by_bytes(prepared) and test.bytes else 1.0


def chosen_on(prepared: Prepared) -> Corpus:
    """The part that decides: the validation part, or what is judged on where there is none."""
    return prepared.valid.main if prepared.valid else judged_on(prepared)


def judged_on(prepared: Prepared) -> Corpus:
    """The part that no model learns from."""
    assert prepared.test is not None
    return prepared.test.main
