"""Names that other tools have for what is here: understood, and pointed out.

PyTorch, Hugging Face, scikit-learn, KenLM and others call the same thing `hidden_size`, `d_model` or `n_embd`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from chainrule.errors import ConfigError, near

SLIP = 0.8  # how much a misspelt name is like the right one
_LONGEST = ("max_len", "max_length", "max_seq_len", "max_seq_length", "max_sequence_length")
# Our name of a setting, and those of others. One that stands in several rows is the first that a command has.
_SETTINGS: Mapping[str, tuple[str, ...]] = {
    "lr": ("learning_rate", "learn_rate", "max_lr", "peak_lr"),
    "batch_size": ("batch", "bs", "bsz", "minibatch_size", "per_device_train_batch_size", "train_batch_size"),
    "epochs": ("epoch", "num_epochs", "n_epochs", "max_epochs", "num_train_epochs"),
    "layers": ("num_layers", "n_layers", "n_layer", "nlayers", "num_hidden_layers", "depth"),
    "embedding": (
        "embedding_size",
        "embedding_dim",
        "embed_dim",
        "embed_size",
        "emb_dim",
        "emb_size",
        "emsize",
    ),
    "width": (
        *("hidden_size", "hidden_dim", "hidden_units", "hidden", "nhid", "n_hid", "rnn_size", "units"),
        *(
            "d_model",
            "dmodel",
            "model_dim",
            "n_embd",
            "num_units",
            "embedding_size",
            "embedding_dim",
            "embed_dim",
        ),
    ),
    "heads": ("num_heads", "n_heads", "n_head", "nhead", "nheads", "num_attention_heads", "attention_heads"),
    "ffn_width": (
        "intermediate_size",
        "d_ff",
        "ffn_dim",
        "ffn_size",
        "dim_feedforward",
        "n_inner",
        "mlp_dim",
    ),
    "context": (
        *("block_size", "context_length", "context_size", "n_ctx", "n_positions", "max_position_embeddings"),
        *_LONGEST,
    ),
    "seq_len": ("bptt", "bptt_len", "sequence_length", "seq_length", "seqlen", "num_steps", *_LONGEST),
    "length": ("max_new_tokens", "max_tokens", "num_tokens", "n_predict", *_LONGEST),
    "dropout": ("dropout_rate", "dropout_prob", "drop_rate", "hidden_dropout_prob"),
    "tied": ("tie_weights", "tie_embeddings", "tie_word_embeddings", "tie_word_embedding", "weight_tying"),
    "weight_decay": ("wd", "l2"),
    "clip_norm": ("grad_clip", "gradient_clip", "max_grad_norm", "clip_grad", "clip_grad_norm", "max_norm"),
    "accumulate": (
        "gradient_accumulation_steps",
        "grad_accum",
        "accumulate_grad_batches",
        "accumulation_steps",
    ),
    "label_smoothing": ("label_smoothing_factor",),
    "mask_prob": ("mlm_probability", "mlm_prob", "masking_prob"),
    "whole_words": ("whole_word_mask", "whole_word_masking"),
    "patience": ("early_stopping", "early_stopping_patience"),
    "optimizer": ("optimiser", "optim"),
    "tokens": ("max_tokens", "num_train_tokens"),
    "seed": ("random_seed", "random_state"),
    "order": ("n", "ngram", "ngram_order", "n_gram"),
    "vocab": ("vocab_size", "vocabulary_size", "max_vocab", "max_vocab_size", "max_features", "limit_vocab"),
    "min_count": ("min_freq", "min_frequency", "mincount", "unk_threshold"),
    "column": ("text_column", "field", "text_field"),
    "pair": ("text_pair", "text_b", "pair_column"),
    "output": ("output_dir", "out", "out_dir", "save", "save_dir"),
    "model": ("arch", "architecture", "model_type", "family"),
    "codec": ("tokenizer", "tokeniser", "tokenization"),
    "valid": ("validation", "validation_file", "val", "valid_file", "dev", "eval_file"),
    "test": ("test_file",),
    "force": ("overwrite", "overwrite_output_dir"),
    "resume": ("resume_from_checkpoint", "continue"),
    "beam": ("num_beams", "beam_size", "beam_width"),
    "count": ("num_return_sequences", "num_samples", "n_samples"),
    "stop": ("stop_sequence", "stop_sequences", "stop_strings"),
    "pooling": ("pool", "pooling_mode", "pooling_strategy"),
    "normalise": ("normalize", "normalize_embeddings"),
    "file": ("input", "input_file"),
}
# Words that may be tried for a setting. They may mean other things too, so they are suggested, not understood.
_HINTS: Mapping[str, tuple[str, ...]] = {
    "lr": ("rate", "learning"),
    "batch_size": ("rows", "batches"),
    "seq_len": ("span",),
    "weight_decay": ("decay",),
    "clip_norm": ("clip",),
    "checkpoint_every": ("minutes", "save_every", "save_steps"),
    "budget": ("time", "max_time", "hours"),
    "sampled_softmax": ("samples",),
    "stateful": ("carry",),
    "bf16": ("coarse", "fp16", "half", "amp"),
    "init": ("start",),
    "ffn_width": ("inner",),
}
_NAMES = {
    "gpt": ("gpt2", "gpt-2", "nanogpt", "decoder-only"),
    "ngram": ("n-gram", "n_gram", "ngrams", "kenlm", "kneser-ney"),
    "rnn": ("elman", "simple-rnn"),
    "window": ("mlp", "feed-forward", "feedforward", "nnlm"),
    "characters": ("character", "char", "chars", "letters"),
    "bytes": ("byte",),
    "words": ("word", "whitespace"),
    "subwords": ("subword", "bpe", "sentencepiece", "wordpiece"),
    "next": ("lm", "clm", "causal", "causal-lm", "language-modeling", "language-modelling"),
    "masked": ("mlm", "masked-lm", "fill-mask"),
}
VERBS: Mapping[str, str] = {
    **dict.fromkeys(("train", "learn", "estimate", "lmplz", "finetune", "fine-tune"), "fit"),
    **dict.fromkeys(("evaluate", "eval", "perplexity", "ppl", "query", "judge"), "score"),
    **dict.fromkeys(("sample", "write", "predict", "decode"), "generate"),
    **dict.fromkeys(("autocomplete", "suggest"), "complete"),
    **dict.fromkeys(("rerank", "rescore"), "rank"),
    **dict.fromkeys(("fill-mask", "mask", "unmask"), "fill"),
    **dict.fromkeys(("encode", "vectors", "embeddings", "features"), "embed"),
    **dict.fromkeys(("benchmark", "choose", "race", "search", "tune"), "compare"),
    **dict.fromkeys(("interpolate", "ensemble", "merge"), "mix"),
    **dict.fromkeys(("list", "families", "codecs", "options", "settings"), "models"),
    **dict.fromkeys(("info", "describe", "inspect", "summary"), "show"),
    **dict.fromkeys(("stats", "analyze", "analyse", "data"), "check"),
    **dict.fromkeys(("convert", "save"), "export"),
    **dict.fromkeys(("load", "download"), "import"),
}


def our_name(name: str, known: Collection[str]) -> str | None:
    """What a setting of another tool is called here, if that is among those `known`."""
    return next((ours for ours in our_names(name) if ours in known), None)


def our_names(name: str) -> list[str]:
    """Every setting that may be meant, the likeliest first."""
    return [ours for ours, theirs in _SETTINGS.items() if name in theirs]


def hinted(name: str) -> list[str]:
    """Settings that such a word may be tried for."""
    return [ours for ours, words in _HINTS.items() if name in words]


def their_names() -> list[str]:
    """Every name of a setting that other tools have."""
    return [name for theirs in _SETTINGS.values() for name in theirs]


def words_for(known: Collection[str]) -> dict[str, str]:
    """Every other word for a setting of those `known`: names of other tools, and words that may be tried."""
    hints = {word: ours for ours, words in _HINTS.items() if ours in known for word in words}
    return hints | {name: ours for name in their_names() if (ours := our_name(name, known))}


def elsewhere(name: str) -> str:
    """A sentence about a setting that exists, but not for this model or call."""
    words = {**words_for({*_SETTINGS, *_HINTS}), **{one: one for one in (*_SETTINGS, *_HINTS)}}
    found = near(name, words, SLIP)
    return f"{words[found[0]]!r} is a setting of other models or calls." if found else ""


def our_spelling(name: str, known: Collection[str]) -> str:
    """A family, codec or task as it is called here: `LSTM` is `lstm`, `GPT-2` is `gpt`; others stay as they are."""
    if not isinstance(name, str):
        raise ConfigError(
            f"A name such as {next(iter(known))} is wanted, and a {type(name).__name__} came: {name!r}."
        )
    plain = name.lower()
    meant = next((ours for ours, theirs in _NAMES.items() if plain in theirs), plain)
    return meant if meant in known else name
