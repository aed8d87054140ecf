"""Activation checkpointing: what is computed again in the backward pass draws the GPU's numbers of the forward pass."""

from __future__ import annotations

from typing import Any

import torch
import torch.cuda
import torch.utils.checkpoint as checkpoint
from torch.utils._pytree import tree_leaves

from . import places, random


def install_recompute() -> None:
    """Let torch's checkpointing save the GPU's random stream; restoring it goes through torch.cuda as it is."""
    torch.cuda._initialized = True  # where it is False no stream is saved
    checkpoint.get_device_states = _get_device_states


def _get_device_states(*args: Any) -> tuple[list[int], list[torch.Tensor]]:
    """Return the current device and its stream's state; without a tensor among the arguments, none, as on CUDA.

    torch looks for tensors that are not on the CPU, and here all are on the CPU.
    """
    if not any(isinstance(leaf, torch.Tensor) and leaf.device.type != "meta" for leaf in tree_leaves(args)):
        return [], []
    return [places.current_device()], [random.cuda_generator().get_state()]
