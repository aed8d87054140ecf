"""The GPU's random stream: a second state of the CPU generator, switched in where CUDA would draw from its own.

Activation checkpointing too: what is computed again in the backward pass draws the numbers of the forward pass.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import torch
import torch.cuda
import torch.nn.functional as F
import torch.utils.checkpoint as checkpoint
from torch.utils._pytree import tree_leaves

from ..replacing import replaces
from . import places

#: Functions of a forward pass that draw for themselves; on a GPU their tensors are there.
DROPOUTS = ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout")
DRAWING = (*DROPOUTS, "rrelu", "gumbel_softmax", "fractional_max_pool2d", "fractional_max_pool3d")
#: Functions of torch itself with dropout inside.
TORCH_DRAWING = ("dropout", "dropout_", "native_dropout", "feature_dropout", "alpha_dropout", "rrelu", "lstm", "gru")

#: The stream itself.
CUDA: torch.Generator = torch.Generator()
_inside = False


def install_random() -> None:
    # CUDA's stream starts from the default seed as the CPU's does
    CUDA.manual_seed(torch.initial_seed())

    def draw_numbers(original: Callable[..., object], *args: object, **kwargs: object) -> object:
        with cuda_stream():
            return original(*args, **kwargs)

    replaces(F, *DRAWING)(draw_numbers)
    replaces(torch, *TORCH_DRAWING)(draw_numbers)

    @replaces(F, "scaled_dot_product_attention")
    def run_attention(original: Callable[..., object], *args: object, **kwargs: object) -> object:
        dropout = args[4] if len(args) > 4 else kwargs.get("dropout_p", 0.0)
        with cuda_stream() if dropout else contextlib.nullcontext():
            return original(*args, **kwargs)


@contextlib.contextmanager
def cuda_stream() -> Iterator[None]:
    """Make the GPU's random generator the default inside the block."""
    global _inside
    if _inside:
        yield
        return
    cpu = torch.default_generator
    before = cpu.get_state()
    cpu.set_state(CUDA.get_state())
    _inside = True
    try:
        yield
    finally:
        _inside = False
        CUDA.set_state(cpu.get_state())
        cpu.set_state(before)


class _GeneratorMeta(type):
    def __instancecheck__(cls, thing: object) -> bool:
        return isinstance(thing, torch._C.Generator)

    def __call__(cls, device: object = "cpu") -> torch.Generator:
        return torch._C.Generator(places.device_to_use(device))


class Generator(metaclass=_GeneratorMeta):
    """`torch.Generator(device="cuda")` is a generator of the CPU."""


def install_recompute() -> None:
    """Let torch's checkpointing save the GPU's random stream; restoring it goes through torch.cuda as it is."""
    torch.cuda._initialized = True  # where it is False no stream is saved
    checkpoint.get_device_states = _get_device_states


def _get_device_states(*args: object) -> tuple[list[int], list[torch.Tensor]]:
    """Return the current device and its stream's state; without a tensor among the arguments, none, as on CUDA.

    torch looks for tensors that are not on the CPU, and here all are on the CPU.
    """
    if not any(isinstance(leaf, torch.Tensor) and leaf.device.type != "meta" for leaf in tree_leaves(args)):
        return [], []
    return [places.current_device()], [CUDA.get_state()]
