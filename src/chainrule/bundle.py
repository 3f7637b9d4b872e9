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
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from chainrule import manifest, tensors
from chainrule.codecs.base import Codec, Texts
from chainrule.codecs.registry import codec as codec_class
from chainrule.completion import Completions, completions
from chainrule.config import Config, to_json, visible
from chainrule.continuation import check_drawing, joined, spoken, typed, until
from chainrule.drawing import drawn
from chainrule.embedding import embed_symbols, embed_texts
from chainrule.errors import BundleError, CodecError, ConfigError
from chainrule.files import CONFIG, FORMAT, new_folder
from chainrule.filling import Guess, fill
from chainrule.judge.score import Score, measure
from chainrule.models.base import Model, ModelConfig
from chainrule.models.registry import family
from chainrule.progress import progress, silent
from chainrule.runtime import versions
from chainrule.scoring import opened, score_blocks, score_each, size_of
from chainrule.symbols import UNK
from chainrule.unknown import unknown_symbols

if TYPE_CHECKING:
    from chainrule.data.sources import Given
    from chainrule.decode.beam import Hypothesis

VERSION = 1
WEIGHTS, CODEC, CARD = "model.safetensors", "codec", "card.json"
LOG2 = math.log(2.0)


@dataclass(frozen=True)
class Symbol:
    """One symbol of a scored text."""

    piece: str
    log2prob: float
    # what the family adds: an n-gram the order it used
    facts: Mapping[str, Any] = field(default_factory=dict)
    shown: str = ""  # the piece without marks that only machines need

    @property
    def bits(self) -> float:
        """How surprising it was."""
        return 0.0 - self.log2prob


@dataclass(frozen=True)
class TextScore(Score):
    """The score of one text, and of each of its symbols."""

    pieces: tuple[Symbol, ...] = ()


@dataclass(frozen=True)
class Written:
    """A text found by beam search."""

    text: str  # the prompt and what follows it
    log2prob: float  # of what follows the prompt, the end included where it was reached


