"""Softmax output: logits, cross-entropy and sampled softmax, without ever holding all logits.

With a large vocabulary most of a small model's work is here. So logits are made for some rows at a time, and while
they are in the cache they become probabilities, then gradients, in the same buffer: (N, V) is never held and
nothing is computed twice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from chainrule.nn import tap
from chainrule.nn.int8 import Matrix
from chainrule.nn.product import linear
from chainrule.symbols import PAD

CHUNK = 16 << 20  # bytes of logits held at once: they stay in the cache, and products are still large
LINE = 16  # numbers in a cache line
FEWEST = 32  # rows at least, or products become slow; only vocabularies above 65 thousand feel it
BLOCK = 128  # rows and sampled symbols are filled up to a multiple of so many
START = 0.1  # weights begin between -START and START


class SoftmaxOutput(nn.Module):
    """Logits, exact loss and sampled loss over one vocabulary; the weight may be an embedding's own."""

    weight: nn.Parameter  # (V, D)
    bias: Tensor  # (V,)
    suppressed: Tensor  # (V,)
    proposal: Tensor  # (V,)

    def __init__(
        self,
        width: int,
        vocab_size: int,
        suppressed: Sequence[int] = (),
        weight: Tensor | None = None,
        bias: bool = True,
    ) -> None:
        super().__init__()
        fresh = torch.empty(vocab_size, width).uniform_(-START, START) if weight is None else weight
        self.weight = fresh if isinstance(fresh, nn.Parameter) else nn.Parameter(fresh)
        if bias:
            self.bias = nn.Parameter(torch.zeros(vocab_size))
        else:
            self.register_buffer("bias", torch.zeros(vocab_size), persistent=False)
        mask = torch.zeros(vocab_size, dtype=torch.bool)
        mask[list(suppressed)] = True
        self.register_buffer("suppressed", mask, persistent=False)
        self.register_buffer("proposal", _zipf(mask), persistent=False)
        self.small: Matrix | None = None  # the weight in eight bits
        self._chances: dict[int, Tensor] = {}  # by number of samples; only saves work

    def compress(self) -> None:
        """Answer with weights in eight bits from now on."""
        self.small = Matrix(self.weight.detach())

    def logits(self, hidden: Tensor) -> Tensor:
        """(…, D) -> (…, V), -inf for symbols that are never predicted."""
        return tap.tell(self, "logits", self._product(hidden, self._suppressed_bias()))

    def loss(
        self, hidden: Tensor, targets: Tensor, label_smoothing: float = 0.0, bf16: bool = False
    ) -> Tensor:
        """The sum of -log p, in nats, of targets (N,) after hidden (N, D), those that are PAD left out.

        Label smoothing spreads a share of each target evenly over all symbols that can be predicted. `bf16` is for
        training: products in bfloat16, more than twice as fast where the machine has such products. Who listens to
        logits hears those of the targets that are no PAD, here and in `score`, and makes them be held all at once.
        """
        hidden, targets = _real(hidden, targets)
        share = (~self.suppressed).to(hidden.dtype)  # (V,)
        share *= label_smoothing / share.sum()
        if tap.is_tapped(self, "logits"):
            wanted, all_of_them = self._logs(hidden, targets)
            return -(1.0 - label_smoothing) * wanted.sum() - (all_of_them @ share).sum()
        how = (label_smoothing, bf16, torch.is_grad_enabled())
        found: Tensor = _Fused.apply(hidden, self.weight, self._suppressed_bias(), targets, share, *how)  # type: ignore[no-untyped-call]
        return found

    def score(self, hidden: Tensor, targets: Tensor) -> Tensor:
        """Log-probability (N,) of each target, 0 where it is PAD; without gradients."""
        found = torch.zeros(targets.shape, dtype=hidden.dtype, device=hidden.device)
        real = torch.nonzero(targets != PAD).squeeze(1)  # (R,)
        hidden, targets = _real(hidden, targets)  # (R, D), (R,)
        with torch.no_grad():
            if tap.is_tapped(self, "logits"):
                found[real] = self._logs(hidden, targets)[0]
                return found
            bias, most = (
                self._suppressed_bias(),
                max(FEWEST, CHUNK // (len(self.weight) * hidden.element_size())),
            )
            for rows in torch.split(torch.arange(len(hidden), device=hidden.device), most):
                logits = self._product(hidden[rows], bias)  # (n, V)
                wanted = logits.gather(1, targets[rows, None]).squeeze(1)  # (n,)
                found[real[rows]] = wanted - _normalise(logits)
        return found

    def sampled_loss(
        self,
        hidden: Tensor,
        targets: Tensor,
        samples: int,
        bf16: bool = False,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """As `loss`, but each target is told apart from about `samples` other symbols only; for training.

        Every symbol is among them by a chance of its own, independently, and the same ones serve all rows. What
        is modelled is then exactly p(target | it or a drawn symbol): logits minus the logarithm of the chance
        (the expected count), so the best answer is the one the full loss has.
        """
        hidden, targets, labels = _filled(*_real(hidden, targets))
        chance = self.chances(samples)  # (V,)
        uniform = torch.rand(chance.shape, generator=generator, device=chance.device)
        drawn = torch.nonzero(uniform < chance).squeeze(1)  # (S,)
        fill = -len(drawn) % BLOCK
        ids = torch.cat([targets, drawn, drawn.new_zeros(fill)])  # (N + S,)
        own, others = torch.split(F.embedding(ids, self.weight), [len(targets), len(drawn) + fill])
        shift = self.bias - chance.log()  # (V,)
        right = (hidden * own).sum(1) + shift[targets]  # (N,)
        with torch.autocast(hidden.device.type, torch.bfloat16, enabled=bf16):
            product = torch.mm(hidden, others.t())  # (N, S)
        wrong = product + F.pad(shift[drawn], (0, fill), value=-torch.inf)
        logits = torch.cat([right.unsqueeze(1), _without(wrong, drawn, targets, len(chance))], 1)
        return F.cross_entropy(logits, labels, reduction="sum")

    def propose(self, frequencies: Tensor) -> None:
        """Draw symbols for the sampled loss by how often (V,) they occur; before, by Zipf's law on their ids."""
        counts = (frequencies.to(self.proposal) + 1.0).masked_fill(self.suppressed, 0.0)
        self.proposal = counts / counts.sum()
        self._chances.clear()

    def chances(self, samples: int) -> Tensor:
        """The chance of each symbol (V,) to be drawn; about `samples` are."""
        known = self._chances.get(samples)
        if known is None or known.dtype != self.bias.dtype or known.device != self.bias.device:
            known = self._chances[samples] = _chances(self.proposal, samples).to(self.bias)
        return known

    def _logs(self, hidden: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """Log-probability of targets (R,), and of all symbols (R, V), 0 for those that are never predicted."""
        logs = self.logits(hidden).log_softmax(1)  # (R, V)
        wanted = logs.gather(1, targets.unsqueeze(1)).squeeze(1)  # (R,)
        return wanted, logs.masked_fill(self.suppressed, 0.0)

    def _product(self, hidden: Tensor, bias: Tensor) -> Tensor:
        """(…, D) -> (…, V)."""
        if self.small is None:
            return linear(hidden, self.weight, bias)
        return self.small.times(hidden).add_(bias)

    def _suppressed_bias(self) -> Tensor:
        """The bias, -inf for suppressed symbols: adding it masks their logits at no extra cost."""
        return self.bias.masked_fill(self.suppressed, -torch.inf)  # (V,)


class _Fused(torch.autograd.Function):
    """Linear layer and cross-entropy in one, with the gradients ready when the loss is."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor,
        targets: Tensor,
        share: Tensor,
        smoothing: float,
        bf16: bool,
        learning: bool,
    ) -> Tensor:
        products = (_BF16Products if bf16 else _Products)(hidden, weight, bias)
        grads = tuple(torch.empty_like(one) for one in (hidden, weight, bias)) if learning else ()
        total = torch.zeros((), dtype=torch.float64, device=hidden.device)
        for rows in products.parts:
            logits = products.logits(rows)  # (n, V)
            wanted = logits.gather(1, targets[rows, None]).squeeze(1)  # (n,)
            total += (_normalise(logits) - (1.0 - smoothing) * wanted).sum()
            if learning:
                change = logits[:, : len(weight)]  # (n, V)
                _differ(change, targets[rows], share, smoothing)
                products.add_gradients(change, rows, grads)
        if smoothing:
            finite = bias.masked_fill(share == 0.0, 0.0)  # (V,)
            total -= hidden.sum(0) @ (share @ weight) + len(hidden) * (share @ finite)
        ctx.save_for_backward(*grads)
        return total.to(hidden.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, scale: Tensor) -> tuple[Tensor | None, ...]:
        # In place: nobody else has these gradients, and torch refuses a second call because they have changed.
        return (*(one.mul_(scale) for one in ctx.saved_tensors), *[None] * 5)


class _Products:
    """The three products of the output layer, for some rows at a time, always in the same buffers.

    Rows of logits begin at whole cache lines: products with 10,004 columns took almost twice as long otherwise.
    What fills up a row is -inf, and probability 0.
    """

    def __init__(self, hidden: Tensor, weight: Tensor, bias: Tensor) -> None:
        self.hidden, self.weight, self.bias = hidden, weight, bias  # (N, D), (V, D), (V,)
        most = max(FEWEST, CHUNK // (len(self.weight) * hidden.element_size()))
        count = max(1, -(-len(hidden) // most))
        self.size = max(1, -(-len(hidden) // count))
        columns = -(-len(weight) // LINE) * LINE
        self.buffer = hidden.new_empty(min(self.size, len(hidden)), columns)

    @property
    def parts(self) -> list[slice]:
        """Which rows belong together; one empty part if there are none."""
        many = len(self.hidden)
        return [slice(at, min(at + self.size, many)) for at in range(0, max(1, many), self.size)]

    def logits(self, rows: slice) -> Tensor:
        """(n, V and what fills up the line), to be overwritten by whoever asked, and by the next call."""
        some = self.hidden[rows]  # (n, D)
        held = self.buffer[: len(some)]
        held[:, len(self.weight) :] = -torch.inf
        torch.addmm(self.bias, some, self.weight.t(), out=held[:, : len(self.weight)])
        return held

    def add_gradients(self, change: Tensor, rows: slice, grads: Sequence[Tensor]) -> None:
        """Add what these rows say; the first ones overwrite, so nothing has to be zeroed before."""
        for_hidden, for_weight, for_bias = grads
        torch.mm(change, self.weight, out=for_hidden[rows])
        for_weight.addmm_(change.t(), self.hidden[rows], beta=1.0 if rows.start else 0.0)
        _add(for_bias, change.sum(0), rows)


class _BF16Products(_Products):
    """The same with products in bfloat16; sums, softmax and gradients stay as precise as they were."""

    def __init__(self, hidden: Tensor, weight: Tensor, bias: Tensor) -> None:
        super().__init__(hidden, weight, bias)
        self.low_hidden, self.low_weight = hidden.bfloat16(), weight.bfloat16()
        self.low_buffer = self.buffer.new_empty(len(self.buffer), len(weight), dtype=torch.bfloat16)
        self.low_change = torch.empty_like(self.low_weight)

    def logits(self, rows: slice) -> Tensor:
        some = self.low_hidden[rows]  # (n, D)
        low = torch.mm(some, self.low_weight.t(), out=self.low_buffer[: len(some)])
        held = self.buffer[: len(some)]
        held[:, len(self.weight) :] = -torch.inf
        held[:, : len(self.weight)].copy_(low).add_(self.bias)
        return held

    def add_gradients(self, change: Tensor, rows: slice, grads: Sequence[Tensor]) -> None:
        for_hidden, for_weight, for_bias = grads
        low = self.low_buffer[: len(change)].copy_(change)  # (n, V)
        for_hidden[rows] = torch.mm(low, self.low_weight)
        _add(for_weight, torch.mm(low.t(), self.low_hidden[rows], out=self.low_change), rows)
        _add(for_bias, change.sum(0), rows)


def _add(total: Tensor, more: Tensor, rows: slice) -> None:
    """`more` is added, or is what the sum begins with."""
    if rows.start:
        total += more
    else:
        total.copy_(more)


def _normalise(logits: Tensor) -> Tensor:
    """Turn logits (n, V) into probabilities where they are; gives the log of each row's total (n,).

    The greatest probability is 1 / sum(exp(logit - greatest logit)), which gives the logarithm for two cheap
    looks at the rows; torch.logsumexp takes longer than the whole softmax.
    """
    greatest = logits.amax(1)  # (n,)
    torch.softmax(logits, 1, out=logits)
    return greatest - logits.amax(1).log()


def _differ(probabilities: Tensor, targets: Tensor, share: Tensor, smoothing: float) -> None:
    """Turn probabilities (n, V) into the gradient with respect to logits where they are."""
    index = targets.unsqueeze(1)  # (n, 1)
    probabilities.scatter_add_(1, index, probabilities.new_full((), smoothing - 1.0).expand(index.shape))
    if smoothing:
        probabilities -= share


def _real(hidden: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Without the rows whose target is PAD."""
    real = targets != PAD
    if bool(real.all()):
        return hidden.contiguous(), targets
    return hidden[real], targets[real]


def _filled(hidden: Tensor, targets: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Rows (N, D) and targets (N,) filled up to a whole block, and labels (N,): 0, or -100 where nothing is asked.

    Every size of a product costs time and memory when it comes for the first time, so there should be few.
    """
    labels = torch.zeros_like(targets)
    fill = -len(targets) % BLOCK if len(targets) else 0
    if not fill:
        return hidden, targets, labels
    more = targets[:1].expand(fill)
    return F.pad(hidden, (0, 0, 0, fill)), torch.cat([targets, more]), F.pad(labels, (0, fill), value=-100)


def _without(logits: Tensor, drawn: Tensor, targets: Tensor, vocab_size: int) -> Tensor:
    """Logits (N, S) of drawn symbols (S,) with -inf where one is the row's own target."""
    place = torch.full((vocab_size,), -1, device=drawn.device)
    place[drawn] = torch.arange(len(drawn), device=drawn.device)
    column = place[targets]  # (N,)
    rows = torch.nonzero(column >= 0).squeeze(1)
    return logits.index_put_((rows, column[rows]), logits.new_tensor(-torch.inf))


def _zipf(suppressed: Tensor) -> Tensor:
    """Log-uniform: the k-th symbol not suppressed (V,) has log((k + 1) / k), vocabularies being sorted by frequency."""
    if suppressed.is_meta:  # only sizes are asked for, and torch would import its compilers to tell them
        return torch.empty(len(suppressed), device=suppressed.device)
    predicted = ~suppressed
    rank = predicted.cumsum(0).double()
    weights = torch.where(predicted, torch.log1p(1.0 / rank), 0.0)
    return (weights / weights.sum()).float()


def _chances(proposal: Tensor, samples: int) -> Tensor:
    """1 - exp(-draws * proposal), with as many draws as make the chances add up to `samples`."""
    weights = proposal.double()
    if samples >= int((weights > 0).sum()):
        return (weights > 0).double()
    low, high = 0.0, 60.0  # log(draws / samples), narrowed down by halves
    for _ in range(60):
        middle = (low + high) / 2
        enough = float(-torch.expm1(-samples * math.exp(middle) * weights).sum()) >= samples
        low, high = (low, middle) if enough else (middle, high)
    return -torch.expm1(-samples * math.exp(high) * weights)
