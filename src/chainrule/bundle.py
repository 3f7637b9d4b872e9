"""What users hold: a body and a head with their codecs, their task and where they come from; saved as a folder.

config.json         what it is: format, task, family, settings, codecs
model.safetensors   what it has learnt
codecs/ROLE/        the vocabulary of every column it reads
card.json           where it comes from: data, seed, versions, measured figures
manifest.json       size and checksum of every file
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from chainrule.codecs.base import Codec
from chainrule.config import parted, to_json
from chainrule.data.rows import TEXT
from chainrule.draw.picture import Picture
from chainrule.errors import BundleError, ChainruleError, ConfigError, ModelError
from chainrule.models.base import Body, LanguageModel, learnt
from chainrule.models.registry import family
from chainrule.runtime import versions
from chainrule.saved import HEAD, VERSION, check, read_arrays, read_card, read_config, saved_codec, saved_head
from chainrule.saved import described_part as _described
from chainrule.store import manifest, tensors
from chainrule.store.files import CONFIG, FORMAT, new_folder
from chainrule.tasks.base import Task, described
from chainrule.tasks.base import task as task_class
from chainrule.use import score as use_score
from chainrule.use.adapt import AdaptConfig, adapted
from chainrule.use.against import PairedEvaluation, evaluate_against
from chainrule.use.analogy import Analogy, analogy
from chainrule.use.anomalies import Anomalies, anomalies
from chainrule.use.complete import Completions, complete
from chainrule.use.conditional import log_probability
from chainrule.use.embed import SymbolEmbeddings, embed, embed_symbols, stacked
from chainrule.use.evaluate import Evaluation, evaluate
from chainrule.use.fill import Filled, fill
from chainrule.use.forecast import ForecastConfig, Forecasts, forecast
from chainrule.use.generate import Written, generate, stream
from chainrule.use.generate import settings as generation
from chainrule.use.nbest import Nbest, NbestConfig, rank_file
from chainrule.use.next import NextSymbols, next_symbols
from chainrule.use.pictures import loss_curve, loss_picture, model_html
from chainrule.use.predict import Prediction, predict, predict_each
from chainrule.use.questions import answer
from chainrule.use.rank import Ranking, rank
from chainrule.use.score import DataScore, SequenceScore, TextScore
from chainrule.use.search_tree import SearchTree, search_tree
from chainrule.use.similar import Similar, similar
from chainrule.use.text import prompt_ids
from chainrule.use.translate import Translation, translate
from chainrule.use.unknown import unknown

if TYPE_CHECKING:
    from chainrule.data.columns import Data
    from chainrule.data.sources import Given
    from chainrule.decode.config import GenerationConfig
    from chainrule.heads.base import Head

WEIGHTS, CODECS, CARD = "model.safetensors", "codecs", "card.json"
BEAM = 4  # the width of a search, if not given


@dataclass(frozen=True, repr=False)
class Bundle:
    """A model one can use: score, generate, complete, rank, save."""

    codecs: Mapping[str, Codec]  # by role
    body: Body
    task: Task
    head: Head | None = None
    card: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, codec: Codec, model: Body, card: Mapping[str, Any] | None = None) -> Bundle:
        """A model with its codec, for its usual task."""
        return cls({TEXT: codec}, model, task_class(model.task)(), None, card or {})

    @property
    def codec(self) -> Codec:
        """That of what the body reads: the role it predicts or, where a head answers, the main one."""
        return self.codecs[self.task.body_role(self.codecs)]

    @property
    def model(self) -> LanguageModel:
        """The body as a language model; a body that predicts no symbols is refused."""
        if not isinstance(self.body, LanguageModel) or not getattr(self.body.config, "softmax", True):
            raise ModelError(
                f"A {self.body.family} predicts no symbols. Use it for its task, {self.task.name!r}."
            )
        return self.body

    @property
    def parameters(self) -> int:
        """How many numbers were learnt."""
        return learnt(self.arrays())

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything learnt, by name; what a head has learnt under `head/`."""
        own = {} if self.head is None else self.head.arrays()
        return {**self.body.arrays(), **{HEAD + name: array for name, array in own.items()}}

    def __repr__(self) -> str:
        model = _described(self.body.family, self.body.config)
        return (
            f"<Bundle {model} on {_described(self.codec.name, self.codec.config)}, {self.codec.size:,} ids>"
        )

    @property
    def config(self) -> dict[str, Any]:
        """What it is, as plain values: the content of config.json."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "task": described(self.task),
            "family": self.body.family,
            "model": self.body.config.values(),
            "head": None if self.head is None else _named(self.head),
            "codecs": {role: _named(codec) for role, codec in self.codecs.items()},
        }

    def save(self, folder: Path | str, force: bool = False) -> None:
        """Write the folder, all of it or nothing; an existing one is replaced only with `force`."""
        origin = {"created": datetime.now(UTC).isoformat(timespec="seconds"), "versions": versions()}
        with new_folder(folder, force) as temporary:
            _write_json(temporary / CONFIG, self.config)
            _write_json(temporary / CARD, origin | dict(self.card))
            tensors.write(temporary / WEIGHTS, self.arrays(), {"format": FORMAT})
            for role, codec in self.codecs.items():
                (temporary / CODECS / role).mkdir(parents=True)
                codec.save(temporary / CODECS / role)
            manifest.write(temporary)

    def score(self, text: str) -> TextScore:
        """How probable one text is, and each symbol of it; the end of the text counts as a symbol."""
        return use_score.score(self, text)

    def score_texts(self, texts: Iterable[str]) -> DataScore:
        """How probable several texts are together."""
        return use_score.score_texts(self, texts)

    def score_file(self, source: Given, **reading: Any) -> DataScore:
        """How probable data are, of any size; of `reading` (`ReadConfig`) what is not given is as it was for `fit`."""
        return use_score.score_file(self, source, **reading)

    def score_each(self, source: Given, *, id: str | None = None, **reading: Any) -> Iterator[SequenceScore]:
        """One result for each row, or string of a list, in order; blank rows have one, too.

        `reading` is as for `score_file`; `id` is the column of a table that names its rows.
        """
        return use_score.score_each(self, source, id=id, **reading)

    def rank(self, candidates: Iterable[str], source: Any = None) -> Ranking:
        """The candidates with their scores, the most probable first; where there is a source, given that."""
        return rank(self, candidates, source)

    def rank_file(self, data: Given, /, **options: Any) -> tuple[Nbest, ...]:
        """The n-best lists of a table, each ranked: `rank_file("nbest.tsv", group="utterance")`."""
        config, reading = parted(options, NbestConfig)
        return rank_file(self, data, config, load, **reading)

    def unknown(self, text: str) -> tuple[str, ...]:
        """The symbols of a text that this model does not know."""
        return unknown(self, text)

    def complete(
        self, prompt: str = "", k: int = 5, length: int = 10, *, unknown: bool = False
    ) -> Completions:
        """The `k` likeliest next symbols, and continuations of at most `length`; the last word may be half typed."""
        return complete(self, [prompt], k, length, unknown=unknown)[0]

    def next(self, prompt: str = "", k: int = 20) -> NextSymbols:
        """The distribution over the next symbol: the `k` most probable ones, and `probabilities` of all as an array."""
        return next_symbols(self, prompt, k)

    @property
    def history(self) -> list[dict[str, float | None]]:
        """The loss curve of the training: `step`, `train` and `valid` in nats per symbol; None where not judged."""
        return loss_curve(self.card)

    def plot(self) -> Picture:
        """The loss curve as a picture, for a notebook or a file: `lm.plot().save("loss.svg")`."""
        return loss_picture(self)

    def _repr_html_(self) -> str:
        return model_html(self)

    def forecast(self, data: Given | None = None, steps: int = 14, **options: Any) -> Forecasts:
        """Median, interval and sampled paths of the next `steps` of each series; `options` as `ForecastConfig` has."""
        config, reading = parted({**options, "steps": steps}, ForecastConfig)
        return forecast(self, data, config, reading)

    def anomalies(self, data: Given, *, id: str | None = None, **reading: Any) -> Anomalies:
        """How surprising every value, day and session is, ranked, with what was expected."""
        return anomalies(self, data, reading, id)

    def fill(self, text: str, k: int = 5) -> Filled:
        """For every `[MASK]` in the text the `k` best guesses, best first; for models that read both ways."""
        return fill(self, text, k)

    def embed(
        self, texts: str | Iterable[str], *, pooling: str = "mean", normalise: bool = False
    ) -> np.ndarray:
        """One vector a text (texts, D): the mean over its symbols, or that of the first or the last."""
        return stacked(embed(self, texts, pooling=pooling, normalise=normalise))

    def embed_symbols(self, texts: str | Iterable[str]) -> list[SymbolEmbeddings]:
        """For every text its symbols, BOS and EOS included, and their vectors (T, D)."""
        return embed_symbols(self, texts)

    def similar(self, word: str, k: int = 10, *, among: Bundle | None = None) -> Similar:
        """Of word vectors, the `k` words nearest to a word; `among` another model's words in the same space."""
        return similar(self, word, k, among)

    def analogy(self, a: str, b: str, c: str, k: int = 10) -> Analogy:
        """Of word vectors, the `k` words that are to `c` as `b` is to `a`, without the three and with them."""
        return analogy(self, a, b, c, k)

    def predict(
        self,
        texts: str | Iterable[str] | Iterable[tuple[str, str]],
        top: int | None = None,
        pair: str | Iterable[str] | None = None,
    ) -> list[Prediction]:
        """The label of each text, with the probabilities of the `top` labels, best first; `pair`: second texts."""
        others = [pair] if isinstance(pair, str) else pair
        return predict(self, [texts] if isinstance(texts, str) else texts, others, top)

    def answer(self, question: str, passage: str, top: int | None = None) -> Prediction:
        """The part of a passage that answers a question (task span), with `top` others that were near."""
        return answer(self, question, passage, top)

    def predict_each(self, source: Given, *, id: str | None = None, **reading: Any) -> Iterator[Prediction]:
        """One prediction for each row of data of any size, as `score_each` does."""
        return predict_each(self, source, id=id, **reading)

    def evaluate(self, data: Data, label: str | None = None, **reading: Any) -> Evaluation:
        """Accuracy, macro-F1, log-loss and calibration on labelled data."""
        return evaluate(self, data, label, **reading)

    def evaluate_against(
        self, other: Bundle, data: Data, label: str | None = None, **reading: Any
    ) -> PairedEvaluation:
        """How much better or worse than another model on the same labelled data, and whether that is significant."""
        return evaluate_against(self, other, data, label, **reading)

    def translate(self, sources: Any, **options: Any) -> list[Translation]:
        """One text for each of some sources; `options` are those of `GenerationConfig` and `WriteConfig`."""
        return translate(self, [sources] if isinstance(sources, str) else sources, **options)

    def search_tree(self, text: str = "", branches: int | None = None, **options: Any) -> SearchTree:
        """All that a beam search looked at, from a prompt or of a source; `options`: of `generate` or `translate`."""
        return search_tree(self, text, branches=branches, **options)

    def log_probability(self, targets: Iterable[str], sources: Iterable[Any]) -> np.ndarray:
        """Natural log p(target | source) of each pair, whatever sources are; the end of the text included."""
        return log_probability(self, targets, sources)

    def compressed(self) -> Bundle:
        """The same with weights in eight bits: faster to write with, hardly worse."""
        return replace(self, body=self.body.compressed())

    def adapted(self, valid: Given | None = None, **options: Any) -> Bundle:
        """The same, scoring by dynamic evaluation or with a neural cache; `options` are those of `AdaptConfig`."""
        return adapted(self, AdaptConfig.from_values(options), valid)

    def prompt_ids(self, prompt: str) -> list[int]:
        """BOS and the symbols of an unfinished text."""
        return prompt_ids(self.codec, prompt)

    @overload
    def generate(
        self, prompt: str = "", length: int | None = None, seed: int | None = None, **settings: Any
    ) -> str: ...

    @overload
    def generate(
        self, prompt: Sequence[str], length: int | None = None, seed: int | None = None, **settings: Any
    ) -> list[str]: ...

    def generate(
        self,
        prompt: str | Sequence[str] = "",
        length: int | None = None,
        seed: int | None = None,
        *,
        config: GenerationConfig | None = None,
        draft: Bundle | None = None,
        **settings: Any,
    ) -> str | list[str]:
        """The prompt and what the model adds; of a list of prompts a list, in order, written side by side.

        `settings` are those of `GenerationConfig`: `temperature`, `top_k`, `top_p`, `beam`, `stop` … They win over
        those of a `config`. Of a list, the seed counts up. With `draft` a smaller model writes ahead.
        """
        settled = generation(settings | _given(length=length, seed=seed), config)
        if settled.count != 1:
            raise ConfigError(f"Give the prompt {settled.count} times for as many texts, or use `search`.")
        found = generate(self, [prompt] if isinstance(prompt, str) else prompt, settled, draft)
        texts = [one.texts[0].text for one in found]
        return texts[0] if isinstance(prompt, str) else texts

    def stream(
        self,
        prompt: str = "",
        length: int | None = None,
        seed: int | None = None,
        *,
        config: GenerationConfig | None = None,
        draft: Bundle | None = None,
        **settings: Any,
    ) -> Iterator[str]:
        """The prompt, then what the model adds as `generate` would, piece by piece as it is drawn."""
        return stream(self, prompt, generation(settings | _given(length=length, seed=seed), config), draft)

    def search(
        self,
        prompt: str = "",
        length: int | None = None,
        *,
        beam: int | None = None,
        count: int | None = None,
        config: GenerationConfig | None = None,
        **settings: Any,
    ) -> tuple[Written, ...]:
        """The `count` most probable texts that a beam of this width finds, all different, best first.

        Without a `config`, the beam is 4 wide, and all of its texts are given.
        """
        if beam is None and (config is None or config.beam is None):
            beam = BEAM
        if count is None and config is None:
            count = beam
        wanted = settings | _given(length=length, beam=beam, count=count)
        return generate(self, [prompt], generation(wanted, config))[0].texts


