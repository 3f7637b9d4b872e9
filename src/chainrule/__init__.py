"""Models of sequences, one interface for all.

    import chainrule as cr
    lm = cr.fit("book.txt", model="ngram", order=5)
    lm.score("she went to class").bits

Names are looked up when first used, so `import chainrule` is instant and brings no library, not even `typing`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from chainrule.bundle import Bundle, load
    from chainrule.choose.compare import compare
    from chainrule.decode.config import GenerationConfig
    from chainrule.errors import ChainruleError
    from chainrule.estimators import SequenceClassifier, SequenceRegressor, SequenceTagger
    from chainrule.train.each import fit_each
    from chainrule.train.fit import fit
    from chainrule.use.check import check
    from chainrule.views.front import look
    from chainrule.views.view import View

__version__ = "0.1.0"
__all__ = [
    "Bundle",
    "ChainruleError",
    "GenerationConfig",
    "SequenceClassifier",
    "SequenceRegressor",
    "SequenceTagger",
    "View",
    "__version__",
    "check",
    "compare",
    "fit",
    "fit_each",
    "load",
    "look",
]

_HOMES = {
    "Bundle": "chainrule.bundle",
    "ChainruleError": "chainrule.errors",
    "GenerationConfig": "chainrule.decode.config",
    "SequenceClassifier": "chainrule.estimators",
    "SequenceRegressor": "chainrule.estimators",
    "SequenceTagger": "chainrule.estimators",
    "View": "chainrule.views.view",
    "check": "chainrule.use.check",
    "compare": "chainrule.choose.compare",
    "fit": "chainrule.train.fit",
    "fit_each": "chainrule.train.each",
    "load": "chainrule.bundle",
    "look": "chainrule.views.front",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"chainrule has no {name!r}; it has {', '.join(__all__)}.")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
