"""FSDP, for a model too large for one process: each holds a part of the weights, gradients and optimiser state.

torch's FSDP does the work: before a block computes, the others' parts of its weights are fetched, and dropped when it
has; gradients are added up on the way to the processes that own them. Every parameter is divided by its rows, and what
the trainer keeps (best and averaged weights, what the optimiser remembers) are a process's own rows, as plain tensors.
Only checkpoints and the finished model are whole.
"""

from __future__ import annotations

import math
import tempfile
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard, register_fsdp_forward_method

from chainrule.data.batches import Batch
from chainrule.errors import ConfigError
from chainrule.models.base import ModelConfig
from chainrule.models.neural import Neural
from chainrule.nn.attention import Block
from chainrule.train.network import Network
from chainrule.train.optimizer import own
from chainrule.train.trainer import Trainer

LARGE = 1 << 21  # bytes of the largest block that is kept when it is free
CALLS = ("read", "cross_entropy", "score", "next_sentence_logits")  # what tasks call on a body


def check(kind: type[Neural], config: ModelConfig, processes: int) -> None:
    """Refuse a model that cannot be sharded, or a single process."""
    if processes == 1:
        raise ConfigError(
            "--shard divides a model among several processes, and there is one. Start it with "
            "torchrun --standalone --nproc-per-node 2 -m chainrule.cli fit …, or train without --shard."
        )
    with torch.device("meta"):  # no memory
        blocks = _blocks(kind(config))
    if not blocks:
        raise ConfigError(
            f"--shard divides models made of blocks, such as gpt and bert; the family '{kind.family}' has none. "
            "Train it without --shard: every process then holds all of it."
        )


def divide(model: Neural, processes: int) -> None:
    """Leave a part of every parameter in each process; blocks are fetched one at a time, the rest together."""
    mesh = init_device_mesh("cpu", (processes,))
    for part in (*_blocks(model), model):
        fully_shard(part, mesh=mesh)
        assert isinstance(part, FSDPModule)
        part.set_gradient_divide_factor(1.0)  # a loss is divided by the symbols of all processes already
        part.set_force_sum_reduction_for_comms(True)  # gloo only adds
    for name in CALLS:
        if hasattr(model, name):
            register_fsdp_forward_method(model, name)
    # Keys and values, which a block gives beside its vectors, are views; nobody changes them in place.
    warnings.filterwarnings("ignore", "FSDP2-wrapped module .* returned a view tensor", UserWarning)


def _blocks(model: nn.Module) -> list[Block]:
    return [part for part in model.modules() if isinstance(part, Block)]


class Sharded(Trainer):
    """The same loop on a part of the model.

    Large blocks that are freed go back to the system; kept, they would lie about in pieces the next block cannot use.
    """

    kept_blocks: ClassVar[int] = LARGE

    def __post_init__(self) -> None:
        if self.network.head is not None:
            raise ConfigError("--shard divides language models. A task with a head is trained without it.")
        self.kind = type(self.body)  # before it is divided
        self.names = frozenset(name for name, _ in self.network.named_parameters(remove_duplicate=False))
        divide(self.body, self.group.size)
        super().__post_init__()

    def _idle(self, batch: Batch) -> float:
        """All must fetch and add up together: who has no row reads the first one, and it counts nothing."""
        loss, _ = self.network(batch.rows(slice(0, 1)), None)
        (0.0 * loss).backward()
        return 0.0

    @torch.no_grad()
    def _clip(self) -> float:
        gradients = [own(one.grad) for one in self.optimizer.parameters if one.grad is not None]
        squares = sum(float(torch.linalg.vector_norm(one)) ** 2 for one in gradients)
        norm = math.sqrt(self.group.all_reduce([squares])[0])
        if self.config.clip_norm and norm > self.config.clip_norm:
            torch._foreach_mul_(gradients, self.config.clip_norm / (norm + 1e-6))
        return norm

    def _loss_on_valid(self, most: int) -> float:
        """One for all, or parts of different models might be kept as the best."""
        found: float = self.group.broadcast(super()._loss_on_valid(most))
        return found

    @torch.no_grad()
    def _weights(self) -> dict[str, Tensor]:
        return {name: own(value) for name, value in self.network.state_dict().items()}

    def _take(self, weights: dict[str, Tensor]) -> None:
        for name, held in self._weights().items():
            held.copy_(weights[name])

    def _finish(self) -> None:
        """The best weights in a whole model, an ordinary one, in every process."""
        super()._finish()
        del self.optimizer  # makes room
        self.best, self.mean = {}, {}
        whole = Network(self.network.task, self.kind.seeded(self.body.config, self.config.seed))
        held = whole.state_dict()
        for name, value in self._weights().items():
            held[name].copy_(self.group.joined(value) if name in self.names else value)
        self.network = whole

    def _divided(self, name: str) -> bool:
        """Whether an array of a checkpoint is one of which every process has a part."""
        room, _, rest = name.partition("/")
        return not rest.endswith("steps") if room == "optimizer" else rest in self.names

    def _whole(self, arrays: dict[str, Tensor]) -> dict[str, np.ndarray]:
        """In the main process, all there is; the others only give what they have."""
        found = (
            (name, self.group.joined(value) if self._divided(name) else value)
            for name, value in arrays.items()
        )
        if self.group.is_main:
            return _on_disk(found, self.folder)
        return {name: value.numpy() for name, value in found if not self._divided(name)}

    def _own(self, name: str, array: np.ndarray) -> np.ndarray:
        return np.array(array[self.group.block(len(array))] if self._divided(name) else array)


def _on_disk(tensors: Iterable[tuple[str, Tensor]], folder: Path | None) -> dict[str, np.ndarray]:
    """Arrays in a file without a name, written one by one: the main process may not have memory for all of them."""
    places = []
    with tempfile.TemporaryFile(dir=folder) as file:
        for name, tensor in tensors:
            array = tensor.numpy()
            places.append((name, array.dtype, array.shape, file.tell(), file.tell() + array.nbytes))
            file.write(array.reshape(-1).data)
        file.flush()
        held = np.memmap(file, np.uint8, "r")
    return {name: held[begin:end].view(kind).reshape(shape) for name, kind, shape, begin, end in places}
