"""A tokenizer from elsewhere: its ids in our order, its special tokens in our roles."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tokenizers import Regex, decoders, models, pre_tokenizers
from tokenizers import Tokenizer as Backend

from chainrule.codecs import codec
from chainrule.codecs.base import CodecConfig, Texts
from chainrule.codecs.huggingface import HuggingFace
from chainrule.errors import CodecError
from chainrule.symbols import BOS, EOS, FIRST, MASK, PAD, SPECIALS, UNK

WORDS = ["sun", "[SEP]", "rain", "[UNK]", "[CLS]", "fog", "[MASK]", "[PAD]", "##s"]
BERT = {"pad": "[PAD]", "bos": "[CLS]", "eos": "[SEP]", "unk": "[UNK]", "mask": "[MASK]"}
END = "<|endoftext|>"
GPT = {"bos": END, "eos": END, "unk": END}


def word_pieces() -> Backend:
    made = Backend(models.WordPiece({word: place for place, word in enumerate(WORDS)}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Split(Regex(r"\s+"), "removed")
    made.decoder = decoders.WordPiece()
    made.add_special_tokens([word for word in WORDS if word.startswith("[")])
    return made


def byte_pairs() -> Backend:
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Backend(
        models.BPE({letter: place for place, letter in enumerate([*letters, "Ġt", END])}, [("Ġ", "t")])
    )
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([END])
    return made


def bert(rows: int = len(WORDS), backend: Backend | None = None) -> HuggingFace:
    return HuggingFace(CodecConfig(), (backend or word_pieces()).to_str(), BERT, rows)


def gpt(rows: int = 258) -> HuggingFace:
    return HuggingFace(CodecConfig(), byte_pairs().to_str(), GPT, rows)


def ids(made: HuggingFace, *texts: str) -> list[int]:
    return made.encode(Texts.of(texts)).ids.tolist()


def test_special_tokens_come_first_and_all_others_in_their_order() -> None:
    made = bert()
    assert [WORDS[row] for row in made.theirs] == [*BERT.values(), "sun", "rain", "fog", "##s"]
    assert made.theirs[made.ours].tolist() == list(range(len(WORDS)))
    assert ids(made, "rain sun", "fogs") == [BOS, 6, 5, EOS, BOS, 7, 8, EOS]
    assert made.suppressed == (PAD, BOS, MASK)


def test_one_token_in_several_roles_is_the_end_and_lends_its_row() -> None:
    made = gpt()
    assert made.size == FIRST + 258 - 1
    assert made.theirs[:FIRST].tolist() == [257] * FIRST and made.ours[257] == EOS
    assert made.suppressed == (PAD, BOS, UNK, MASK) and made.keeps == {EOS}


def test_rows_without_a_token_are_kept_and_never_predicted() -> None:
    made = bert(rows=12)
    assert made.size == 12 and made.suppressed == (PAD, BOS, MASK, 9, 10, 11)
    assert made.tokens([9]) == ["<row 9>"] and made.decode([9]) == ""
    with pytest.raises(CodecError, match="ids up to 8, and the table of the model has 8 rows"):
        bert(rows=8)


def test_suppressed_tokens_are_never_generated_save_the_end() -> None:
    made = HuggingFace(CodecConfig(), word_pieces().to_str(), BERT, len(WORDS), (0, 1, 3))
    assert made.suppressed == (PAD, BOS, UNK, MASK, 5)


def test_a_text_that_spells_special_tokens_neither_begins_nor_ends_by_it() -> None:
    assert ids(bert(), "sun [SEP] [CLS] sun") == [BOS, 5, UNK, UNK, 5, EOS]
    made = gpt()
    found = ids(made, f"a{END}b")
    assert min(found[1:-1]) >= FIRST and made.decode(found) == f"a{END}b"


def test_unknown_symbols_are_counted() -> None:
    encoded = bert().encode(Texts.of(["sun snow", "hail"]))
    assert encoded.unknown == 2 and encoded.ids.tolist() == [BOS, 5, UNK, EOS, BOS, UNK, EOS]
    assert bert().decode(encoded.ids) == "sun [UNK] [UNK]"


def test_long_texts_are_neither_cut_off_nor_filled_up() -> None:
    backend = word_pieces()
    backend.enable_truncation(4)
    backend.enable_padding(length=4, pad_id=7, pad_token="[PAD]")
    made = bert(backend=backend)
    assert ids(made, "sun") == [BOS, 5, EOS] and len(ids(made, "sun " * 50_000)) == 50_002
    assert made.text == backend.to_str()


@pytest.mark.parametrize("make", [bert, gpt])
def test_parts_of_a_sequence_encode_like_the_whole(make: type[HuggingFace]) -> None:
    made, text = make(), "the sun the rain"
    texts = Texts.of([text, text])
    left, right = texts.divided(1, len(text) + text.index(" the"))
    parts = [made.encode(part).ids for part in (left, right)]
    assert np.concatenate(parts).tolist() == ids(made, text, text)


@pytest.mark.parametrize("text", ["the test", "naïve “Zoë” — 狗", " two  spaces\n"])
def test_any_text_comes_back_from_bytes(text: str) -> None:
    made = gpt()
    assert made.decode(ids(made, text)) == text


def test_pieces_look_like_text() -> None:
    made = gpt()
    assert made.tokens(ids(made, "a t")) == ["<s>", "a", " t", "</s>"]
    pieces = bert()
    assert pieces.tokens(range(FIRST)) == list(SPECIALS) and pieces.decode([PAD, BOS, EOS, MASK]) == ""
    assert (pieces.tokens([8]), pieces.shown(8), pieces.decode([7, 8])) == (["##s"], "s", "fogs")
    with pytest.raises(CodecError, match="no id 9"):
        pieces.decode([9])


@pytest.mark.parametrize("make", [bert, gpt])
def test_saved_and_loaded_is_the_same(make: type[HuggingFace], tmp_path: Path) -> None:
    made = make()
    made.save(tmp_path)
    again = HuggingFace.load(tmp_path, made.config)
    assert (again.size, again.suppressed, again.fingerprint()) == (
        made.size,
        made.suppressed,
        made.fingerprint(),
    )
    assert again.tokens(range(again.size)) == made.tokens(range(made.size))
    assert ids(again, "the sun") == ids(made, "the sun")
    assert ids(again) == []


def test_it_cannot_be_learnt_and_says_where_it_comes_from() -> None:
    with pytest.raises(CodecError, match="chainrule import hf"):
        codec("huggingface").learn(lambda: [Texts.of(["a"])], CodecConfig())


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("roles.json", "{}", "wants roles and rows"),
        ("roles.json", '{"roles": {}, "rows": 9, "suppressed": [9]}', "wants roles and rows"),
        ("roles.json", '{"roles": {"eos": "<nowhere>"}, "rows": 9}', "'<nowhere>' as eos"),
        ("tokenizer.json", "{}", "tokenizer.json cannot be used"),
    ],
)
def test_damaged_files_are_refused(name: str, content: str, message: str, tmp_path: Path) -> None:
    bert().save(tmp_path)
    (tmp_path / name).write_text(content)
    with pytest.raises(CodecError, match=message):
        HuggingFace.load(tmp_path, CodecConfig())
