"""What the simulated NPU did on purpose or in the CPU's stead, read from its library where this process loaded it."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping
from typing import Any

LIBRARY = "libnpu_sim_kernels.so"


def requested_settings(environ: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """Return what the environment asks of the simulator: all that a process leaves which is killed."""
    faults = environ.get("ASCEND_WORKBOOK_SIM_FAULT", "").split(";")
    return {
        "numerics": environ.get("ASCEND_WORKBOOK_SIM_NUMERICS") or "cpu",
        "faults": [fault.strip() for fault in faults if fault.strip()],
        "fallbacks": {},
        "dtypes_unknown": [],
    }


def describe_simulator() -> dict[str, Any]:
    """Return what the simulator did: numerics, faults in force, fallbacks (calls by operator), dtypes_unknown
    (operators that ran although no document says which types they take). Not loaded: `requested_settings()`.
    """
    try:
        library = ctypes.CDLL(LIBRARY, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
    except OSError:
        return requested_settings()
    faults = [line.split("\t")[0] for line in _ask_library(library, "npu_sim_faults")]
    fallbacks = dict(line.split("\t") for line in _ask_library(library, "npu_sim_fallbacks"))
    return {
        "numerics": "".join(_ask_library(library, "npu_sim_numerics")),
        "faults": faults,
        "fallbacks": {name: int(calls) for name, calls in fallbacks.items()},
        "dtypes_unknown": sorted(set(_ask_library(library, "npu_sim_unknown_dtypes"))),
    }


def _ask_library(library: ctypes.CDLL, function: str) -> list[str]:
    call = getattr(library, function)
    call.restype = ctypes.c_char_p
    text: bytes = call()
    return text.decode().splitlines()
