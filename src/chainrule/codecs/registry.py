"""Which codecs there are. A codec is one file that calls `@register("name")`."""

from __future__ import annotations

from chainrule.codecs.base import Codec
from chainrule.registry import Registry

BUILT_IN: dict[str, tuple[str, str]] = {
    "audio": ("chainrule.codecs.audio", "audio: .wav files as log-mel frames; for sources"),
    "bytes": ("chainrule.codecs.bytes", "byte-level: every byte is a token; reads any file"),
    "characters": ("chainrule.codecs.characters", "character-level: every Unicode code point is a token"),
    "events": ("chainrule.codecs.events", "categorical: every value of a table's column is a token"),
    "frames": ("chainrule.codecs.frames", "frames: every token is a vector of real numbers; sensors"),
    "images": ("chainrule.codecs.images", "images: PNG and JPEG files as patches of pixels; for sources"),
    "labels": ("chainrule.codecs.labels", "labels: every cell is one token; for answers of classification"),
    "label-sets": (
        "chainrule.codecs.label_sets",
        "label sets: every cell is some labels, or none; for answers of multi-label classification",
    ),
    "numbers": ("chainrule.codecs.numbers", "quantised real numbers: every value is the bin it falls into"),
    "subwords": ("chainrule.codecs.subwords", "sub-word tokenizer learnt from the data: BPE or unigram"),
    "huggingface": (
        "chainrule.codecs.huggingface",
        "tokenizer of a Hugging Face model; made by chainrule import hf",
    ),
    "tags": (
        "chainrule.codecs.tags",
        "tags: one token for every word of another column; for answers of tagging",
    ),
    "values": ("chainrule.codecs.values", "numbers, each kept exactly; for answers of regression"),
    "words": ("chainrule.codecs.words", "word-level: split at white space, or also at punctuation"),
}
CODECS = Registry[Codec]("codec", BUILT_IN)
register, codec, codecs = CODECS.register, CODECS.find, CODECS.names
