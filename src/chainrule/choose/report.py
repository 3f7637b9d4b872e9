"""The page of a comparison: one HTML text that needs nothing beside it and reads well without its script."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from importlib.resources import files
from typing import Any

from chainrule.choose import surprise, tables, timeline
from chainrule.choose.figures import Curve, colour, learning, quality
from chainrule.choose.rounds import NOT_STARTED
from chainrule.choose.subsets import SYMBOLS
from chainrule.choose.tables import ModelRow, finished, models, title
from chainrule.draw import markup
from chainrule.draw.answers import picture as drawn_answers
from chainrule.draw.markup import NOTHING, Html, joined, listed, mapping, mappings, number, shown, tag, text

SAMPLES = 4  # of each model
LETTERS = 1500  # of each sample


@dataclass(frozen=True)
class Section:
    """A part of the page; one without content is left out."""

    identity: str
    title: str
    content: Html

    @property
    def whole(self) -> Html:
        head = tag("h2", self.title, id=f"{self.identity}-title")
        return tag("section", head, self.content, id=self.identity, aria_labelledby=f"{self.identity}-title")


def page(results: Mapping[str, Any]) -> str:
    """All results of a comparison as one HTML text; sections without results are left out."""
    sections = [section for section in (part(results) for part in PARTS) if section.content]
    style, script = _file("page.css"), _file("page.js")
    filled = {
        "policy": f"default-src 'none'; img-src data:; style-src '{_seal(style)}'; script-src '{_seal(script)}'",
        "title": joined(f"{_name(results)} – chainrule compare"),
        "style": style,
        "headline": _headline(results),
        "contents": joined(*(tag("a", one.title, href=f"#{one.identity}") for one in sections)),
        "sections": Html("\n".join(one.whole for one in sections)),
        "script": script,
    }
    # In one pass, so that nothing inside the data is taken for a gap.
    return re.sub(r"\{\{(\w+)\}\}", lambda gap: filled[gap[1]], _file("page.html"))


def _file(name: str) -> str:
    return (files("chainrule.choose") / "page" / name).read_text(encoding="utf-8")


def _seal(source: str) -> str:
    """What the page says of its own style and script, so that browsers take no others."""
    return f"sha256-{b64encode(sha256(source.encode()).digest()).decode()}"


def _name(results: Mapping[str, Any]) -> str:
    return text(mapping(results.get("data")).get("name")) or "these data"


def _unit(results: Mapping[str, Any]) -> str:
    return text(results.get("unit")) or "bits"


def _note(*said: object) -> Html:
    return tag("p", *said, class_="note")


def _below(content: Html, *note: object) -> Html:
    """Content with a note under it, or nothing at all."""
    return joined(content, _note(*note)) if content else NOTHING


def _headline(results: Mapping[str, Any]) -> Html:
    """What to take, and why."""
    advice = mapping(results.get("advice"))
    best = _advised(results, advice.get("best")) or next(iter(finished(results)), None)
    sentences = [one for one in listed(advice.get("sentences")) if one]
    return joined(
        tag("p", "Which model for ", tag("b", _name(results)), "?", class_="kicker"),
        tag("h1", title(best) if best else _no_model(results)),
        _verdict(best, results) if best else NOTHING,
        *(tag("p", one, class_="advice") for one in sentences),
        _tiles(results, advice),
    )


def _advised(results: Mapping[str, Any], name: object) -> ModelRow | None:
    """The model of a piece of advice."""
    return next((model for model in finished(results) if name and model.get("name") == name), None)


def _no_model(results: Mapping[str, Any]) -> str:
    return "No model finished" if models(results) else "Nothing was compared"


def _verdict(best: ModelRow, results: Mapping[str, Any]) -> Html:
    """The figure of the best model: its bits, or its task's own."""
    unit, value, low, high = _unit(results), best.get("bits"), best.get("low"), best.get("high")
    for name in map(text, listed(results.get("figures"))[:1]):
        unit, value = name.replace("_", " "), mapping(best.get("figures")).get(name)
        low, high = (*listed(mapping(best.get("intervals")).get(name)), None, None)[:2]
    between = tables.interval(low, high)
    rest = f" {unit} on held-out data" + (f"; 95 % interval {between}" if between else "")
    return tag("p", tag("b", shown(value, markup.bits)), rest, class_="verdict")