def _given(**values: Any) -> dict[str, Any]:
    """Those that are not None."""
    return {name: value for name, value in values.items() if value is not None}


def load(folder: Path | str, verify: bool = False) -> Bundle:
    """A saved model again; a damaged or foreign one is refused. `verify` checks every byte of large files."""
    if not isinstance(folder, str | os.PathLike):
        raise ConfigError(
            f"A folder with a saved model is wanted, and a {type(folder).__name__} came: {folder!r}."
        )
    try:
        return _loaded(Path(folder), verify)
    except (ChainruleError, MemoryError):
        raise
    except Exception as error:  # its files are whole, but what they say does not fit together
        told = str(error).strip().replace("\n", " ")
        raise BundleError(
            f"{folder} is damaged: it cannot be loaded ({type(error).__name__}: {told:.200}). "
            "Copy or save the model again."
        ) from error


def _loaded(folder: Path, verify: bool) -> Bundle:
    config = read_config(folder)
    inside = [
        path.relative_to(folder).as_posix() for path in (folder / CODECS).rglob("*") if not path.is_dir()
    ]
    manifest.verify(folder, verify, [CONFIG, WEIGHTS, CARD, *inside])
    try:
        kind, settings = family(config["family"]), config["model"]
        model_config = kind.Config.from_values(settings)
        task = task_class(config["task"]["name"]).from_values(config["task"]["settings"])
        codecs = {role: saved_codec(folder / CODECS / role, one) for role, one in config["codecs"].items()}
    except (ConfigError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise BundleError(
            f"{folder / CONFIG} does not describe a model this version knows: {error}"
        ) from error
    check(folder, task, codecs, model_config)
    arrays = read_arrays(folder / WEIGHTS)
    body = kind.from_arrays(
        model_config, {name: one for name, one in arrays.items() if not name.startswith(HEAD)}
    )
    head = saved_head(config.get("head"), arrays, model_config)
    return Bundle(codecs, body, task, head, read_card(folder / CARD))


def _named(part: Codec | Head) -> dict[str, Any]:
    return {"name": part.name, "config": part.config.values()}


def _write_json(path: Path, values: Mapping[str, Any]) -> None:
    path.write_text(to_json(values, indent=2) + "\n", encoding="utf-8")
