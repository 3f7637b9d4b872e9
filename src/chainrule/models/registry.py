"""Which families there are. A family is one file (or small room) that calls `@register("name")`."""

from __future__ import annotations

from chainrule.models.base import Body
from chainrule.registry import Registry

BUILT_IN: dict[str, tuple[str, str]] = {
    "majority": ("chainrule.models.majority", "always the most frequent label; what others must beat"),
    "most-frequent-tag": (
        "chainrule.models.most_frequent_tag",
        "of every word the tag it had most often; what taggers must beat",
    ),
    "bag": ("chainrule.models.bag", "bag of word and character n-grams, linear (NB-SVM); trained in seconds"),
    "class-ngram": (
        "chainrule.models.class_ngram",
        "an n-gram for every label, and Bayes' rule; class-lstm and class-gpt: networks instead",
    ),
    "cnn": ("chainrule.models.cnn", "CNN over words with max pooling (Kim 2014)"),
    "vectors": (
        "chainrule.models.vectors",
        "word vectors: skip-gram, CBOW, GloVe, with sub-words if wanted; for similar, analogy and as a start",
    ),
    "cache": ("chainrule.models.cache", "unigram cache: recent symbols become more probable; for mix"),
    "dynamic": (
        "chainrule.models.dynamic",
        "dynamic evaluation: a model that learns from the text it scores; made by score or mix --dynamic",
    ),
    "neural-cache": (
        "chainrule.models.neural_cache",
        "neural cache (Grave et al. 2017): a model and a cache over its hidden states; made by --neural-cache",
    ),
    "mix": ("chainrule.models.mix", "ensemble: weighted mean of several models; made by chainrule mix"),
    "ensemble": (
        "chainrule.models.ensemble",
        "ensemble of classifiers, taggers or regressors: weighted mean of their answers; made by chainrule mix",
    ),
    "ngram": (
        "chainrule.models.ngram",
        "n-gram: smoothed counts (Kneser-Ney and others), trained in seconds",
    ),
    "window": (
        "chainrule.models.window",
        "feed-forward network over the last n symbols (Bengio et al. 2003)",
    ),
    "rnn": ("chainrule.models.rnn", "RNN: plain recurrent network (Elman), tanh or ReLU"),
    "lstm": ("chainrule.models.lstm", "LSTM: recurrent network with gated memory; strong on little text"),
    "gru": ("chainrule.models.gru", "GRU: recurrent network with two gates, fewer weights than an LSTM"),
    "gpt": ("chainrule.models.gpt", "GPT: causal Transformer decoder, attends to all symbols before"),
    "transformer": (
        "chainrule.models.transformer",
        "Transformer: an encoder reads the source, a decoder that attends to it writes (Vaswani et al. 2017)",
    ),
    "ibm1": (
        "chainrule.models.ibm1",
        "IBM model 1: which word translates which, by EM; what translators must beat, and word alignment",
    ),
    "copy": ("chainrule.models.copy", "copy: the source once more; what translators must beat"),
    "seq2seq": (
        "chainrule.models.seq2seq",
        "recurrent encoder-decoder: a source is read, with attention (Bahdanau, Luong) or without (Sutskever, Cho)",
    ),
    "elmo": (
        "chainrule.models.elmo",
        "ELMo: forward and backward LSTM language models over words read by their letters",
    ),
    "bert": ("chainrule.models.bert", "BERT: bidirectional Transformer encoder, predicts masked symbols"),
}
CLASS = "class-"  # before the name of a family of language models: one of them for every label
COMPOSED = {CLASS: ("chainrule.models.class_lm", "class_family")}
FAMILIES = Registry[Body]("model family", BUILT_IN, "family", COMPOSED)
register, family, families = FAMILIES.register, FAMILIES.find, FAMILIES.names
