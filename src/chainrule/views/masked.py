"""The view `masked`: every symbol of a text hidden in turn, and what a model that reads both ways would put there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from chainrule.config import option
from chainrule.errors import ModelError
from chainrule.symbols import FIRST, MASK
from chainrule.views.kinds import Kind, register
from chainrule.views.reading import whole_ids
from chainrule.views.scene import COOL, INK, QUIET, Box, Part, Scene, Words, breadth, cut, mixed
from chainrule.views.text import named, symbols, written
from chainrule.views.view import View

if TYPE_CHECKING:
    from chainrule.bundle import Bundle

LINE, LABEL, SHOWN = 24.0, 16, 5
UNKNOWN = "The model knows no symbol of this text, so there is none to hide. Give another one."
LEFT = "A {family} reads from left to right. Look at what may follow instead: --view next"


@register("masked")
@dataclass(frozen=True, kw_only=True)
class Masked(Kind):
    """p(x_t | all other symbols): on a page, click a symbol to hide it."""

    best: int = option(10, "how many guesses for each symbol", low=1, high=1_000)

    def look(self, bundles: tuple[Bundle, ...], text: str) -> View:
        models = [self._model(name, one, text) for name, one in zip(named(bundles), bundles, strict=True)]
        return View(
            "masked", {"models": models}, {"title": f"each symbol of {cut(text, 60)!r} hidden", "text": text}
        )

    def _model(self, name: str, bundle: Bundle, text: str) -> dict[str, Any]:
        if bundle.model.reads != "both":
            raise ModelError(LEFT.format(family=bundle.body.family))
        ids = whole_ids(bundle, written(text))  # (T,)
        places = np.flatnonzero(ids >= FIRST)
        if not len(places):
            raise ModelError(UNKNOWN)
        chances = hidden_in_turn(bundle, ids, places)  # (P, V)
        best = np.argsort(-chances, axis=1, kind="stable")[:, : self.best]
        return {
            "name": name,
            "symbols": symbols(bundle, ids[places]),
            "guesses": [symbols(bundle, row) for row in best],
            "probabilities": np.take_along_axis(chances, best, 1),
            "actual": chances[np.arange(len(places)), ids[places]],
        }

    @staticmethod
    def scene(view: View) -> Scene:
        parts: list[Part] = []
        y, wide = 24.0, 0.0
        for model in view["models"]:
            parts.append(Words(16, y, model["name"], INK, bold=True))
            left = 32 + breadth("m" * max(len(cut(one, LABEL)) for one in model["symbols"]))
            for row, symbol in enumerate(model["symbols"]):
                top = y + 12 + row * LINE
                parts.append(Words(left - 8, top + 14, cut(symbol, LABEL), QUIET, anchor="end"))
                for at, guess in enumerate(model["guesses"][row][:SHOWN]):
                    chance = float(model["probabilities"][row, at])
                    parts += [
                        Box(
                            left + at * 130,
                            top,
                            126,
                            LINE - 4,
                            mixed(COOL, 0.8 * chance),
                            f"{guess}: {chance:.2%}",
                        )
                    ]
                    parts += [Words(left + 4 + at * 130, top + 14, f"{cut(guess, 10)} {chance:.0%}", INK, 12)]
            y += 40 + len(model["symbols"]) * LINE
            wide = max(wide, left + SHOWN * 130)
        return Scene(wide + 16, y, parts, view.title)

    @staticmethod
    def words(view: View) -> str:
        rows = []
        for model in view["models"]:
            rows.append(model["name"])
            for row, symbol in enumerate(model["symbols"]):
                pairs = zip(model["guesses"][row][:SHOWN], model["probabilities"][row].tolist(), strict=False)
                told = ", ".join(f"{guess} {chance:.1%}" for guess, chance in pairs)
                rows.append(f"  {symbol:>14} {model['actual'][row]:7.2%}  {told}")
        return "\n".join(rows)


def hidden_in_turn(bundle: Bundle, ids: np.ndarray, places: np.ndarray) -> np.ndarray:
    """What the model expects (P, V) at each of these places of ids (T,), a mask standing there."""
    import torch

    rows = np.repeat(ids[None].astype(np.int64), len(places), 0)  # (P, T)
    rows[np.arange(len(places)), places] = MASK
    tokens = torch.from_numpy(rows).to(bundle.body.device)
    with bundle.body.inference(tokens.numel()):
        hidden, _ = bundle.model.read(tokens, bundle.body.start(len(rows)))
        found = bundle.model.logits(hidden)[torch.arange(len(rows)), torch.from_numpy(places)]
        chances: np.ndarray = found.softmax(-1).float().cpu().numpy()
    return chances