def _tiles(results: Mapping[str, Any], advice: Mapping[str, Any]) -> Html:
    """Small facts beside the answer."""
    kinds = {kind: _advised(results, advice.get(kind)) for kind in ("best", "simplest", "fastest")}
    facts = [(kind.capitalize(), title(model)) for kind, model in kinds.items() if model]
    return _facts([*facts, ("Models", _tried(results)), ("Time", _spent(results))], "tiles")


def _tried(results: Mapping[str, Any]) -> str:
    tried = [model for model in models(results) if not tables.failure(model).startswith(NOT_STARTED)]
    failed = sum(map(tables.failed, tried))
    return f"{len(tried)} tried" + (f", {failed} failed" if failed else "") if tried else ""


def _spent(results: Mapping[str, Any]) -> str:
    spent, budget = (shown(results.get(name), markup.duration) for name in ("seconds", "budget"))
    return spent if "–" in (spent, budget) else f"{spent} of {budget}"


def _facts(facts: Iterable[tuple[str, str]], kind: str) -> Html:
    found = [tag("div", tag("dt", name), tag("dd", value)) for name, value in facts if value not in ("", "–")]
    return tag("dl", *found, class_=kind) if found else NOTHING


def leaderboard(results: Mapping[str, Any]) -> Section:
    """Every model with its figures."""
    table = tables.leaderboard(results, _unit(results))
    note = (
        "In the order of the validation part, which decides; figures are of the test part, which no model has seen. ",
        "Bars are 95 % intervals over its sequences. Differences are paired, sequence by sequence; one with ≈ could ",
        "be chance.",
    )
    said = [_note(one) for one in listed(results.get("notes")) if one]
    return Section("leaderboard", "Leaderboard", joined(_below(table, *note), *said) if table else NOTHING)


def rounds(results: Mapping[str, Any]) -> Section:
    """Who had the time, and who was dropped when and why."""
    note = (
        "Successive halving: everybody gets a short first round, the better half continues from its checkpoint, ",
        "the winner gets the rest. Only the validation part decides.",
    )
    return Section("rounds", "Rounds: who had the time", _below(timeline.rounds(results), *note))


def _figure(plot: Html, *caption: object) -> Html:
    return tag("figure", plot, tag("figcaption", *caption)) if plot else NOTHING


def time_and_quality(results: Mapping[str, Any]) -> Section:
    """The plot of training time against bits."""
    plot = quality(finished(results), _unit(results))
    note = "Dots are finished models with their 95 % intervals, faint lines their validation while training."
    return Section("time", "Time and quality", _figure(plot, note))


def learning_curves(results: Mapping[str, Any]) -> Section:
    """The plot of training symbols against bits, and where curves cross."""
    places = {text(model.get("name")): at for at, model in enumerate(models(results))}
    given = mappings(results.get("curves"))
    curves = [
        Curve.of(one, places.get(text(one.get("name")), len(places) + at)) for at, one in enumerate(given)
    ]
    crossings = mappings(results.get("crossings"))
    train = mapping(mapping(mapping(results.get("data")).get("parts")).get("train"))
    what = text(results.get("amount")) or "symbols"
    have = train.get("sequences" if what != SYMBOLS else "symbols")
    plot = learning(curves, crossings, have, _unit(results), what)
    note = "Dots are measured, lines and bands are the power law through them and its uncertainty."
    return Section(
        "curves", "Learning curves", _figure(plot, note, *map(partial(_crossing, what), crossings))
    )


def _crossing(what: str, crossing: Mapping[str, Any]) -> Html:
    """Where two curves cross, in words."""
    if number(crossing.get("symbols")) is None:
        return NOTHING
    symbols, low, high = (shown(crossing.get(key), markup.count) for key in ("symbols", "low", "high"))
    between = "" if "–" in (low, high) else f" (95 % interval {low} … {high})"
    first, second = tag("b", crossing.get("first")), tag("b", crossing.get("second"))
    return joined(" The curves of ", first, " and ", second, f" cross at about {symbols} {what}{between}.")


