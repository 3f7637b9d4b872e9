"""Settings of training by gradient; those not given are chosen for the data and the budget."""

from __future__ import annotations

from dataclasses import dataclass

from chainrule.config import LARGEST_SEED, Config, flag, option
from chainrule.errors import ConfigError
from chainrule.models.sizing import EPOCHS
from chainrule.train.schedule import duration

TUNING = ("body_lr", "layer_lr_decay", "gradual_unfreezing")  # settings of --transfer tuned
# Settings of a model that say how it is trained, not what it is.
FREE = (
    "dropout",
    "embedding_dropout",
    "word_dropout",
    "weight_drop",
    "dropout_kind",
    "sampled_softmax",
    "bf16",
    "memory",
)
LENGTHS = ("budget", "epochs", "tokens", "steps")  # ways to say how long to train: one of them


@dataclass(frozen=True, kw_only=True)
class FitConfig(Config):
    """Settings of every fit, whatever is fitted."""

    refit: bool | None = option(
        None,
        "fit once more on everything after judging, held-out parts included; figures stay those of the judged model; "
        "not given: yes for models made by counting, no for those that learn by gradient",
    )
    merge: str | None = option(
        None,
        "with --from and a counting model: interpolate it with one of the new data, or add up counts of old and new "
        "data, which needs the old ones where they were; not given: interpolate",
        choices=("interpolate", "counts"),
    )
    extend_vocab: bool = option(False, "with --from: add the symbols of the new data to the vocabulary")
    transfer: str | None = option(
        None,
        "with --from and a new task: frozen weights under a new head, tuned with it, or fresh ones of the same sizes; "
        "not given: tuned",
        choices=("frozen", "tuned", "fresh"),
    )
    vectors: str | None = option(
        None,
        "word vectors to start from: a model made by fit --model vectors, or a file of word2vec or GloVe; with "
        "--transfer frozen they stay as they are; not given: tuned",
    )
    body_lr: float | None = option(
        None,
        "with --transfer tuned: rate of the body's highest layer, as a share of the head's; not given: 0.3, and "
        "0.03 for models of other programs",
        low=0.0,
        high=100.0,
    )
    layer_lr_decay: float = option(
        1.0,
        "with --transfer tuned, discriminative rates: that of a layer, as a share of that of the one above",
        low=0.0,
        high=1.0,
    )
    gradual_unfreezing: bool = option(
        False,
        "with --transfer tuned: the head learns alone at first, then layer after layer joins, the highest first",
    )
    unfreeze: int | None = option(
        None,
        "with --from: tune the output and so many of the last layers, freeze the others; not given: all",
        low=0,
        high=1000,
    )


@dataclass(frozen=True, kw_only=True)
class TrainConfig(Config):
    """Settings of the gradient learner; those left at None are chosen from the data and the budget."""

    budget: str | None = option(
        None,
        "how long the whole command may take, such as 90s, 10m or 1h: from its start until the model is saved, "
        "with reading, training and judging; the schedule adapts to the speed of the machine",
    )
    epochs: float | None = option(
        None, "how often to go through the data, instead of a budget", low=0, high=1e6
    )
    tokens: int | None = option(
        None,
        "how many tokens to train on, instead of a budget (5M); chosen: 20 epochs, at most 10M",
        low=1,
        high=10**15,
        chosen=True,
    )
    steps: int | None = option(
        None, "how many steps of the optimiser, instead of a budget", low=1, high=1_000_000_000
    )
    batch_size: int | None = option(
        None, "sequences or streams in a batch", low=1, high=1_000_000, chosen=True
    )
    accumulate: int = option(1, "gradient accumulation: batches that make one step", low=1, high=100_000)
    seq_len: int | None = option(
        None,
        "truncated BPTT length: over how many tokens gradients flow back",
        low=1,
        high=10_000_000,
        chosen=True,
    )
    lr: float | None = option(None, "peak learning rate", low=0, high=1000, chosen=True)
    clip_norm: float = option(
        1.0, "gradient clipping: the largest norm of the whole gradient; 0: none", low=0, high=1e9
    )
    weight_decay: float = option(0.01, "decoupled weight decay, as in AdamW", low=0, high=1000)
    optimizer: str = option(
        "adamw",
        "adamw, or muon for the matrices of attention layers; chosen: muon for Transformers",
        choices=("adamw", "muon"),
        chosen=True,
    )
    patience: int = option(
        8, "stop after so many validations without a better one; 0: never", low=0, high=1_000_000_000
    )
    average: bool = option(
        False, "use the average of the weights of the last quarter of the steps; chosen: for cnn", chosen=True
    )
    tensorboard: bool = option(False, "also write the run for TensorBoard, beside its checkpoints")
    shard: bool = option(
        False, "FSDP: shard weights, gradients and optimiser state over the processes of torchrun"
    )
    checkpoint_every: str = option("5m", "time between two checkpoints, such as 30s or 5m")
    keep: int = option(
        0,
        "models of the run to keep on the way, at most so many, for chainrule look --view training; 0: none",
        low=0,
        high=1000,
    )
    seed: int = option(1, "seed of initial weights, batches and dropout", low=0, high=LARGEST_SEED)

    def __post_init__(self) -> None:
        super().__post_init__()
        for text in (self.budget, self.checkpoint_every):
            if text is not None:
                duration(text)
        lengths = {name: getattr(self, name) for name in LENGTHS}
        given = [f"{flag(name)} {value}" for name, value in lengths.items() if value is not None]
        if len(given) > 1:
            raise ConfigError(
                f"How long to train is said more than once: {' and '.join(given)}. Give one of them."
            )
        if self.epochs == 0:
            raise ConfigError(
                "--epochs 0 would train nothing. Give a part of the data, such as 0.1, or more."
            )

    def asked_steps(self, epoch: int, symbols: int) -> int:
        """How many steps without a budget, if so many are an epoch and a step learns from so many symbols."""
        if self.tokens is not None:
            return max(1, round(self.tokens / max(1, symbols)))
        return self.steps or max(1, round((EPOCHS if self.epochs is None else self.epochs) * epoch))

    @property
    def peak(self) -> float:
        """The learning rate, where none was chosen."""
        return 0.003 if self.lr is None else self.lr

    @property
    def seconds(self) -> float | None:
        """The budget in seconds."""
        return None if self.budget is None else duration(self.budget)
