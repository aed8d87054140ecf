"""Shapes of what an operator gives, by the simulator's formula of it, where PyTorch has none.

SyncBatchNorm's operators are of that kind: a formula of `ascend_simulator/references` on tensors of the device `meta`
gives their shapes at any size. Of one operator torch_npu 2.13's own shapes cannot be asked for: they are mended.
"""

from __future__ import annotations

import importlib.util
import sys
import threading
import warnings
from pathlib import Path
from typing import Any, Callable

import torch

#: Where the formulas stand once the kernels have registered them.
NAMESPACE = "_npu_sim_references"
#: PyTorch's own operators that have a formula, and no kernel for the device `meta`.
OPERATORS = (
    "batch_norm_stats",
    "batch_norm_elemt",
    "batch_norm_gather_stats_with_counts",
    "batch_norm_backward_reduce",
    "batch_norm_backward_elemt",
)
#: torch_npu's own operators without shapes that give a tensor as large as the operand of that number.
LIKE_OPERAND = {
    "npu_binary_cross_entropy_with_logits_backward": 1,
    "kl_div_target_backward": 2,
    "npu_mish_backward": 1,
    "npu_renorm_backward": 1,
    "repeat_interleave_backward_tensor": 1,
    "stft_backward": 1,
    "_dropout_with_byte_mask_backward": 0,
}
#: Those that are told the sizes, as the argument of that number.
OF_SIZES = {
    "npu_max_backward": 3,
    "npu_min_backward": 3,
    "npu_bmm_v2_mat1_backward": 3,
    "npu_bmm_v2_mat2_backward": 3,
    "npu_confusion_transpose_backward": 2,
    "npu_gather_sparse_index_backward": 1,
}
_libraries: list[Any] = []  # a library that dies takes its kernels with it


def infer_by_formulas() -> None:
    """Let the formulas tell shapes from now on."""
    library = torch.library.Library("aten", "IMPL")
    for name in OPERATORS:
        if not torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{name}", "Meta"):
            library.impl(name, ask_formula(name), "Meta")
    _libraries.append(library)
    own = torch._C._dispatch_library("IMPL", "npu", "")  # torch_npu defines its operators later
    for name in (*LIKE_OPERAND, *OF_SIZES):
        own.impl(name, "Meta", make_inference(name))
    _libraries.append(own)


def mend_shapes() -> None:
    """Tell the shapes of geglu's gradient, once torch_npu is there: its own leave out defaults and give two tensors."""
    library = torch.library.Library("npu", "IMPL")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch warns of what it overrides
        library.impl("npu_geglu_grad", infer_geglu_gradient, "Meta")
    _libraries.append(library)


def make_inference(name: str) -> Callable[..., torch.Tensor]:
    """Return what tells the shape of one of those operators' gradients."""

    def infer(*args: Any, **kwargs: Any) -> torch.Tensor:
        if name in LIKE_OPERAND:
            return torch.empty_like(args[LIKE_OPERAND[name]])
        gradient: torch.Tensor = args[0]
        return gradient.new_empty(args[OF_SIZES[name]])

    return infer


def infer_geglu_gradient(
    gradient: torch.Tensor, operand: torch.Tensor, gelu: torch.Tensor, dim: int = -1, *options: object
) -> torch.Tensor:
    """Return a tensor as large as what geglu was given."""
    return torch.empty_like(operand)


def ask_formula(name: str) -> Callable[..., Any]:
    """Return what calls an operator's formula."""

    def infer(*args: Any, **kwargs: Any) -> Any:
        register_formulas()
        return getattr(getattr(torch.ops, NAMESPACE), name)(*args, **kwargs)

    return infer


def register_formulas() -> None:
    """Register the formulas as the kernels do, under the same name and lock, where no kernel has asked for one yet."""
    with sys.__dict__.setdefault("_npu_sim_lock", threading.RLock()):
        if NAMESPACE not in sys.modules:
            folder = Path(__file__).parents[1] / "references"
            init = folder / "__init__.py"
            spec = importlib.util.spec_from_file_location(NAMESPACE, init, submodule_search_locations=[str(folder)])
            assert spec is not None and spec.loader is not None
            module = sys.modules[NAMESPACE] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
        importlib.import_module(f"{NAMESPACE}.registration").register()