def answers(results: Mapping[str, Any]) -> Section:
    """Confusion and calibration of the recommended model."""
    name = mapping(results.get("advice")).get("simplest")
    best = _advised(results, name) or next(iter(finished(results)), None)
    plot = drawn_answers(mapping(best.get("details"))) if best else NOTHING
    note = (
        f"{title(best) if best else ''} on the test part. Calibrated on the validation part: dots near the line are ",
        "probabilities one can rely on; the larger a dot, the more answers.",
    )
    return Section("answers", "Confusion and calibration", _figure(plot, *note))


def surprises(results: Mapping[str, Any]) -> Section:
    """Held-out text, coloured by how surprised two models were."""
    return Section("surprise", "Surprisal, symbol by symbol", surprise.view(mapping(results.get("surprise"))))


def samples(results: Mapping[str, Any]) -> Section:
    """What every model writes that has learnt, and how it was set."""
    learnt = [(at, model) for at, model in enumerate(finished(results)) if not model.get("unfinished")]
    cards = [card for at, model in learnt if (card := _card(model, at))]
    return Section("samples", "Samples", tag("div", *cards, class_="cards") if cards else NOTHING)


def _card(model: ModelRow, at: int) -> Html:
    written = [tag("blockquote", _cut(text(one))) for one in listed(model.get("samples"))[:SAMPLES] if one]
    notes = [_note(one) for one in listed(model.get("notes")) if one]
    if not written and not notes:
        return NOTHING
    head = tag("h3", tag("i", class_=f"dot {colour(at)}"), tag("span", title(model)))
    settings = _pairs(model.get("settings"))
    return tag("article", head, _note(settings) if settings else NOTHING, *notes, *written)


def _cut(written: str) -> str:
    return written if len(written) <= LETTERS else written[:LETTERS] + " …"


def _pairs(given: object) -> str:
    """`width 512, layers 1`."""
    return ", ".join(f"{text(name)} {text(value)}" for name, value in mapping(given).items())


def values(results: Mapping[str, Any]) -> Section:
    """Forecasts of numbers."""
    note = "Mean absolute error (MAE) of the next value; naive: the last one again, seasonal naive: that a season ago."
    return Section("values", "Forecasts of the next value", _below(tables.values(results), note))


def data(results: Mapping[str, Any]) -> Section:
    """What was learnt from, how it was divided, and what to beware of."""
    given = mapping(results.get("data"))
    facts = [
        ("Name", text(given.get("name"))),
        ("Codec", _codec(given)),
        ("Vocabulary", shown(given.get("vocab_size"), markup.count)),
        ("Divided", text(given.get("how"))),
    ]
    warnings = [tag("p", one, class_="warning", role="note") for one in listed(given.get("warnings")) if one]
    parts = tables.parts(mapping(given.get("parts")))
    return Section("data", "Data", joined(*warnings, _facts(facts, "facts"), parts))


def _codec(given: Mapping[str, Any]) -> str:
    """The codec, of several the best model's."""
    others = [text(one) for one in listed(given.get("codecs")) if one != given.get("codec")]
    name = text(given.get("codec"))
    return f"{name} (the best model's; compared with {', '.join(others)})" if others else name


def reproduce(results: Mapping[str, Any]) -> Section:
    """How to get the same again."""
    given = mapping(results.get("reproduce"))
    command = text(given.get("command"))
    facts = [
        ("Seed", text(given.get("seed"))),
        ("Versions", _pairs(given.get("versions"))),
        ("Machine", text(given.get("machine"))),
    ]
    code = tag("pre", tag("code", command)) if command else NOTHING
    return Section("reproduce", "How to reproduce", joined(code, _facts(facts, "facts")))


def cost_forecasts(results: Mapping[str, Any]) -> Section:
    """Time and memory: forecast before training, and measured."""
    return Section(
        "forecast", "Forecast and measured cost", _below(tables.cost_forecasts(results), _missed(results))
    )


def _missed(results: Mapping[str, Any]) -> str:
    """Which forecasts were far off."""
    told = [
        f"{text(row.get('name'))} ({', '.join(map(text, listed(row.get('missed'))))})"
        for row in map(mapping, listed(results.get("models")))
        if listed(row.get("missed"))
    ]
    return (
        f"Off by more than a factor of two: {'; '.join(told)}."
        if told
        else "Nothing is off by more than a factor of two."
    )


PARTS = (
    leaderboard,
    rounds,
    time_and_quality,
    learning_curves,
    answers,
    surprises,
    samples,
    values,
    data,
    reproduce,
    cost_forecasts,
)