@dataclass(frozen=True, repr=False)
class Bundle:
    """A model one can use: score, generate, complete, rank, save."""

    codec: Codec
    model: Model
    card: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        model = _described(self.model.family, self.model.config)
        return (
            f"<Bundle {model} on {_described(self.codec.name, self.codec.config)}, {self.codec.size:,} ids>"
        )

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
        if not isinstance(text, str):
            raise ConfigError(
                f"score wants one text, and a {type(text).__name__} came. Use score_texts for several."
            )
        texts = self._texts([text])
        encoded = self.codec.encode(texts)
        logs = self.model.score_ids(encoded.ids)
        total = measure(encoded.ids, logs) + Score(bytes=texts.bytes, unknown=encoded.unknown)
        sums = {one.name: getattr(total, one.name) for one in fields(Score)}
        return TextScore(**sums, pieces=self._symbols(encoded.ids, logs))

    def score_texts(self, texts: Iterable[str]) -> Score:
        """How probable several texts are together."""
        if isinstance(texts, str):
            raise ConfigError("score_texts wants several texts, and one came. Use score(text) for one.")
        with silent("scoring") as step:
            return score_blocks(self.codec, self.model, [self._texts(texts)], step)

    def score_file(self, source: Given, **reading: Any) -> Score:
        """How probable data are, of any size: a path, a folder, a pattern, `-`, or a list.

        `reading` are the settings of `data.sources.ReadConfig`, such as `column="text"`; what is not given
        is as it was when the model was fitted.
        """
        blocks = opened(self.codec, self.card.get("reading", {}), source, reading)
        with progress("scoring", size_of(blocks), "B") as step:
            return score_blocks(self.codec, self.model, blocks(), step)

    def score_each(self, source: Given, **reading: Any) -> Iterator[tuple[str, Score]]:
        """Each sequence of data of any size with its score, in order, as they are read.

        A list of strings is scored string by string; `reading` is as for `score_file`.
        """
        blocks = opened(self.codec, self.card.get("reading", {}), source, reading)
        with progress("scoring", size_of(blocks), "B") as step:
            yield from score_each(self.codec, self.model, blocks(), step)

    def unknown(self, text: str) -> tuple[str, ...]:
        """The symbols of a text that this model does not know."""
        return unknown_symbols(self.codec, self._texts([text]))

    def rank(self, candidates: Iterable[str]) -> list[tuple[str, Score]]:
        """The candidates with their scores, the most probable first."""
        if isinstance(candidates, str):
            raise ConfigError("rank wants several texts, and one came. Use score(text) for one.")
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
        unknown: bool = False,
        draft: Bundle | None = None,
    ) -> Iterator[str]:
        """The prompt, then what the model adds, piece by piece.

        It adds at most `length` symbols, until the sequence ends or the text `stop` would come.
        With `beam` the most probable continuation found is given instead of a random one. `<unk>` is said
        only with `unknown`. With `draft`, a smaller model writes ahead: the same distribution, sooner.
        """
        check_drawing(seed, temperature, top_k, top_p, beam)
        if beam is not None:
            yield from self._written(prompt, self._found(prompt, length, beam, unknown)[0].ids, stop)
            return
        narrowing = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
        drafter = None if draft is None else self._drafter(draft)
        known = self.prompt_ids(prompt)
        ids = drawn(self.model, known, length, seed, narrowing, _never(unknown), drafter)
        yield from self._written(prompt, ids, stop)

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
        unknown: bool = False,
        draft: Bundle | None = None,
    ) -> str:
        """The prompt and what the model adds, as `stream` gives it, in one."""
        pieces = self.stream(
            prompt,
            length,
            seed,
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            beam=beam,
            stop=stop,
            unknown=unknown,
            draft=draft,
        )
        return "".join(pieces)

    def search(
        self,
        prompt: str = "",
        length: int = 200,
        *,
        beam: int = 4,
        count: int | None = None,
        stop: str | Sequence[str] | None = None,
        unknown: bool = False,
    ) -> tuple[Written, ...]:
        """The `count` most probable texts that a beam of this width finds, all different, best first."""
        if count is not None and count > beam:
            raise ConfigError(
                f"A beam of {beam} finds at most {beam} texts, not {count}. Make it {count} wide."
            )
        found: dict[str, float] = {}
        for one in self._found(prompt, length, beam, unknown):
            found.setdefault("".join(self._written(prompt, one.ids, stop)), one.log_probability / LOG2)
        return tuple(Written(text, log) for text, log in list(found.items())[:count])

    def complete(
        self, prompt: str = "", k: int = 5, length: int = 10, *, unknown: bool = False
    ) -> Completions:
        """The `k` likeliest next symbols, and the `k` likeliest continuations of at most `length` symbols.

        For words, also those that begin with the last word of the prompt: it may be half typed.
        """
        known = self.prompt_ids(prompt)
        return completions(self.codec, self.model, prompt, known, k, length, _never(unknown))

    def fill(self, text: str, k: int = 5) -> tuple[tuple[Guess, ...], ...]:
        """For every `[MASK]` in the text the `k` best guesses, best first; for models that read both ways."""
        return fill(self.codec, self.model, _text(text), k)

    def embed(self, texts: Sequence[str], *, pooling: str = "mean", normalise: bool = False) -> np.ndarray:
        """One vector a text (texts, D): the mean over its symbols, or that of the first or the last."""
        return embed_texts(self.codec, self.model, texts, pooling, normalise)

    def embed_symbols(self, texts: Sequence[str]) -> list[tuple[list[str], np.ndarray]]:
        """For every text its symbols, BOS and EOS included, and their vectors (T, D)."""
        vectors = embed_symbols(self.codec, self.model, texts)
        ids = [self.codec.encode(self._texts([text])).ids for text in texts]
        return [(self.codec.pieces(own[: len(one)]), one) for own, one in zip(ids, vectors, strict=True)]

    def compressed(self) -> Bundle:
        """The same with weights in eight bits: faster to write with, hardly worse."""
        return replace(self, model=self.model.compressed())

    def prompt_ids(self, prompt: str) -> list[int]:
        """BOS and the symbols of an unfinished text."""
        ids: list[int] = self.codec.encode(self._texts([prompt])).ids.tolist()
        return ids[:-1]

    def _texts(self, items: Iterable[str]) -> Texts:
        try:
            return Texts.of(typed(self.codec, _text(item)) for item in items)
        except UnicodeEncodeError as error:
            raise CodecError("The text is not valid Unicode: it holds bytes that are no UTF-8.") from error

    def _symbols(self, ids: np.ndarray, logs: np.ndarray) -> tuple[Symbol, ...]:
        facts = {name: values[1:].tolist() for name, values in self.model.facts(ids).items()}
        pieces, bits = self.codec.pieces(ids[1:]), (logs[1:] / LOG2).tolist()
        seen = [self.codec.shown(one) for one in ids[1:].tolist()]
        rows = enumerate(zip(pieces, bits, seen, strict=True))
        return tuple(
            Symbol(piece, log, {name: values[at] for name, values in facts.items()}, shown)
            for at, (piece, log, shown) in rows
        )

    def _drafter(self, draft: Bundle) -> Model:
        if draft.codec.fingerprint() != self.codec.fingerprint():
            raise ConfigError("A drafter must share the model's codec. Fit both on the same data and codec.")
        return draft.model

    def _found(self, prompt: str, length: int, width: int, unknown: bool) -> list[Hypothesis]:
        from chainrule.decode.beam import beam

        return beam(self.model, self.prompt_ids(prompt), width, length, never=_never(unknown))

    def _written(self, prompt: str, ids: Iterable[int], stop: str | Sequence[str] | None) -> Iterator[str]:
        """The prompt, and `ids` as text, up to the first text of `stop`."""
        from chainrule.decode.cursor import checked

        known = checked(self.model, self.prompt_ids(prompt))  # what cannot be continued is refused first
        yield prompt
        pieces = joined(self.codec, prompt, known, spoken(self.codec, known, ids))
        stops = [stop] if isinstance(stop, str) else list(stop or ())
        yield from filter(None, until(pieces, [one for one in stops if one]))


