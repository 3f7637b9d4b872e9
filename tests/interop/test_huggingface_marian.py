"""Encoder-decoders in folders of Hugging Face: our Transformer is Marian, or Pegasus, on the same weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from chainrule.bundle import Bundle, load
from chainrule.cli import main
from chainrule.codecs.base import Texts
from chainrule.codecs.huggingface import HuggingFace
from chainrule.codecs.registry import codec as codec_class
from chainrule.errors import BundleError, ModelError
from chainrule.interop.huggingface import export_hf, import_hf
from chainrule.models.transformer import EncoderDecoderConfig, Transformer
from chainrule.store import tensors
from chainrule.symbols import BOS, EOS, FIRST, PAD, UNK
from chainrule.tasks.translate import Translate
from foreign import LINES, WRITERS, marian, rows, theirs, transformers

KIND = "AutoModelForSeq2SeqLM"
POSITIONS = "model.decoder.embed_positions.weight"


def trained(codec: str = "subwords", vocab: dict[str, Any] | None = None, **options: Any) -> Bundle:
    """A model of ours, whose weights are as good as any."""
    kind = codec_class(codec)
    made = kind.learn(lambda: [Texts.of(LINES)], kind.Config.from_values(vocab or {}))
    sizes = {"layers": 2, "encoder_layers": 1, "width": 16, "heads": 2, "context": 64, "norm": "post"}
    told = {"vocab_size": made.size, "suppressed": made.suppressed, **sizes, **options}
    model = Transformer.seeded(EncoderDecoderConfig(**told), 0)
    for one in model.parameters():
        one.data += 0.2 * torch.randn(one.shape, generator=torch.Generator().manual_seed(one.numel()))
    return Bundle({"source": made, "target": made}, model, Translate())


def logits(bundle: Bundle, sources: Tensor, targets: Tensor) -> Tensor:
    """(B, T, V) of ours, for sources with EOS and without BOS."""
    with bundle.model.inference():
        state = bundle.model.start(len(sources), sources)
        return bundle.model.logits(bundle.model.read(targets, state)[0])


def agree(bundle: Bundle, folder: Path, places: np.ndarray, within: float = 1e-4) -> None:
    """Ours say what theirs do of sources and targets of unequal length; `places` (V,) are the rows of our ids."""
    sources, targets = rows(bundle, *LINES)[:, 1:], rows(bundle, *LINES[::-1])[:, :-1]
    there = torch.from_numpy(places)
    ours = logits(bundle, sources, targets)
    with torch.no_grad():
        given = {"input_ids": there[sources], "attention_mask": (sources != PAD).long()}
        found = theirs(folder, KIND)(**given, decoder_input_ids=there[targets]).logits
    predicted = [one for one in range(bundle.codec.size) if one not in bundle.model.config.suppressed]
    real = targets != PAD
    wanted = found[..., there[predicted]][real]
    np.testing.assert_allclose(ours[..., predicted][real], wanted, atol=within)
    assert wanted.std() > 0.1


def places_of(size: int) -> np.ndarray:
    """Where the ids of a codec of ours go."""
    found = np.full(size, size - FIRST + 2)
    found[[EOS, UNK]] = 0, 1
    found[FIRST:] = np.arange(2, size - FIRST + 2)
    return found


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("scaled", [True, False])
def test_the_transformer_is_that_of_transformers_on_the_same_weights(
    kind: str, scaled: bool, tmp_path: Path
) -> None:
    folder = marian(tmp_path, kind, scale_embedding=scaled)
    bundle = import_hf(folder)
    assert isinstance(bundle.model, Transformer) and isinstance(bundle.codec, HuggingFace)
    assert bundle.card["notes"] == [] and bundle.task.name == "translate"
    agree(bundle, folder, bundle.codec.theirs)


@pytest.mark.parametrize("kind", WRITERS)
def test_there_and_back_nothing_has_changed(kind: str, tmp_path: Path) -> None:
    folder = marian(tmp_path, kind)
    import_hf(folder).save(tmp_path / "ours")
    assert export_hf(load(tmp_path / "ours"), tmp_path / "back") == ()
    before, after = (tensors.read(one / "model.safetensors") for one in (folder, tmp_path / "back"))
    assert set(before) == set(after)
    for name, array in before.items():
        np.testing.assert_allclose(after[name], array, atol=1e-6 if "positions" in name else 0.0)
    files = [json.loads((one / "tokenizer.json").read_text()) for one in (folder, tmp_path / "back")]
    assert files[0] == files[1]
    told = [json.loads((one / "config.json").read_text()) for one in (folder, tmp_path / "back")]
    assert all(
        told[0].get(name, value) == value for name, value in told[1].items() if name != "activation_function"
    )


CODECS = {
    "bytes": {},
    "characters": {},
    "words": {"min_count": 2},
    "subwords": {"vocab": 280},
    "subwords ": {"vocab": 280, "kind": "unigram"},
}


@pytest.mark.parametrize("codec", CODECS)
def test_our_own_model_says_the_same_there_and_when_it_comes_back(codec: str, tmp_path: Path) -> None:
    bundle = trained(codec.strip(), CODECS[codec], norm="pre" if codec == "words" else "post")
    assert export_hf(bundle, tmp_path / "out") == ()
    agree(bundle, tmp_path / "out", places_of(bundle.codec.size))
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    again = import_hf(tmp_path / "out")
    texts = [*LINES, "an unseen ŵord\tand\n\x0b more"]
    for text in texts:
        ids = bundle.codec.encode(Texts.of([text])).ids
        assert tokenizer(text)["input_ids"] == places_of(bundle.codec.size)[ids[1:]].tolist()
        back = again.codec.encode(Texts.of([text])).ids
        assert again.codec.theirs[back[1:]].tolist() == tokenizer(text)["input_ids"]  # type: ignore[attr-defined]
    agree(again, tmp_path / "out", again.codec.theirs)
    for ours, other in zip(bundle.translate(texts, beam=2), again.translate(texts, beam=2), strict=True):
        assert ours.choices[0].log2prob == pytest.approx(other.choices[0].log2prob, abs=1e-3)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_searching_there_finds_what_is_found_here(norm: str, tmp_path: Path) -> None:
    bundle = trained(vocab={"vocab": 280}, norm=norm)
    export_hf(bundle, tmp_path / "out")
    tokenizer, model = (
        transformers.AutoTokenizer.from_pretrained(tmp_path / "out"),
        theirs(tmp_path / "out", KIND),
    )
    given = tokenizer(LINES, return_tensors="pt", padding=True)
    found = model.generate(**given, do_sample=False, max_new_tokens=9)
    texts = tokenizer.batch_decode(found, skip_special_tokens=True)
    ours = bundle.translate(LINES, temperature=0, length=8)
    assert [one.text for one in ours] == [one.strip() for one in texts]


def test_what_is_trained_after_an_import_goes_back(tmp_path: Path) -> None:
    bundle = import_hf(marian(tmp_path))
    bundle.model.embedding.weight.data[BOS] += 0.5  # type: ignore[union-attr]
    export_hf(bundle, tmp_path / "out")
    assert POSITIONS in tensors.read(tmp_path / "out/model.safetensors")
    agree(bundle, tmp_path / "out", bundle.codec.theirs)  # type: ignore[attr-defined]
    agree(import_hf(tmp_path / "out"), tmp_path / "out", bundle.codec.theirs)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("options", "wish"),
    [
        ({"positions": "rotary"}, "--positions sinusoidal"),
        ({"tied": "no"}, "--tied auto"),
        ({"source_size": 30}, "--shared-vocab"),
        ({"epsilon": 1e-6}, "--epsilon 1e-05"),
        ({"width": 15, "heads": 3}, "even --width"),
    ],
)
def test_what_their_format_cannot_say_is_refused(options: dict[str, Any], wish: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=wish):
        export_hf(trained(**options), tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"share_encoder_decoder_embeddings": False}, "share_encoder_decoder_embeddings"),
        ({"tie_word_embeddings": False}, "tie_word_embeddings"),
        ({"decoder_attention_heads": 4}, "decoder_attention_heads is 4"),
        ({"decoder_start_token_id": None}, "decoder_start_token_id"),
        ({"decoder_start_token_id": 99999}, "decoder_start_token_id"),
        ({"normalize_before": True}, "normalize_before"),
        ({"activation_function": "mish"}, "mish"),
        ({"decoder_layers": 3}, "lacks model.decoder.layers.2"),
        ({"d_model": 1 << 30}, "d_model"),
    ],
)
def test_folders_that_cannot_be_represented_are_refused(
    change: dict[str, Any], said: str, tmp_path: Path
) -> None:
    folder = marian(tmp_path)
    values = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(values | change))
    with pytest.raises(BundleError, match=said):
        import_hf(folder)


def rewritten(folder: Path, **more: np.ndarray) -> Path:
    """The folder with other tensors; dots in names are written as two underscores."""
    held = {name: np.array(array) for name, array in tensors.read(folder / "model.safetensors").items()}
    held |= {name.replace("__", "."): array for name, array in more.items()}
    tensors.write(folder / "model.safetensors", held)
    return folder


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"model__encoder__embed_positions__weight": np.ones((64, 16), np.float32)}, "no sinusoids"),
        ({"model__decoder__embed_positions__weight": np.ones(64, np.float32)}, "shape"),
        ({"lm_head__weight": np.ones((282, 16), np.float32)}, "different tables"),
        ({"final_logits_bias": np.ones((1, 3), np.float32)}, "final_logits_bias has the shape"),
        ({"model__shared__weight": np.ones(3, np.float32)}, "model.shared.weight has the shape"),
    ],
)
def test_tensors_that_do_not_belong_together_are_refused(
    more: dict[str, np.ndarray], said: str, tmp_path: Path
) -> None:
    with pytest.raises(BundleError, match=said):
        import_hf(rewritten(marian(tmp_path), **more))


def test_a_folder_with_a_sentencepiece_file_only_says_what_is_missing(tmp_path: Path) -> None:
    folder = marian(tmp_path)
    (folder / "tokenizer.json").rename(folder / "source.spm")
    with pytest.raises(BundleError, match=r"source\.spm is a file of SentencePiece, which is not read"):
        import_hf(folder)


def test_the_command_imports_translates_and_exports(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, ours = marian(tmp_path), str(tmp_path / "ours")
    assert main(["import", "hf", str(folder), "-o", ours]) == 0
    assert main(["translate", ours, LINES[0]]) == 0
    assert main(["export", "hf", ours, str(tmp_path / "back")]) == 0
    assert "transformer" in capsys.readouterr().out
