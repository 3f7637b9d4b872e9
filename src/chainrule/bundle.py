"""What users hold: a model with its codec, its settings and where it comes from; saved as a folder.

config.json         what it is: format, family, settings, codec
model.safetensors   what it has learnt
codec/              its alphabet
card.json           where it comes from: data, seed, versions, measured figures
manifest.json       size and checksum of every file
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from chainrule import manifest, tensors
from chainrule.codecs.base import Codec, Texts
from chainrule.codecs.registry import codec as codec_class
from chainrule.config import to_json
from chainrule.continuation import shown, spoken, typed, until
from chainrule.errors import BundleError, CodecError, ConfigError
from chainrule.files import new_folder
from chainrule.judge.score import Score, measure, score_ids
from chainrule.models.base import Model
from chainrule.models.registry import family
from chainrule.progress import Step, progress
from chainrule.runtime import versions
from chainrule.symbols import BOS, EOS

if TYPE_CHECKING:
    from chainrule.data.sources import Given

FORMAT, VERSION = "chainrule", 1
CONFIG, WEIGHTS, CODEC, CARD = "config.json", "model.safetensors", "codec", "card.json"
LOG2 = math.log(2.0)


@dataclass(frozen=True)
class Symbol:
    """One symbol of a scored text."""

    piece: str
    log2prob: float
    facts: Mapping[str, Any] = field(
        default_factory=dict
    )  # what the family adds: an n-gram the order it used

    @property
    def bits(self) -> float:
        """How surprising it was."""
        return 0.0 - self.log2prob


@dataclass(frozen=True)
class TextScore(Score):
    """The score of one text, and of each of its symbols."""

    pieces: tuple[Symbol, ...] = ()


@dataclass(frozen=True)
class Completion:
    """One way to go on."""

    text: str  # what follows the prompt
    symbols: tuple[str, ...]  # the same, symbol by symbol
    probability: float
    ends: bool = False  # the sequence ends here


@dataclass(frozen=True)
class Completions:
    """What a search box would offer."""

    next: tuple[Completion, ...]  # one symbol each, best first
    continuations: tuple[Completion, ...]  # several symbols each, best first


@dataclass(frozen=True)
class Bundle:
    """A model one can use: score, generate, complete, rank, save."""

    codec: Codec
    model: Model
    card: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def config(self) -> dict[str, Any]:
        """What it is, as plain values: the content of config.json."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "family": self.model.family,
            "model": self.model.config.values(),
            "codec": {"name": self.codec.name, "config": self.codec.config.values()},
        }

    def save(self, folder: Path | str, force: bool = False) -> None:
        """Write the folder, all of it or nothing; an existing one is replaced only with `force`."""
        origin = {"created": datetime.now(UTC).isoformat(timespec="seconds"), "versions": versions()}
        with new_folder(folder, force) as temporary:
            _write_json(temporary / CONFIG, self.config)
            _write_json(temporary / CARD, origin | dict(self.card))
            tensors.write(temporary / WEIGHTS, self.model.arrays(), {"format": FORMAT})
            (temporary / CODEC).mkdir()
            self.codec.save(temporary / CODEC)
            manifest.write(temporary)

    def score(self, text: str) -> TextScore:
        """How probable one text is, and each symbol of it; the end of the text counts as a symbol."""
        texts = self._texts([text])
        encoded = self.codec.encode(texts)
        logs = self.model.score_ids(encoded.ids)
        total = measure(encoded.ids, logs) + Score(bytes=texts.bytes, unknown=encoded.unknown)
        sums = {one.name: getattr(total, one.name) for one in fields(Score)}
        return TextScore(**sums, pieces=self._symbols(encoded.ids, logs))

    def score_texts(self, texts: Iterable[str]) -> Score:
        """How probable several texts are together."""
        return self._score_blocks([self._texts(texts)], lambda count: None)

    def score_file(self, source: Given, **reading: Any) -> Score:
        """How probable data are, of any size: a path, a folder, a pattern, `-`, or a list.

        `reading` are the settings of `data.sources.ReadConfig`, such as `column="text"`; what is not given
        is as it was when the model was fitted.
        """
        from chainrule.data.dataset import JOINING
        from chainrule.data.sources import ReadConfig, read

        joined = self.codec.name in JOINING and not {"group", "sort"} & set(reading)
        usual = {"raw": self.codec.name == "bytes", "joined": joined, **self.card.get("reading", {})}
        opened = read(source, ReadConfig.from_values({**usual, **reading}))
        size = sum(path.stat().st_size for path in opened.files)
        with progress("scoring", size or None, "B") as step:
            return self._score_blocks(opened(), step)

    def rank(self, candidates: Iterable[str]) -> list[tuple[str, Score]]:
        """The candidates with their scores, the most probable first."""
        scored = [(text, self.score_texts([text])) for text in candidates]
        return sorted(scored, key=lambda pair: (pair[1].impossible, -pair[1].log2prob))

    def stream(
        self,
        prompt: str = "",
        length: int = 200,
        seed: int | None = None,
        *,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        beam: int | None = None,
        stop: str | Sequence[str] | None = None,
    ) -> Iterator[str]:
        """The prompt, then what the model adds, piece by piece.

        It adds at most `length` symbols, until the sequence ends or the text `stop` would come.
        With `beam` the most probable continuation found is given instead of a random one.
        """
        known = self.prompt_ids(prompt)
        narrowing = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
        ids = (
            self._searched(known, length, beam)
            if beam is not None
            else self._sampled(known, length, seed, narrowing)
        )
        yield prompt
        pieces = _joined(prompt, self.codec.decode(known), spoken(self.codec, known, ids))
        stops = [stop] if isinstance(stop, str) else list(stop or ())
        yield from (shown(piece) for piece in until(pieces, [one for one in stops if one]) if piece)

    def generate(
        self,
        prompt: str = "",
        length: int = 200,
        seed: int | None = None,
        *,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        beam: int | None = None,
        stop: str | Sequence[str] | None = None,
    ) -> str:
        """The prompt and what the model adds, as `stream` gives it, in one."""
        pieces = self.stream(
            prompt, length, seed, temperature=temperature, top_k=top_k, top_p=top_p, beam=beam, stop=stop
        )
        return "".join(pieces)

    def complete(self, prompt: str = "", k: int = 5, length: int = 10) -> Completions:
        """The `k` likeliest next symbols, and the `k` likeliest continuations of at most `length` symbols."""
        from chainrule.decode.complete import continuations, next_symbols

        known = self.prompt_ids(prompt)
        symbols = [((one,), log) for one, log in next_symbols(self.model, known, k)]
        longer = [(found.ids, found.log_probability) for found in continuations(self.model, known, k, length)]
        return Completions(
            self._completions(prompt, known, symbols), self._completions(prompt, known, longer)
        )

    def prompt_ids(self, prompt: str) -> list[int]:
        """BOS and the symbols of an unfinished text."""
        ids: list[int] = self.codec.encode(self._texts([prompt])).ids.tolist()
        return ids[:-1]

    def _texts(self, items: Iterable[str]) -> Texts:
        try:
            return Texts.of(typed(self.codec, item) for item in items)
        except UnicodeEncodeError as error:
            raise CodecError("The text is not valid Unicode: it holds bytes that are no UTF-8.") from error

    def _symbols(self, ids: np.ndarray, logs: np.ndarray) -> tuple[Symbol, ...]:
        facts = {name: values[1:].tolist() for name, values in self.model.facts(ids).items()}
        pieces, bits = self.codec.pieces(ids[1:]), (logs[1:] / LOG2).tolist()
        rows = enumerate(zip(pieces, bits, strict=True))
        return tuple(
            Symbol(piece, log, {name: values[at] for name, values in facts.items()})
            for at, (piece, log) in rows
        )

    def _score_blocks(self, blocks: Iterable[Texts], step: Step) -> Score:
        """Block by block; a sequence that goes on in the next block is held until it is whole."""
        total, held = Score(), np.empty(0, np.int32)
        for texts in blocks:
            encoded = self.codec.encode(texts)
            ids = np.concatenate([held, encoded.ids]) if len(held) else encoded.ids
            whole = len(ids) if texts.closes else int(np.flatnonzero(ids == BOS)[-1])
            total += score_ids(self.model, ids[:whole], texts.bytes, encoded.unknown)
            held = ids[whole:]
            step(texts.bytes)
        return total

    def _sampled(
        self, known: list[int], length: int, seed: int | None, narrowing: Mapping[str, Any]
    ) -> Iterator[int]:
        from torch import Generator

        from chainrule.decode.filters import Filters
        from chainrule.decode.sample import sample

        generator = Generator()
        generator.manual_seed(seed) if seed is not None else generator.seed()
        return sample(self.model, known, length, generator=generator, filters=Filters(**narrowing))

    def _searched(self, known: list[int], length: int, width: int) -> Iterator[int]:
        from chainrule.decode.beam import beam

        found = beam(self.model, known, width, length)
        return iter(found[0].ids if found else ())

    def _completions(
        self, prompt: str, known: list[int], found: Iterable[tuple[Sequence[int], float]]
    ) -> tuple[Completion, ...]:
        before = self.codec.decode(known)
        made = []
        for ids, log in found:
            text = self.codec.decode([*known, *ids])[len(before) :]
            text = shown("".join(_joined(prompt, before, [text])))
            symbols = tuple(self.codec.pieces([one for one in ids if one != EOS]))
            made.append(Completion(text, symbols, math.exp(log), EOS in ids))
        return tuple(made)


