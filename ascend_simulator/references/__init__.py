"""Reference implementations of torch_npu's own operators (npu::...), and of aten's that no CPU kernel can stand in for.

They run on any device and on any machine, without torch_npu. The simulated NPU computes with them; on a real NPU they
give the value to expect:

    reference_of("npu::npu_rms_norm")(x, gamma, epsilon=1e-6)

takes and returns what the operator does. Half and bfloat16 inputs are computed in float32 and rounded once, as the
fused kernels do; float64 inputs are computed in float64. A reference that is not in place is differentiable.

The build copies this folder into the simulator, where it lives under another name: modules here import relatively.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Callable

from .registry import Reference, registered_references

__all__ = ["Reference", "all_references", "reference_of"]

#: Modules of this folder that hold no formulas.
INFRASTRUCTURE = {"__init__", "registry", "registration", "numeric"}


def all_references() -> dict[str, Reference]:
    """Return every reference by the operator's full name, "npu::name" or "npu::name.overload."""
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if path.stem not in INFRASTRUCTURE:
            importlib.import_module(f"{__name__}.{path.stem}")
    return registered_references()


def reference_of(name: str) -> Callable[..., object]:
    """Return the reference of "npu::name" or "npu::name.overload. Raises KeyError where there is none."""
    return all_references()[name].function