def _described(name: str, config: Config) -> str:
    """A name, its first setting, and the others that are not as usual."""
    settings = visible(type(config))
    told = [one.name for at, one in enumerate(settings) if not at or getattr(config, one.name) != one.default]
    return " ".join(
        [name, *(f"{one}={getattr(config, one)}" for one in told if getattr(config, one) is not None)]
    )


def _text(item: object) -> str:
    if not isinstance(item, str):
        raise ConfigError(f"A text is wanted, and a {type(item).__name__} came: {item!r}. Give a str.")
    return item


def _never(unknown: bool) -> tuple[int, ...]:
    return () if unknown else (UNK,)


def load(folder: Path | str, verify: bool = False) -> Bundle:
    """A saved model again; a damaged or foreign one is refused. `verify` checks every byte of large files."""
    folder = Path(folder)
    config = _read_config(folder)
    inside = [
        path.relative_to(folder).as_posix() for path in (folder / CODEC).rglob("*") if not path.is_dir()
    ]
    manifest.check(folder, verify, [CONFIG, WEIGHTS, CARD, *inside])
    try:
        codec_type, model_type = codec_class(config["codec"]["name"]), family(config["family"])
        codec_config = codec_type.Config.from_values(config["codec"]["config"])
        model_config = model_type.Config.from_values(config["model"])
    except (ConfigError, KeyError, TypeError, AttributeError) as error:
        raise BundleError(
            f"{folder / CONFIG} does not describe a model this version knows: {error}"
        ) from error
    codec = codec_type.load(folder / CODEC, codec_config)
    _check_alphabet(folder, codec, model_config)
    model = model_type.from_arrays(model_config, tensors.read(folder / WEIGHTS))
    return Bundle(codec, model, manifest.read_json(folder / CARD))


def _check_alphabet(folder: Path, codec: Codec, config: ModelConfig) -> None:
    """A model that speaks of other ids than its codec would give wrong numbers without a word."""
    if config.alphabet != codec.size:
        raise BundleError(
            f"{folder / CONFIG} is damaged: its model has an alphabet of {config.alphabet} ids and its codec "
            f"{codec.size}. Copy or save the model again."
        )
    outside = [one for one in config.silent if not 0 <= one < codec.size]
    if outside:
        raise BundleError(
            f"{folder / CONFIG} is damaged: the silent id {outside[0]} is not among the {codec.size} ids. "
            "Copy or save the model again."
        )


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
    if type(config.get("version")) is not int or config["version"] < 1:
        raise BundleError(f"{folder / CONFIG} is damaged: its version is {config.get('version')!r}.")
    if config["version"] > VERSION:
        raise BundleError(
            f"{folder} was saved by a newer chainrule (format {config['version']}; this one reads up to "
            f"{VERSION}). Upgrade chainrule to load it."
        )
    return config


def _write_json(path: Path, values: Mapping[str, Any]) -> None:
    path.write_text(to_json(values, indent=2) + "\n", encoding="utf-8")
