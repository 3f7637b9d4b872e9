"""The tables of the page: columns of figures, one row a model, with what failed and why at the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chainrule.choose.figures import colour
from chainrule.choose.rounds import NOT_STARTED
from chainrule.draw import markup
from chainrule.draw.markup import NOTHING, Html, joined, listed, mapping, mappings, number, shown, tag, text
from chainrule.draw.plots import Scale, bar, crest, plottable

BAR = 84.0  # pixels an interval may take

ModelRow = Mapping[str, Any]


def models(results: Mapping[str, Any]) -> list[ModelRow]:
    """All models, those that failed last, otherwise as given."""
    return sorted(mappings(results.get("models")), key=failed)


def failed(model: ModelRow) -> bool:
    """Whether a model has a reason instead of figures."""
    return bool(model.get("failed"))


def failure(model: ModelRow) -> str:
    """Why a model has no figures."""
    why = text(model.get("failed"))
    return why if why.startswith(NOT_STARTED) else f"failed: {why}"


def state(model: ModelRow) -> str:
    """What must be said beside its figures: they are not the best its family can do."""
    told = [f"unfinished: {text(model['unfinished'])}"] if model.get("unfinished") else []
    dropped = text(model.get("dropped")).partition(":")[0]  # the reason stands under the rounds
    return "; ".join([*told, *([dropped] if dropped else [])])


def finished(results: Mapping[str, Any]) -> list[ModelRow]:
    """The models that did not fail, at the places that give them their colours."""
    return [model for model in models(results) if not failed(model)]


def title(model: ModelRow) -> str:
    """What people call a model."""
    return text(model.get("title") or model.get("name")) or "unnamed"


def interval(low: object, high: object) -> str:
    """`1.800 … 1.860`, or nothing where an end is missing."""
    if number(low) is None or number(high) is None:
        return ""
    return f"{shown(low, markup.bits)} … {shown(high, markup.bits)}"


def of(*path: str) -> Callable[[ModelRow], object]:
    """What stands under a name, or under a name within a name."""

    def value(model: ModelRow) -> object:
        for name in path[:-1]:
            model = mapping(model.get(name))
        return model.get(path[-1])

    return value


def ratio(key: str) -> Callable[[ModelRow], object]:
    """Measured over forecast."""

    def value(model: ModelRow) -> float | None:
        measured, forecast = number(model.get(key)), number(of("forecast", key)(model))
        if measured is None or forecast is None or measured < 0 or forecast < 1e-9:
            return None
        return measured / forecast

    return value


@dataclass(frozen=True)
class FigureColumn:
    """A column of figures: what it is called, what stands in it and how it is written."""

    title: str
    value: Callable[[ModelRow], object]
    form: Callable[[float], str]

    def cell(self, model: ModelRow) -> Html:
        value = self.value(model)
        return tag("td", shown(value, self.form), class_="figure", data_value=key(value))


def key(value: object) -> str | None:
    """What a cell is sorted by; what is not a number comes last."""
    if isinstance(value, float) and value == value:
        return repr(value)
    finite = number(value)
    return None if finite is None else repr(finite)


def table(name: str, head: Sequence[str], lines: Sequence[Html], sortable: bool = False) -> Html:
    """A table that scrolls by itself where it is too wide; empty without rows."""
    if not lines:
        return NOTHING
    heads = [tag("th", one, scope="col", class_="figure" if at else None) for at, one in enumerate(head)]
    inside = joined(tag("thead", tag("tr", *heads)), tag("tbody", *lines))
    whole = tag("table", inside, class_="sortable" if sortable else None)
    return tag("div", whole, class_="scroll", tabindex=0, role="region", aria_label=name)


def _head(model: ModelRow, at: int) -> Html:
    """The name of a model at the head of its row, with its colour of the plots."""
    called, name = title(model), text(model.get("name"))
    dot = NOTHING if failed(model) else tag("i", class_=f"dot {colour(at)}")
    both = [tag("b", called), tag("small", name)] if name and name != called else [tag("small", called)]
    said = NOTHING if failed(model) else _small(state(model))
    return tag("th", dot, tag("span", *both, said), scope="row", data_value=called)


def _rows(results: Mapping[str, Any], columns: Sequence[FigureColumn], needed: str) -> list[Html]:
    """A row for every finished model that has what is needed."""
    return [
        tag("tr", _head(model, at), *(column.cell(model) for column in columns))
        for at, model in enumerate(finished(results))
        if mapping(model.get(needed))
    ]


COSTS = (
    FigureColumn("training", of("seconds"), markup.duration),
    FigureColumn("memory", of("memory_bytes"), markup.size),
    FigureColumn("parameters", of("parameters"), markup.count),
    FigureColumn("on disk", of("file_bytes"), markup.size),
)
SYMBOLS = (
    FigureColumn("perplexity", of("perplexity"), markup.figure),
    *COSTS,
    FigureColumn("scored symbols / s", of("score_per_second"), markup.count),
    FigureColumn("generated symbols / s", of("write_per_second"), markup.count),
)


@dataclass(frozen=True)
class TaskColumn(FigureColumn):
    """A column of one of a task's own figures, with its interval below it where there is one."""

    key: str = ""

    def cell(self, model: ModelRow) -> Html:
        value = self.value(model)
        low, high = (*listed(mapping(model.get("intervals")).get(self.key)), None, None)[:2]
        return tag(
            "td", shown(value, self.form), _small(interval(low, high)), class_="figure", data_value=key(value)
        )


