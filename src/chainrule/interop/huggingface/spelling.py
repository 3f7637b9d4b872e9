"""Codecs as tokenizer.json: the original one of an imported model, else one that gives the same tokens."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np

from chainrule.codecs.base import Codec
from chainrule.codecs.bytes import Bytes
from chainrule.codecs.characters import Characters
from chainrule.codecs.huggingface import ROLES, HuggingFace
from chainrule.codecs.registry import codec as codec_named
from chainrule.codecs.registry import codecs
from chainrule.codecs.rust import no_panic
from chainrule.codecs.subwords import LETTERS, Subwords
from chainrule.codecs.vocabulary import Vocabulary
from chainrule.codecs.words import WHITE, Words
from chainrule.errors import CodecError
from chainrule.interop.huggingface.layout import Format
from chainrule.symbols import BOS, EOS, FIRST, PAD, SPECIALS, UNK

LEAST = -1000.0  # the score of a token that no text is cut into


@dataclass(frozen=True)
class Spelling:
    """A tokenizer over there, and which id of ours stands behind each of its rows."""

    text: str  # of tokenizer.json
    tokens: Mapping[str, str]  # by role
    ids: Mapping[str, int]  # theirs, by role
    order: np.ndarray  # (rows,)
    suppressed: tuple[int, ...]  # theirs that are never to be generated
    own: bool = True  # it is one of our codecs, and ids are ours
    notes: tuple[str, ...] = ()


@singledispatch
def spelling(codec: Codec, form: Format, table: np.ndarray) -> Spelling:
    """A codec as their tokenizer; `table` (V, D) are the vectors of the model, which may have been trained since."""
    order = form.order(codec.size)
    place = {id: row for row, id in enumerate(order.tolist())}
    made = _moved(tokenizer_of(codec), place)
    made.post_processor = _framing(form.framed, place)
    tokens = {role: SPECIALS[id] for id, role in enumerate(ROLES) if id in place}
    ids = {role: place.get(id, place[PAD]) for id, role in enumerate(ROLES)}
    suppressed = tuple(place[id] for id in codec.suppressed if id in place)
    begun = order if BOS in place else np.where(order == PAD, BOS, order)  # writing begins with padding
    return Spelling(made.to_str(), tokens, ids, begun, suppressed)


@spelling.register(HuggingFace)
def _returned(codec: HuggingFace, form: Format, table: np.ndarray) -> Spelling:
    """Their own tokenizer and their own order of ids."""
    tokens = {role: token for role, token in codec.roles.items() if token is not None}
    ids = {role: codec.row_of(special) for special, role in enumerate(ROLES)}
    known = {role: number for role, number in ids.items() if number is not None}
    lender = codec.ours[codec.theirs[BOS]]
    if BOS in codec.keeps or np.array_equal(table[BOS], table[lender]):
        return Spelling(codec.text, tokens, known, codec.ours, codec.suppressed_rows, own=False)
    return _with_beginning(codec, tokens, known)


def _with_beginning(codec: HuggingFace, tokens: dict[str, str], ids: dict[str, int]) -> Spelling:
    """BOS had borrowed a vector, and has learnt one of its own since: it becomes a token more."""
    made = _as_it_came(codec.text)
    name = next(
        name for name in (SPECIALS[BOS], "<|beginning|>", "<|bos|>") if made.token_to_id(name) is None
    )
    made.add_special_tokens([name])
    place = made.token_to_id(name)
    order = np.concatenate([codec.ours, np.full(max(0, place + 1 - codec.rows), BOS, np.int32)])
    order[place] = BOS
    note = f"the beginning of a sequence has learnt a vector of its own since: it is the new token {name!r}, id {place}"
    tokens, ids = tokens | {"bos": name}, ids | {"bos": place}
    return Spelling(made.to_str(), tokens, ids, order, codec.suppressed_rows, own=False, notes=(note,))


def _as_it_came(text: str) -> Any:
    from tokenizers import Tokenizer as Backend

    with no_panic("loading a tokenizer"):
        return Backend.from_str(text)


def _moved(made: Any, place: Mapping[int, int]) -> Any:
    """The same tokenizer with its ids at other places; those without a place are gone."""
    facts = json.loads(made.to_str())
    model = facts["model"]
    if isinstance(model["vocab"], dict):
        model["vocab"] = {token: place[id] for token, id in model["vocab"].items() if id in place}
    else:
        model["vocab"] = [model["vocab"][id] for id in sorted(place, key=lambda id: place[id])]
        model["unk_id"] = place[model["unk_id"]]
    kept = [one for one in facts["added_tokens"] if one["id"] in place]
    facts["added_tokens"] = sorted(
        ({**one, "id": place[one["id"]]} for one in kept), key=lambda one: one["id"]
    )
    return _as_it_came(json.dumps(facts))


def _framing(framed: tuple[bool, bool], place: Mapping[int, int]) -> Any:
    """What is put around a text: BOS where one is read; EOS, unless the model is to continue the text."""
    from tokenizers.processors import TemplateProcessing

    first, last = (f"{SPECIALS[BOS]} " if framed[0] else ""), (f" {SPECIALS[EOS]}" if framed[1] else "")
    used = [(SPECIALS[id], place[id]) for id, one in zip((BOS, EOS), framed, strict=True) if one]
    pair = f"{first}$A{last} $B:1{last and f'{last}:1'}"
    return TemplateProcessing(single=f"{first}$A{last}", pair=pair, special_tokens=used)


@singledispatch
def tokenizer_of(codec: Codec) -> Any:
    """A tokenizer of the library `tokenizers` that encodes as our codec does."""
    exported = ", ".join(name for name in codecs() if codec_named(name).spells)
    raise CodecError(
        f"The codec {codec.name!r} reads what is no text, and a tokenizer of Hugging Face reads text only. "
        f"What can be exported: {exported}."
    )


@tokenizer_of.register(Characters)
def _characters(codec: Characters) -> Any:
    """Any character by itself."""
    from tokenizers import Regex, decoders, pre_tokenizers

    made = _listed(codec.vocabulary)
    made.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    made.decoder = decoders.Fuse()
    return made


@tokenizer_of.register(Words)
def _words(codec: Words) -> Any:
    """What stands between white space; without a decoder, the library puts a space between two of them."""
    from tokenizers import Regex, pre_tokenizers

    if codec.config.split != "space":
        raise CodecError(
            "Its codec splits punctuation off and marks where it was glued, which no tokenizer of Hugging Face does. "
            "To export, train with --codec subwords, or with --codec words --split space."
        )
    made = _listed(codec.vocabulary)
    made.pre_tokenizer = pre_tokenizers.Split(Regex(f"[{WHITE}]+"), "removed")
    return made


def _listed(vocabulary: Vocabulary) -> Any:
    """A list of symbols."""
    from tokenizers import Tokenizer as Backend
    from tokenizers import models

    try:
        symbols = [symbol.decode("utf-8") for symbol in vocabulary.symbols]
    except UnicodeDecodeError as error:
        raise CodecError(
            "A symbol of the vocabulary is no UTF-8, and a tokenizer of Hugging Face wants text."
        ) from error
    clash = set(symbols) & set(SPECIALS)
    if clash:
        raise CodecError(
            f"The data contain {sorted(clash)[0]!r} as an ordinary symbol, which is the name of a special one. "
            "Replace it in the training text, then fit again."
        )
    numbers = {symbol: number for number, symbol in enumerate([*SPECIALS, *symbols])}
    made = Backend(models.WordLevel(numbers, unk_token=SPECIALS[UNK]))
    made.add_special_tokens(list(SPECIALS))
    return made


@tokenizer_of.register(Bytes)
def _bytes(codec: Bytes) -> Any:
    """Pairs of bytes of which none is ever merged."""
    from tokenizers import Tokenizer as Backend
    from tokenizers import decoders, models, pre_tokenizers

    numbers = dict(zip(SPECIALS, range(FIRST), strict=True))
    numbers |= {letter: FIRST + byte for letter, byte in LETTERS.items()}
    made = Backend(models.BPE(numbers, []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens(list(SPECIALS))
    return made


@tokenizer_of.register(Subwords)
def _subwords(codec: Subwords) -> Any:
    """The same tokens, each FIRST places further on."""
    facts = json.loads(codec.tokenizer.to_str())
    vocabulary = facts["model"]["vocab"]
    if isinstance(vocabulary, dict):
        moved = {piece: FIRST + number for piece, number in vocabulary.items()}
        facts["model"]["vocab"] = dict(zip(SPECIALS, range(FIRST), strict=True)) | moved
    else:
        facts["model"] |= {"vocab": [*([name, LEAST] for name in SPECIALS), *vocabulary], "unk_id": UNK}
    made = _as_it_came(json.dumps(facts))
    made.add_special_tokens(list(SPECIALS))
    return made
