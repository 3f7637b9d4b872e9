"""How many threads train a network: one, or all, whichever makes its own steps sooner on the machine as it is."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import torch

from chainrule.data.batches import Batch, Batches
from chainrule.nn.threads import Choice, most_threads
from chainrule.train.network import Network

TRIES, SLOWER = 3, 2.0  # times a number of threads is tried, unless it is so many times slower
WAITS, WAITED = (
    40,
    1 << 17,
)  # sums that show how long threads wait for each other, and of how many values each
DISTURBED = 8.0  # such sums so many times slower with several threads: another program has the cores
PATIENCE = 50.0  # a step that tries the other number teaches nothing, so it may take a fiftieth of the time


def waiting(number: int) -> float:
    """Seconds of some small sums in so many threads, which wait for each other after each of them."""
    before, values = torch.get_num_threads(), torch.zeros(WAITED)
    torch.set_num_threads(number)
    values.add_(1.0)  # threads are woken up
    began = time.perf_counter()
    for _ in range(WAITS):
        values.add_(1.0)
    taken = time.perf_counter() - began
    torch.set_num_threads(before)
    return taken


@dataclass
class StepThreads:
    """What training steps took with one thread and with all; without a network, what is set stays."""

    network: Network | None = None
    batch: Batch | None = None
    choice: Choice = field(default_factory=lambda: Choice(1))

    @classmethod
    def settled(cls, network: Network, batches: Batches) -> StepThreads:
        """Both are timed on the step that is going to be run, and torch is told the better one."""
        found = cls(network, batches.batch(0, 0), Choice(most_threads(), patience=PATIENCE))
        most, pace = found.choice.most, found.choice.pace
        alone = together = min(found._seconds(1) for _ in range(TRIES))
        disturbed = waiting(most) / waiting(1) if most > 1 else 1.0
        if disturbed > DISTURBED:  # a step would wait as often, and take seconds
            together = found.choice.price = alone * disturbed
        elif most > 1:
            together = found.choice.price = found._seconds(most)
            if together < SLOWER * alone:  # else one try took long enough
                together = min(together, *(found._seconds(most) for _ in range(TRIES - 1)))
        pace |= {1: alone / found._symbols, most: together / found._symbols}
        found.choice.use_faster()
        torch.set_num_threads(found.choice.using)
        return found

    def after_batch(self, seconds: float, symbols: int) -> None:
        """Learn from a batch of training: forward and backward, as is tried."""
        if self.network is not None:
            self.choice.took(self.choice.using, seconds, symbols)

    def wanted(self, using: int) -> int:
        """How many the next step should have, those before having had `using`; from time to time that is tried."""
        if self.network is None:
            return using
        while (number := self.choice.number()) != self.choice.using:
            self.choice.took(number, self._seconds(number), self._symbols)
        return self.choice.using

    @property
    def _symbols(self) -> int:
        """Of the batch that is tried."""
        return max(1, self.batch.tokens.size) if self.batch is not None else 1

    def _seconds(self, number: int) -> float:
        """What a step takes with so many; it changes nothing in the network, nor in the course of random numbers."""
        assert self.network is not None and self.batch is not None
        before = torch.get_num_threads()
        torch.set_num_threads(number)
        self.network.train()
        began = time.perf_counter()
        with torch.random.fork_rng(devices=[]):
            self.network(self.batch, None)[0].backward()
        taken = time.perf_counter() - began
        self.network.zero_grad(set_to_none=False)
        torch.set_num_threads(before)
        return taken
