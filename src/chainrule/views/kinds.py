"""Kinds of views: one file each, which computes the numbers and says them in a picture and in words.

    @register("surprise")
    @dataclass(frozen=True, kw_only=True)
    class Surprise(Kind): ...          # a frozen value; its settings are flags like any others

A page draws the same data by `page/NAME.js`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from chainrule.config import Config
from chainrule.registry import Registry
from chainrule.views.scene import Scene
from chainrule.views.view import View

if TYPE_CHECKING:
    from chainrule.bundle import Bundle

BUILT_IN: dict[str, tuple[str, str]] = {
    "attention": (
        "chainrule.views.attention",
        "attention weights: every layer and head over the symbols of a text",
    ),
    "beam": ("chainrule.views.beam", "the tree of a beam search: log-probabilities, and what was dropped"),
    "cells": ("chainrule.views.cells", "units of a recurrent network over a text, and what they track"),
    "filters": ("chainrule.views.filters", "the n-grams that each filter of a text CNN fires on"),
    "gradient": (
        "chainrule.views.gradient",
        "gradient through time: how much of a loss reaches earlier steps of a recurrent network",
    ),
    "layers": ("chainrule.views.layers", "logit lens: what a model would predict after each of its layers"),
    "masked": ("chainrule.views.masked", "each symbol hidden in turn: what BERT would put there"),
    "mixing": ("chainrule.views.mixing", "which layers of ELMo a task uses"),
    "next": ("chainrule.views.next", "next-symbol distribution: what may follow a text"),
    "recall": (
        "chainrule.views.recall",
        "recall of a symbol against its distance: how far back each model remembers",
    ),
    "saliency": ("chainrule.views.saliency", "attribution: how much each symbol counts for an answer"),
    "surprise": ("chainrule.views.surprise", "surprise: bits for each symbol of a text, of several models"),
    "training": ("chainrule.views.training", "losses of a model while it learnt"),
    "vectors": (
        "chainrule.views.vectors",
        "a map of words or texts, neighbours, analogies, words in contexts",
    ),
}


@dataclass(frozen=True, kw_only=True)
class Kind(Config, ABC):
    """How to look at something; its settings are flags of `chainrule look`."""

    name: ClassVar[str] = ""

    @abstractmethod
    def look(self, bundles: tuple[Bundle, ...], text: str) -> View:
        """The numbers: of one model, or of several side by side."""

    @staticmethod
    @abstractmethod
    def scene(view: View) -> Scene:
        """As a still picture."""

    @staticmethod
    @abstractmethod
    def words(view: View) -> str:
        """For the terminal."""


KINDS = Registry[Kind]("view", BUILT_IN)
register, kind_named, kinds = KINDS.register, KINDS.find, KINDS.names
