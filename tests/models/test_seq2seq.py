"""Recurrent encoder-decoders: every form keeps the laws of reading, bugs are caught, odd settings refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from chainrule.errors import ConfigError, ModelError
from chainrule.models.seq2seq import Seq2Seq, Seq2SeqConfig
from chainrule.nn.alignment import Alignment, AlignmentHistory, AttendedSource
from chainrule.nn.attentive import AttentiveDecoder
from chainrule.nn.tap import listening, replacing
from chainrule.symbols import BOS, EOS, PAD, PADDING
from chainrule.use.align import alignments
from laws import laws
from laws.case import Case, teach, tiny_sources
from laws.laws import Law

BIASED = {"diagonal_bias": True, "jump_bias": True, "fertility_bias": True}
FORMS: dict[str, dict[str, Any]] = {
    "additive": {"attention": "additive", "cell": "gru"},
    "lecture": {"attention": "lecture", "cell": "rnn", "source_vectors": "embeddings", **BIASED},
    "dot": {"attention": "dot", "bidirectional": False, "layers": 2, "cell": "gru", **BIASED},
    "input feeding": {"attention": "general", "input_feeding": True, "layers": 2, "encoder_layers": 1},
    "no attention": {"attention": "none", "layers": 2, "encoder_width": 6},
    "every step": {"attention": "none", "summary": "every-step", "cell": "gru"},
    "transformer": {"attention": "general", "encoder": "transformer", "heads": 2, "encoder_layers": 2},
}
READING: list[Law] = [
    laws.law_03_reading_in_chunks_equals_reading_at_once,
    laws.law_04_a_later_symbol_changes_no_earlier_prediction,
    laws.law_05_rows_are_independent,
    laws.law_06_padding_changes_nothing,
    laws.law_07_select_commutes_with_reading,
    laws.law_09_every_beam_total_equals_the_score,
    laws.law_12_saved_and_loaded_gives_the_same_numbers,
    laws.law_14_the_fast_path_equals_the_slow_path,
]


def made(**settings: Any) -> Seq2Seq:
    """Larger weights than at the beginning of a training, so that differences are seen."""
    model = Seq2Seq.seeded(Seq2SeqConfig(**{"vocab_size": 9, "source_size": 9, "width": 8, **settings}), 0)
    torch.manual_seed(1)
    for value in model.parameters():
        nn.init.normal_(value, std=0.6)
    return model


def case(form: str) -> Case:
    return Case(form, lambda: made(**FORMS[form]), teach, tiny_sources)


@pytest.mark.parametrize("law", READING, ids=lambda law: law.__name__)
@pytest.mark.parametrize("form", FORMS)
def test_the_law_is_kept(form: str, law: Law) -> None:
    law(case(form))


def test_an_answer_does_not_depend_on_its_neighbours_with_everything_that_is_remembered() -> None:
    settings = {"attention": "additive", "input_feeding": True, **BIASED}
    laws.law_15_an_answer_does_not_depend_on_its_neighbours(
        Case("everything", lambda: made(**settings), teach, tiny_sources)
    )


SEVERAL = {"source_kinds": ("symbols", "frames"), "source_sizes": (9, 3), "source_strides": (1, 2)}


def sentences_and_frames(rows: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Ids (B, S) beside frames (B, S, 3), both of unequal length."""
    frames = [torch.randn(2 + row % 4, 3, generator=torch.Generator().manual_seed(row)) for row in rows]
    return tiny_sources(rows), nn.utils.rnn.pad_sequence(frames, True, PADDING)


@pytest.mark.parametrize("encoder", ["recurrent", "transformer"])
def test_several_sources_of_any_kind_are_read_row_by_row(encoder: str) -> None:
    settings = SEVERAL | {"encoder": encoder, "heads": 2, "attention": "general"}
    several = Case("several", lambda: made(**settings), teach, sentences_and_frames)
    for law in (laws.law_05_rows_are_independent, laws.law_07_select_commutes_with_reading):
        law(several)
    model, (ids, frames) = several.make(), sentences_and_frames([0, 1])
    hidden, _ = model.read(TOKENS, model.start(2, (ids, frames)))
    other, _ = model.read(TOKENS, model.start(2, (ids, frames.roll(1, 2).clone())))
    assert not torch.allclose(hidden, other), "the frames change nothing"


def padding_seen(self: Alignment, scores: Tensor, source: AttendedSource) -> Tensor:
    """Padding of the source is attended to."""
    return scores.softmax(-1)


def looking_ahead(self: Alignment, queries: Tensor, source: AttendedSource) -> Tensor:
    """The context is that of the next symbol."""
    return queries.roll(-1, 1) @ source.keys.transpose(1, 2)


def looking_back(self: Alignment, queries: Tensor, source: AttendedSource) -> Tensor:
    """The context is that of the symbol before, as long as it is read together with this one."""
    return queries[:, [0, *range(queries.shape[1] - 1)]] @ source.keys.transpose(1, 2)


def padding_counted(self: AlignmentHistory, weights: Tensor, lengths: Tensor | None) -> AlignmentHistory:
    """What padding of the target looked at counts, too."""
    count = self.count + weights.shape[1]
    return AlignmentHistory(count, weights[:, -1], self.covered + weights.sum(1))


def nothing_fed(self: AttentiveDecoder, *args: Any) -> Any:
    """What was read out is forgotten between chunks."""
    return ATTENTIVE(self, args[0], BEGUN(self, args[1].memories, args[2]), *args[2:])


