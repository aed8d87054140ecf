"""Stands in for torchair's library `_torchair`, which hands graphs to CANN's graph engine."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from enum import IntEnum
from functools import cache
from typing import Any, NoReturn

from .refusing import refuse


class TorchNpuGraphBase:
    """A graph as the engine knows it: serialised, and nothing of it runs here (running.py does)."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.serialised = b""

    def load(
        self,
        serialised: bytes,
        options: dict[str, str],
        placements: Sequence[int],
        dtypes: Sequence[int],
        executor: int,
    ) -> None:
        self.serialised = bytes(serialised)

    def set_hint_shape(self, inputs: Sequence[Sequence[int]], outputs: Sequence[Sequence[int]]) -> None:
        """Take what the device would reserve memory by; here every result is allocated when it is made."""

    def compile(self) -> None:
        if not self.serialised:
            raise RuntimeError(f"[simulated NPU] graph {self.name} is compiled before it is loaded")
        say_what_is_not_checked()

    def run(self, arguments: object) -> NoReturn:
        refuse("a graph that is run from its serialised form (cache_compile)")

    def auto_tune(self, arguments: object) -> NoReturn:
        refuse("auto_tune: there is no device whose times could tune a graph")


@cache
def say_what_is_not_checked() -> None:
    """Say once on stderr what a graph that compiles here does not prove."""
    print(
        "[simulated NPU] graphs compile here without CANN's graph engine: which operators, options and optional inputs "
        "it would refuse, and what it would fuse, was not checked",
        file=sys.stderr,
    )


class UnknownDefinition:
    """The inputs, outputs or attributes of an operator of CANN's that is known by name alone."""

    def __init__(self, operator: str) -> None:
        self._operator = operator

    def __iter__(self) -> Iterator[NoReturn]:
        refuse(f"the definition of CANN's operator {self._operator}: what it takes and gives is not known here")

    def __len__(self) -> int:
        refuse(f"the definition of CANN's operator {self._operator}: what it takes and gives is not known here")


def get_registered_ir_def(operator: str) -> tuple[str, Any, Any, Any]:
    """Answer that CANN has the operator; what it takes is unknown, and an error as soon as somebody asks."""
    unknown = UnknownDefinition(operator)
    return "SUCCESS", unknown, unknown, unknown


def check_cann_compat(operator: str, optional_inputs: Sequence[str], optional_attributes: Sequence[str]) -> str:
    """Answer that CANN takes these: which it takes is not public."""
    return ""


def InitializeGraphEngine(options: dict[str, str]) -> None:
    """Begin, which takes nothing here."""


def FinalizeGraphEngine() -> None:
    """End, which takes nothing here."""


def InitDeviceStdoutChannel(device: int) -> None:
    """Let operators print from the device: none does here, they run on the host."""


def SetDebugLogPath(path: str) -> None:
    """Take where the library would log: it does not."""


def GetSocName() -> str:
    import torch

    return str(torch.npu.get_device_name())


def StupidRepeat(word: str, times: int) -> str:
    return word * times


def export(serialised: bytes, options: dict[str, str]) -> NoReturn:
    refuse("exporting a graph (dynamo_export)")


def AclmdlSetDump(path: str) -> NoReturn:
    refuse("dumps of a graph's data (dump_config)")


def AclopStartDumpArgs(kind: int, path: str) -> NoReturn:
    refuse("compiled kernels of static shapes (static_kernel_compile)")


def AclopStopDumpArgs(kind: int) -> NoReturn:
    refuse("compiled kernels of static shapes (static_kernel_compile)")


def as_torch_tensors(shape: object, dtype: object, addresses: object) -> NoReturn:
    refuse("llm_datadist")


TorchDataType = IntEnum(
    "TorchDataType",
    "BOOL UINT8 INT8 INT16 UINT16 INT32 UINT32 INT64 UINT64 BF16 FLOAT16 FLOAT32 FLOAT64 COMPLEX64 COMPLEX128",
)
