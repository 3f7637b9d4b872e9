"""Data-parallel training: of the processes that torchrun starts, each reads its share of the rows of every batch.

Gradients are added up over all of them, so a step is the same as if one process had read all rows. The main process
plans, writes checkpoints and saves the model.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from chainrule.data.batches import Batch


@dataclass(frozen=True)
class ProcessGroup:
    """One of `size` processes; alone it costs nothing."""

    rank: int = 0
    size: int = 1

    @property
    def is_main(self) -> bool:
        """Whether this process plans, writes and prints for all."""
        return self.rank == 0

    def share(self, batch: Batch) -> Batch:
        """The rows this process reads."""
        if self.size == 1:
            return batch
        return batch.rows(slice(self.rank, None, self.size))

    def all_reduce(self, values: Sequence[float]) -> list[float]:
        """The sums over all processes."""
        if self.size == 1:
            return list(values)
        found = torch.tensor(values, dtype=torch.float64)
        torch.distributed.all_reduce(found)
        return found.tolist()

    def add_gradients(self, parameters: Iterable[Tensor]) -> None:
        """Every process gets the sum of all gradients, exchanged in one go; none where nobody has one."""
        if self.size == 1:
            return
        learning = [one for one in parameters if one.requires_grad]
        owners = torch.tensor([float(one.grad is not None) for one in learning])
        held = [torch.zeros_like(one) if one.grad is None else one.grad for one in learning]
        flat = torch.cat([owners, *(one.flatten() for one in held)])
        torch.distributed.all_reduce(flat)
        owners, *sums = torch.split(flat, [len(learning), *(one.numel() for one in held)])
        for one, gradient, owned, total in zip(learning, held, owners.tolist(), sums, strict=True):
            one.grad = gradient.copy_(total.view_as(gradient)) if owned else None

    def broadcast(self, value: Any) -> Any:
        """What the main process has."""
        if self.size == 1:
            return value
        held = [value]
        torch.distributed.broadcast_object_list(held)
        return held[0]

    def gathered(self, value: Any) -> list[Any]:
        """What every process has, by rank."""
        if self.size == 1:
            return [value]
        held: list[Any] = [None] * self.size
        torch.distributed.all_gather_object(held, value)
        return held

    def block(self, rows: int) -> slice:
        """Which of so many rows are this process's, when each has a block of them, the last ones perhaps none."""
        each = -(-rows // self.size)
        return slice(self.rank * each, (self.rank + 1) * each)

    def joined(self, own: Tensor) -> Tensor:
        """The whole of a tensor of which every process has its block of rows."""
        rows = int(self.all_reduce([len(own)])[0])
        each = -(-rows // self.size)
        padded = own.new_zeros(each, *own.shape[1:])
        padded[: len(own)] = own
        found = own.new_empty(self.size, *padded.shape)
        torch.distributed.all_gather(list(found), padded)
        return found.flatten(0, 1)[:rows]


ALONE = ProcessGroup()
# Threads of gloo outlive their group where a mesh refers to it. They need Python's lock to let go of the tensors they
# sent last; a process whose interpreter is gone by then is aborted (PyTorch's pull request 179291 tells of it).
LETTING_GO = 0.2  # seconds


def processes() -> int:
    """How many torchrun started; 1 without torchrun."""
    return int(os.environ.get("WORLD_SIZE", "1")) if "MASTER_ADDR" in os.environ else 1


def is_main_process() -> bool:
    """Whether this process, of those torchrun started, is the one that writes and prints."""
    return os.environ.get("RANK", "0") == "0"


@contextmanager
def process_group() -> Iterator[ProcessGroup]:
    """The processes that torchrun started; this one alone without torchrun."""
    size = processes()
    if size == 1:
        yield ALONE
        return
    rank = _join(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))
    try:
        yield ProcessGroup(rank, size)
        torch.distributed.barrier()  # one that leaves while another still talks to it makes that one abort
    finally:
        torch.distributed.destroy_process_group()
        time.sleep(LETTING_GO)


def _join(attempt: str) -> int:
    """Find the others. The addresses of an earlier attempt are still in the store, so each has a place of its own."""
    from torch.distributed.distributed_c10d import PrefixStore
    from torch.distributed.rendezvous import rendezvous

    store, rank, size = next(rendezvous("env://"))
    own = PrefixStore(f"attempt {attempt}", store)
    torch.distributed.init_process_group("gloo", store=own, rank=rank, world_size=size)
    return int(rank)
