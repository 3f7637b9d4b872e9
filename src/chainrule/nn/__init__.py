"""Layers that know neither files nor settings: numbers in, numbers out, memory in, memory out."""

import torch as _torch

from chainrule.runtime import threads as _threads

if _threads(otherwise=_torch.get_num_threads()) < _torch.get_num_threads():  # CHAINRULE_THREADS
    _torch.set_num_threads(_threads())
