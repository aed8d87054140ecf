"""The GPU's random stream: a second state of the CPU generator, switched in where CUDA would draw from its own.

Activation checkpointing too: what is computed again in the backward pass draws the numbers of the forward pass.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import torch
import torch._VF
import torch.cuda
import torch.jit._builtins as jit_builtins
import torch.nn.functional as F
import torch.utils.checkpoint as checkpoint
from torch.utils._pytree import tree_leaves

from ..replacing import replaces
from . import places, sides

#: Functions of a forward pass that draw for themselves.
DROPOUTS = ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout")
DRAWING = (*DROPOUTS, "rrelu", "gumbel_softmax", "fractional_max_pool2d", "fractional_max_pool3d")
#: Functions of torch itself that draw, by the tensors that they are given.
TORCH_DRAWING = (
    *("dropout", "dropout_", "native_dropout", "feature_dropout", "feature_dropout_", "alpha_dropout"),
    *("alpha_dropout_", "feature_alpha_dropout", "feature_alpha_dropout_", "rrelu", "rrelu_", "bernoulli"),
    *("multinomial", "poisson", "binomial", "_standard_gamma", "_sample_dirichlet"),
)
METHODS = (
    *("normal_", "uniform_", "bernoulli_", "random_", "exponential_", "cauchy_", "log_normal_", "geometric_"),
    *("bernoulli", "multinomial"),
)
RECURRENT = ("lstm", "gru", "rnn_tanh", "rnn_relu")

#: The stream itself.
CUDA: torch.Generator = torch.Generator()
_inside, _drawn = False, False
_equal = torch._C._VariableFunctions.equal
_note: Callable[..., None] = lambda code, **args: None  # noqa: E731


def install_random(note: Callable[..., None]) -> None:
    """Let what a GPU would draw come from a stream of its own; `note` takes a remark at the first such draw."""
    global _note
    _note = note
    # CUDA's stream starts from the default seed as the CPU's does
    CUDA.manual_seed(torch.initial_seed())

    def draw_numbers(original: Callable[..., object], *args: object, sure: bool = False, **kwargs: object) -> object:
        values = [*args, *kwargs.values()]
        if kwargs.get("generator") is not None or not sides.on_gpu(*values):
            return original(*args, **kwargs)
        with cuda_stream(assumed=sides.assumed and not sure):
            result = original(*args, **kwargs)
        sides.mark(tree_leaves(result), gpu=True)
        return result

    def draw_in_layer(original: Callable[..., object], *args: object, **kwargs: object) -> object:
        """Draw in what a model's layer calls: its tensors lie where the model does."""
        return draw_numbers(original, *args, sure=True, **kwargs)

    replaces(F, *DRAWING)(draw_in_layer)
    for name in TORCH_DRAWING:
        builtin = jit_builtins._find_builtin(getattr(torch, name))
        replaces(torch, name)(draw_numbers)
        if builtin is not None:
            jit_builtins._register_builtin(getattr(torch, name), builtin)  # so that torch.jit.script still knows it
    replaces(torch.Tensor, *METHODS)(draw_numbers)

    def run_recurrent(original: Callable[..., object], *args: object) -> object:
        """Draw between the layers: the arguments end in dropout, training, bidirectional and, unpacked, batch_first."""
        packed = not isinstance(args[-4], float)
        dropout, training = args[-3:-1] if packed else args[-4:-2]
        return draw_in_layer(original, *args) if dropout and training else original(*args)

    replaces(torch._VF, *RECURRENT)(run_recurrent)

    @replaces(F, "scaled_dot_product_attention")
    def run_attention(original: Callable[..., object], *args: object, **kwargs: object) -> object:
        dropout = args[4] if len(args) > 4 else kwargs.get("dropout_p", 0.0)
        return draw_in_layer(original, *args, **kwargs) if dropout else original(*args, **kwargs)


def join_streams() -> None:
    """Let the GPU draw from the CPU's stream: where all is drawn on the host there is one."""
    global _inside
    _inside = True


@contextlib.contextmanager
def cuda_stream(*, assumed: bool = False) -> Iterator[None]:
    """Make the GPU's random generator the default inside the block; `assumed`: what is drawn need not be the GPU's."""
    global _inside, _drawn
    if _inside:
        yield
        return
    cpu = torch.default_generator
    before, entered = cpu.get_state(), CUDA.get_state()
    cpu.set_state(entered)
    _inside = True
    try:
        yield
    finally:
        _inside = False
        left = cpu.get_state()
        cpu.set_state(before)
        CUDA.set_state(left)
        if (assumed or not _drawn) and not _equal(left, entered):
            _drawn = True
            _note("own_stream")
            if assumed:
                _note("side_assumed")


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
