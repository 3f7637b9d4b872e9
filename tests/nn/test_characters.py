"""Words from their letters."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from chainrule.codecs.base import Texts
from chainrule.codecs.words import Words, WordsConfig
from chainrule.nn.characters import CharacterCNN, SpelledEmbedding
from chainrule.symbols import BYTE_LETTER, FIRST, LETTERS, NO_LETTER, WORD_BEGIN, WORD_END

TEXTS = Texts.of(["the cat sat", "the dog"])


def words(**settings: int) -> Words:
    return Words.learn(lambda: [TEXTS], WordsConfig(**settings))


def cnn() -> CharacterCNN:
    torch.manual_seed(0)
    return CharacterCNN(6, letter=4, filters=((1, 3), (3, 5)), highways=2).eval()


def test_a_word_is_spelled_by_its_bytes_between_two_marks() -> None:
    codec = words()
    [row] = codec.spellings(6, codec.size - 1)
    word = codec.token(codec.size - 1).encode()
    assert row.tolist() == [WORD_BEGIN, *(BYTE_LETTER + byte for byte in word), WORD_END, NO_LETTER]


def test_special_symbols_and_words_all_differ_in_spelling() -> None:
    table = words().spellings(8)
    assert table.shape == (words().size, 8) and table.max() < LETTERS
    assert len(np.unique(table, axis=0)) == len(table)
    assert np.array_equal(words().spellings(8, FIRST + 1), table[FIRST + 1 :])


def test_a_long_word_is_cut_and_still_ends() -> None:
    codec = Words.learn(lambda: [Texts.of(["abcdefgh"])], WordsConfig())
    [row] = codec.spellings(5, FIRST)
    assert row[-1] == WORD_END and row[1] == BYTE_LETTER + ord("a")


def test_a_codec_knows_the_words_of_more_data_whatever_its_limits() -> None:
    codec = words(min_count=2)
    wide = codec.knowing(lambda: [Texts.of(["the zebra"])])
    assert codec.size == FIRST + 1 and wide.tokens(range(FIRST, wide.size)) == ["the", "zebra"]
    assert wide.encode(Texts.of(["the"])).ids.tolist() == codec.encode(Texts.of(["the"])).ids.tolist()


def test_what_comes_after_the_end_of_a_word_changes_nothing() -> None:
    short, long = (torch.from_numpy(words().spellings(letters)) for letters in (5, 20))
    torch.testing.assert_close(cnn()(long), cnn()(short))
    torch.testing.assert_close(cnn()(long[-1:]), cnn()(long)[-1:])


def test_the_cnn_is_the_maximum_of_its_filters_over_the_word_as_torch_has_them() -> None:
    net, table = cnn(), torch.from_numpy(words().spellings(6))
    row = table[-1][table[-1] != NO_LETTER]  # one word, without padding
    vectors = net.embedding(row.long())  # (letters, E)
    parts = []
    for conv in net.filters:
        assert isinstance(conv, nn.Conv1d)
        wide = torch.cat([vectors, torch.zeros(conv.kernel_size[0] - 1, 4)])
        windows = wide.unfold(0, conv.kernel_size[0], 1).flatten(1)  # (letters, E w)
        parts.append((windows @ conv.weight.flatten(1).T + conv.bias).amax(0).relu())
    found = torch.cat(parts)
    for highway in net.highways:
        gate = torch.sigmoid(highway.gate(found))  # type: ignore[operator]
        found = gate * highway.transform(found).relu() + (1 - gate) * found  # type: ignore[operator]
    torch.testing.assert_close(net(table[-1:])[0], net.projection(found))


def test_words_beyond_the_vocabulary_are_read_by_their_letters() -> None:
    codec = words()
    table = SpelledEmbedding(cnn(), codec.size, 8)
    wide = codec.knowing(lambda: [Texts.of(["cats"])])
    table.spell(codec.spellings(8), wide.spellings(8, codec.size))
    found = table(torch.tensor([[codec.size, FIRST, codec.size]]))
    torch.testing.assert_close(found[0, 0], found[0, 2])
    torch.testing.assert_close(found[0, :2], cnn()(torch.from_numpy(wide.spellings(8))[[codec.size, FIRST]]))
    assert table.state_dict()["spellings"].shape == (codec.size, 8) and "more" not in table.state_dict()
