"""The tokenizer of a model from Hugging Face, with its ids in our order.

Our ids begin with PAD, BOS, EOS, UNK, MASK; theirs lie where they lie. So ids are permuted: tokens that are one of
these special tokens come first, all others follow in their order. One token may be several of them (<|endoftext|> of
GPT-2 is BOS and EOS): the first of KEEPERS keeps it. A special token that the tokenizer lacks is never generated, and
where it is read it borrows the embedding of another one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from chainrule.codecs.base import PART, Blocks, Codec, CodecConfig, Encoded, Texts, check_id
from chainrule.codecs.registry import register
from chainrule.codecs.rust import no_panic
from chainrule.codecs.subwords import FILE, LETTERS, SPACES, plain, text_of
from chainrule.codecs.vocabulary import read_facts, read_file
from chainrule.errors import CodecError
from chainrule.symbols import BOS, EOS, FIRST, MASK, PAD, UNK

FACTS = "roles.json"
ROLES = ("pad", "bos", "eos", "unk", "mask")  # special tokens in the order of our ids
KEEPERS = (
    EOS,
    UNK,
    BOS,
    MASK,
    PAD,
)  # who keeps a token that plays several roles, and lends its embedding to the others
Roles = Mapping[str, str | None]  # which token of theirs plays each role


@register("huggingface")
class HuggingFace(Codec):
    """A `tokenizers` file, its special tokens by role, and how many rows the embedding of the model has.

    `suppressed_rows` are ids of theirs that are never to be generated, beside those that have no token.
    """

    def __init__(
        self, config: CodecConfig, text: str, roles: Roles, rows: int, suppressed_rows: Sequence[int] = ()
    ) -> None:
        self.config = config
        self.text = text  # of tokenizer.json, as it came
        self.roles = {role: roles.get(role) for role in ROLES}
        self.rows, self.suppressed_rows = rows, tuple(suppressed_rows)
        self.tokenizer = opened(text)
        named = _named(self.tokenizer, rows)
        own = self._own()
        self.keeps = frozenset(own)  # our special ids with a token of their own
        rest = np.setdiff1d(np.arange(rows), list(own.values()))
        borrowed = [own.get(special, self._lender(special, own)) for special in range(FIRST)]
        self.theirs = np.concatenate(
            [np.array(borrowed, np.int64), rest]
        )  # (V,) the row behind each id of ours
        self.ours = np.empty(rows, np.int32)  # our id of each row of theirs
        self.ours[rest] = np.arange(FIRST, FIRST + len(rest))
        self.ours[list(own.values())] = list(own)
        self.unnamed = tuple((FIRST + np.flatnonzero(~named[rest])).tolist())  # ids that no token leads to

    def _own(self) -> dict[int, int]:
        """For each special id that keeps a token, their id of it."""
        own: dict[int, int] = {}
        for special in KEEPERS:
            row = self.row_of(special)
            if row is not None and row not in own.values():
                own[special] = row
        return own

    def _lender(self, special: int, own: Mapping[int, int]) -> int:
        """Whose embedding a role without a token of its own is read with."""
        row = self.row_of(special)
        return next(iter(own.values()), 0) if row is None else row

    def row_of(self, special: int) -> int | None:
        """Their id of the token that plays a role, kept or shared; None: there is none."""
        token = self.roles[ROLES[special]]
        row = None if token is None else self.tokenizer.token_to_id(token)
        if token is not None and row is None:
            raise CodecError(
                f"{FACTS} names {token!r} as {ROLES[special]}, and the tokenizer has no such token."
            )
        return row

    @property
    def size(self) -> int:
        return len(self.theirs)

    @property
    def suppressed(self) -> tuple[int, ...]:
        """Roles without a token, and rows that no token leads to, too."""
        lonely = [special for special in (EOS, UNK) if special not in self.keeps]
        suppressed_rows = set(self.ours[list(self.suppressed_rows)].tolist()) - {EOS}
        return tuple(sorted({PAD, BOS, MASK, *lonely, *self.unnamed, *suppressed_rows}))

    @classmethod
    def learn(cls, blocks: Blocks, config: CodecConfig) -> Self:
        raise CodecError(
            "The codec 'huggingface' comes with a model and is not learnt from data: chainrule import hf DIR -o OUT "
            "makes it. To learn sub-words from your data, use --codec subwords."
        )

    def encode(self, texts: Texts) -> Encoded:
        parts = [np.empty(0, np.int32)]
        for part in texts.parts(1 + texts.bytes // PART, SPACES):
            parts += self._encode(part)
        ids = np.concatenate(parts)
        return Encoded(ids, int(np.count_nonzero(ids == UNK)))

    def _encode(self, texts: Texts) -> list[np.ndarray]:
        with no_panic("encoding"):
            found = self.tokenizer.encode_batch_fast(
                [text_of(one) for one in texts], add_special_tokens=False
            )
        parts = [self._framed(np.array(one.ids, np.int64)) for one in found]
        if parts and not texts.opens:
            parts[0] = parts[0][1:]
        if parts and not texts.closes:
            parts[-1] = parts[-1][:-1]
        return parts

    def _framed(self, rows: np.ndarray) -> np.ndarray:
        """BOS, our ids, EOS; a text that spells a special token does not end or begin by it."""
        inner = self.ours[rows]
        return np.concatenate([[BOS], np.where(inner < FIRST, UNK, inner), [EOS]]).astype(np.int32)

    def symbol(self, number: int) -> str:
        token = self.tokenizer.id_to_token(int(self.theirs[number]))
        if token is None:
            return f"<row {self.theirs[number]}>"
        return self._plain(token)

    def _plain(self, token: str) -> str:
        """A token as text, where its letters stand for bytes."""
        if "ByteLevel" not in repr(self.tokenizer.decoder) or not set(token) <= LETTERS.keys():
            return token
        return plain(token).decode("utf-8", "backslashreplace")

    def shown(self, number: int) -> str:
        piece = self.token(number)
        prefix = getattr(self.tokenizer.model, "continuing_subword_prefix", None)
        return piece.removeprefix(prefix or "").replace("▁", " ") if number >= FIRST else piece

    def begins(self) -> np.ndarray:
        pieces = self.tokens(range(self.size))
        if prefix := getattr(self.tokenizer.model, "continuing_subword_prefix", None):
            return np.array([not piece.startswith(prefix) for piece in pieces])
        return np.array([piece[:1].isspace() or piece.startswith("▁") for piece in pieces])

    def decode(self, ids: Sequence[int] | np.ndarray) -> str:
        numbers = [int(number) for number in np.asarray(ids, np.int64).reshape(-1)]
        for number in numbers:
            check_id(number, self.size)
        said = [number for number in numbers if number >= FIRST or (number == UNK and UNK in self.keeps)]
        return (
            str(self.tokenizer.decode(self.theirs[said].tolist(), skip_special_tokens=False)) if said else ""
        )

    def save(self, folder: Path) -> None:
        (folder / FILE).write_text(self.text, encoding="utf-8", newline="")
        facts = {"roles": self.roles, "rows": self.rows, "suppressed": self.suppressed_rows}
        (folder / FACTS).write_text(json.dumps(facts, ensure_ascii=False) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path, config: CodecConfig) -> Self:
        facts: dict[str, Any] = read_facts(folder / FACTS)
        roles, rows, suppressed_rows = facts.get("roles"), facts.get("rows"), facts.get("suppressed", [])
        if not (
            isinstance(roles, dict) and type(rows) is int and rows > 0 and _are_rows(suppressed_rows, rows)
        ):
            raise CodecError(f"{folder / FACTS} wants roles and rows: it is damaged. Save the model again.")
        return cls(config, read_file(folder / FILE).decode("utf-8", "replace"), roles, rows, suppressed_rows)


def _are_rows(values: Any, rows: int) -> bool:
    return isinstance(values, list) and all(type(one) is int and 0 <= one < rows for one in values)


def opened(text: str) -> Any:
    """A tokenizer that reads texts of any length, and special tokens in them as the letters they are."""
    from tokenizers import Tokenizer as Backend

    try:
        with no_panic("loading a tokenizer"):
            found = Backend.from_str(text)
    except Exception as error:  # the library raises bare Exceptions
        raise CodecError(f"{FILE} cannot be used ({error}). Copy or save the model again.") from error
    found.no_truncation()
    found.no_padding()
    found.encode_special_tokens = True
    if drops(found):
        found.model.dropout = None
    return found


def drops(tokenizer: Any) -> bool:
    """Whether merges are left out at random, as while a model is trained: then no text has one score."""
    return bool(getattr(tokenizer.model, "dropout", None))


def _named(tokenizer: Any, rows: int) -> np.ndarray:
    """Which rows (rows,) of the table have a token; refuses a token without a row."""
    ids = np.array(list(tokenizer.get_vocab(with_added_tokens=True).values()), np.int64)
    if len(ids) and ids.max() >= rows:
        raise CodecError(
            f"The tokenizer has ids up to {ids.max()}, and the table of the model has {rows} rows, 0 to {rows - 1}. "
            "They do not belong together: give the tokenizer the model was trained with."
        )
    named = np.zeros(rows, np.bool_)
    named[ids] = True
    return named
