"""A Transformer in one line, for those that are imported and exported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chainrule.cli.output import number

if TYPE_CHECKING:
    from chainrule.bundle import Bundle


def facts_of(bundle: Bundle) -> dict[str, Any]:
    """What kind of Transformer it is."""
    settings = bundle.model.config.values()
    return {
        "family": bundle.model.family,
        **{name: settings[name] for name in ("layers", "width", "heads", "context")},
        "vocab_size": bundle.codec.size,
        "parameters": bundle.model.parameters_count,
    }


def described(facts: dict[str, Any]) -> str:
    """For people."""
    shape = f"{facts['layers']} layers of width {facts['width']} with {facts['heads']} heads"
    size = f"a vocabulary of {number(facts['vocab_size'])}, {number(facts['parameters'])} parameters"
    return f"{facts['family']}, {shape}, {facts['context']} tokens of context, {size}"