ATTENTIVE, BEGUN = AttentiveDecoder.forward, AttentiveDecoder.start
BUGS: list[tuple[type, str, Callable[..., Any], str, Law]] = [
    (Alignment, "_weights", padding_seen, "transformer", laws.law_05_rows_are_independent),
    (
        Alignment,
        "_scores",
        looking_ahead,
        "transformer",
        laws.law_04_a_later_symbol_changes_no_earlier_prediction,
    ),
    (Alignment, "_scores", looking_back, "transformer", laws.law_03_reading_in_chunks_equals_reading_at_once),
    (AlignmentHistory, "after", padding_counted, "dot", laws.law_06_padding_changes_nothing),
    (
        AttentiveDecoder,
        "forward",
        nothing_fed,
        "input feeding",
        laws.law_03_reading_in_chunks_equals_reading_at_once,
    ),
]


@pytest.mark.parametrize(("place", "name", "bug", "form", "law"), BUGS, ids=[one[2].__name__ for one in BUGS])
def test_a_deliberate_bug_is_caught(
    place: type, name: str, bug: Callable[..., Any], form: str, law: Law, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place, name, bug)
    with pytest.raises(AssertionError):
        law(case(form))


SOURCES = torch.tensor([[5, 6, 7, 8, EOS], [6, EOS, PAD, PAD, PAD]])
TOKENS = torch.tensor([[BOS, 5, 8, 8], [BOS, 7, PAD, PAD]])


@pytest.mark.parametrize("form", [name for name in FORMS if FORMS[name]["attention"] != "none"])
def test_attention_is_told_and_never_at_padding(form: str) -> None:
    model = made(**FORMS[form])
    found = alignments(model, TOKENS, model.start(2, SOURCES))
    assert found.shape == (2, 4, 5) and not found[1, :, 2:].any()
    torch.testing.assert_close(found.sum(2), torch.ones(2, 4))


def test_without_attention_there_is_no_alignment() -> None:
    model = made(attention="none")
    with pytest.raises(ModelError, match="no alignment"):
        alignments(model, TOKENS, model.start(2, SOURCES))


@pytest.mark.parametrize("form", ["additive", "dot", "transformer"])
def test_attention_can_be_replaced(form: str) -> None:
    """By looking at the end only: then what stands elsewhere matters to the first memory at most."""
    model = made(**FORMS[form])

    def at_the_end(weights: Tensor) -> Tensor:
        return torch.zeros_like(weights).index_fill(2, torch.tensor([weights.shape[2] - 1]), 1.0)

    with replacing(model, "decoder.attention.weights", at_the_end), torch.no_grad():
        start = model.start(1, SOURCES[:1])
        with listening(model, "decoder.attention.weights") as heard:
            model.read(TOKENS[:1], start)
    assert torch.equal(torch.cat(heard["decoder.attention.weights"], 1)[0, :, -1], torch.ones(4))


def test_layers_and_gates_are_told_and_hearing_changes_nothing() -> None:
    for form in ("additive", "transformer"):
        model = made(**FORMS[form])
        with torch.no_grad():
            quiet, _ = model.read(TOKENS, model.start(2, SOURCES))
            with listening(model) as heard:
                told, _ = model.read(TOKENS, model.start(2, SOURCES))
        torch.testing.assert_close(told[TOKENS != PAD], quiet[TOKENS != PAD])
        names = {"source", "embeddings", "decoder.layers.0.hidden", "decoder.attention.weights"}
        gate = "decoder.layers.0.gates.update" if form == "additive" else "decoder.layers.0.gates.forget"
        assert names | {gate} <= set(heard) and heard[gate][0].shape == (2, 4, 8)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"attention": "none", "input_feeding": True}, "--input-feeding"),
        ({"attention": "general", "summary": "every-step"}, "--attention none"),
        ({"attention": "dot", "encoder_width": 6}, "--attention general"),
        ({"attention": "dot", "source_vectors": "embeddings", "embedding": 4}, "--attention general"),
        ({"width": 7}, "multiple of 2"),
        ({"encoder": "transformer", "heads": 3}, "multiple of 6"),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        made(**settings)


def test_the_gradient_reaches_everything() -> None:
    for form, settings in FORMS.items():
        model = made(**settings)
        hidden, _ = model.read(TOKENS, model.start(2, SOURCES))
        model.cross_entropy(hidden, torch.tensor([[5, 8, 8, EOS], [7, EOS, PAD, PAD]])).backward()
        still = [name for name, one in model.named_parameters() if one.grad is None or not one.grad.any()]
        assert not still, f"{form}: {still}"


@pytest.mark.parametrize("form", FORMS)
def test_eight_bits_say_nearly_the_same(form: str) -> None:
    model = made(**FORMS[form])
    with torch.no_grad():
        (whole, _), (eight, _) = (
            one.read(TOKENS, one.start(2, SOURCES)) for one in (model, model.compressed())
        )
    close = (whole - eight).abs()[TOKENS != PAD].mean()
    assert close < 0.05 * whole.abs().mean()


def test_it_learns_to_turn_sequences_round() -> None:
    """Reversing needs the whole source, from its end."""
    model = Seq2Seq.seeded(Seq2SeqConfig(vocab_size=11, width=32, attention="general"), 0)
    generator = torch.Generator().manual_seed(0)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(250):
        forward = torch.randint(5, 11, (32, 6), generator=generator)
        loss = reversing_loss(model, forward)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        assert float(reversing_loss(model, torch.randint(5, 11, (64, 6), generator=generator))) < 0.1


def reversing_loss(model: Seq2Seq, forward: Tensor) -> Tensor:
    """Nats per symbol of sources (B, S), read from the end."""
    wanted = nn.functional.pad(forward.flip(1), (0, 1), value=EOS)
    tokens = nn.functional.pad(wanted[:, :-1], (1, 0), value=BOS)
    hidden, _ = model.read(tokens, model.start(len(forward), forward))
    return model.cross_entropy(hidden, wanted) / wanted.numel()