def load(folder: Path | str, verify: bool = False) -> Bundle:
    """A saved model again; a damaged or foreign one is refused. `verify` checks every byte of large files."""
    folder = Path(folder)
    config = _read_config(folder)
    manifest.check(folder, verify)
    try:
        codec_type, model_type = codec_class(config["codec"]["name"]), family(config["family"])
        codec_config = codec_type.Config.from_values(config["codec"]["config"])
        model_config = model_type.Config.from_values(config["model"])
    except (ConfigError, KeyError, TypeError, AttributeError) as error:
        raise BundleError(
            f"{folder / CONFIG} does not describe a model this version knows: {error}"
        ) from error
    codec = codec_type.load(folder / CODEC, codec_config)
    model = model_type.from_arrays(model_config, tensors.read(folder / WEIGHTS))
    return Bundle(codec, model, manifest.read_json(folder / CARD))


def _read_config(folder: Path) -> dict[str, Any]:
    if folder.is_file():
        raise BundleError(
            f"{folder} is a file; a saved model is a folder. (ARPA files: chainrule import arpa.)"
        )
    if not folder.is_dir():
        raise BundleError(f"There is no saved model {folder}. Make one: chainrule fit DATA -o {folder}")
    if not (folder / CONFIG).is_file():
        raise BundleError(f"{folder} is no saved model: it has no {CONFIG}.")
    config = manifest.read_json(folder / CONFIG)
    if config.get("format") != FORMAT:
        raise BundleError(f"{folder / CONFIG} is not of chainrule: its format is {config.get('format')!r}.")
    if not isinstance(config.get("version"), int):
        raise BundleError(f"{folder / CONFIG} is damaged: its version is {config.get('version')!r}.")
    if config["version"] > VERSION:
        raise BundleError(
            f"{folder} was saved by a newer chainrule (format {config['version']}; this one reads up to "
            f"{VERSION}). Upgrade chainrule to load it."
        )
    return config


def _write_json(path: Path, values: Mapping[str, Any]) -> None:
    path.write_text(to_json(values, indent=2) + "\n", encoding="utf-8")


def _joined(prompt: str, before: str, pieces: Iterable[str]) -> Iterator[str]:
    """The pieces as they follow the prompt a person typed: no second space after one that is there."""
    spaced = prompt != prompt.rstrip() and before == before.rstrip()
    for piece in pieces:
        if spaced:
            piece = piece.lstrip(" ")
            spaced = not piece
        yield piece