def columns(results: Mapping[str, Any]) -> Sequence[FigureColumn]:
    """What stands beside the bits of a model that predicts symbols, or the error of one that answers."""
    names = [text(name) for name in listed(results.get("figures"))]
    if not names:
        return SYMBOLS
    own = [TaskColumn(name.replace("_", " "), of("figures", name), markup.bits, name) for name in names]
    return [*own, *COSTS, FigureColumn("texts / s", of("score_per_second"), markup.count)]


def leaderboard(results: Mapping[str, Any], unit: str) -> Html:
    """Every model with its figures; those that failed say why."""
    scale = _scale(finished(results))
    beside = columns(results)
    lines = [_line(model, at, scale, beside) for at, model in enumerate(models(results))]
    lines += _yardsticks(mapping(mapping(results.get("yardsticks")).get("bits"))) if lines else []
    head = ["model", unit, "behind the best", *(column.title for column in beside)]
    return table("Leaderboard", head, lines, sortable=True)


def _yardsticks(bits: Mapping[str, Any]) -> list[Html]:
    """What compressors need for the same held-out part."""
    cells = tag("td", "a compressor, after the training part", colspan=len(SYMBOLS) + 1)
    return [
        tag(
            "tr",
            tag("th", tag("span", tag("small", name)), scope="row", data_value=name),
            tag("td", shown(value, markup.bits), class_="figure", data_value=key(value)),
            cells,
            class_="failed yardstick",
        )
        for name, value in bits.items()
    ]


def _scale(given: Sequence[ModelRow]) -> Scale | None:
    """One scale for all bars, not stretched by a model that is far worse than most."""
    known = [(height, model) for model in given if (height := plottable(model.get("bits"))) is not None]
    if not known:
        return None
    most = crest([height for height, _ in known])
    near = [model for height, model in known if height <= most]
    ends = [plottable(model.get(end)) for model in near for end in ("low", "bits", "high")]
    return Scale.over([end for end in ends if end is not None], 4.0, BAR)


def _line(model: ModelRow, at: int, scale: Scale | None, beside: Sequence[FigureColumn]) -> Html:
    if failed(model):
        said = tag("span", failure(model))
        why = tag("td", said, colspan=len(beside) + 2)
        return tag("tr", _head(model, at), why, class_="failed")
    figures = (column.cell(model) for column in beside)
    return tag("tr", _head(model, at), _score(model, scale), _behind(model, at), *figures)


def _score(model: ModelRow, scale: Scale | None) -> Html:
    """Bits with their interval as a bar and in figures."""
    value, low, high = model.get("bits"), model.get("low"), model.get("high")
    small = bar(low, value, high, scale) if scale else NOTHING
    inside = tag("span", shown(value, markup.bits), small, class_="with-bar")
    return tag("td", inside, _small(interval(low, high)), class_="figure", data_value=key(value))


def _small(said: str) -> Html:
    return tag("small", said) if said else NOTHING


def _behind(model: ModelRow, at: int) -> Html:
    """How far a model is behind the best one, and whether that is more than chance."""
    behind = mapping(model.get("behind"))
    if not behind:
        best = at == 0
        return tag("td", "best" if best else "–", class_="figure quiet", data_value="0.0" if best else None)
    value, said = behind.get("bits"), shown(behind.get("bits"), markup.signed)
    sure = f"≈ {said}" if behind.get("real") is False else said
    between = _small(interval(behind.get("low"), behind.get("high")))
    return tag("td", sure, between, class_="figure", data_value=key(value))


VALUES = (
    FigureColumn("MAE", of("values", "mae"), markup.figure),
    FigureColumn("naive MAE", of("values", "naive_mae"), markup.figure),
    FigureColumn("seasonal naive MAE", of("values", "seasonal_mae"), markup.figure),
    FigureColumn("season", of("values", "season"), markup.count),
    FigureColumn("80 % coverage", of("values", "coverage"), markup.percent),
)
FORECASTS = (
    FigureColumn("time forecast", of("forecast", "seconds"), markup.duration),
    FigureColumn("measured", of("seconds"), markup.duration),
    FigureColumn("ratio", ratio("seconds"), markup.times),
    FigureColumn("memory forecast", of("forecast", "memory_bytes"), markup.size),
    FigureColumn("measured", of("memory_bytes"), markup.size),
    FigureColumn("ratio", ratio("memory_bytes"), markup.times),
)
PARTS = (
    FigureColumn("sequences", of("sequences"), markup.count),
    FigureColumn("symbols", of("symbols"), markup.count),
    FigureColumn("size", of("bytes"), markup.size),
)


def values(results: Mapping[str, Any]) -> Html:
    """Forecasts of numbers against naive and seasonal-naive baselines."""
    head = ["model", *(column.title for column in VALUES)]
    return table("Forecasts of the next value", head, _rows(results, VALUES, "values"), sortable=True)


def cost_forecasts(results: Mapping[str, Any]) -> Html:
    """Time and memory: forecast before training, and measured."""
    head = ["model", *(column.title for column in FORECASTS)]
    return table("Forecast and measured cost", head, _rows(results, FORECASTS, "forecast"))


def parts(given: Mapping[str, Any]) -> Html:
    """How much is in each part of the data."""
    lines = [
        tag("tr", tag("th", name, scope="row"), *(column.cell(mapping(part)) for column in PARTS))
        for name, part in given.items()
    ]
    return table("Parts", ["part", *(column.title for column in PARTS)], lines)
