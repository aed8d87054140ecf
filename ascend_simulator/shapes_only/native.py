"""The simulator's kernels, seen from Python."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
from collections.abc import Iterator
from pathlib import Path

import torch

from .reads import Reads

_READER = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_char_p,
    ctypes.c_char_p,
    ctypes.c_char_p,
    ctypes.POINTER(ctypes.c_double),
    ctypes.c_int,
    ctypes.POINTER(ctypes.c_double),
    ctypes.c_void_p,
    ctypes.c_size_t,
)
NOTHING, ASSUMED, ENDLESS = range(3)


class Native:
    """The library of kernels."""

    #: What memory holds that nothing was written to (shapes_only/contents.h).
    HOLLOW = 2

    def __init__(self) -> None:
        library = Path(__file__).resolve().parents[1] / "lib64" / "libnpu_sim_kernels.so"
        self._library = ctypes.CDLL(str(library))
        self.keep_bytes = int(os.environ.get("ASCEND_WORKBOOK_SIM_KEEP_BYTES") or 1 << 20)

    def tell_reads(self, reads: Reads) -> None:
        """Have every read of a modelled value noted."""

        def note(operator, dtype, sizes, value, sets_shape, assumed, error, error_size):  # type: ignore[no-untyped-def]
            try:
                number = float(value[0]) if value else None
                answer = reads.note(operator.decode(), dtype.decode(), json.loads(sizes), number, bool(sets_shape))
            except Exception as problem:  # noqa: BLE001 - it is raised again on the other side
                text = str(problem).encode()[: error_size - 1] + b"\0"
                ctypes.memmove(error, text, len(text))
                return ENDLESS
            if answer is None:
                return NOTHING
            assumed[0] = answer
            return ASSUMED

        self._note = _READER(note)  # kept: the library holds its address
        self._library.npu_sim_set_reader(self._note)

    @contextlib.contextmanager
    def reading_for_itself(self) -> Iterator[None]:
        """Note no reads of this thread meanwhile: the program does not see their values."""
        self._library.npu_sim_pause_reads(1)
        try:
            yield
        finally:
            self._library.npu_sim_pause_reads(-1)

    def content_of(self, tensor: torch.Tensor) -> int:
        """Return what a tensor of the host holds: 0 known values, 1 stand-ins, HOLLOW nothing."""
        if tensor.device.type != "cpu" or tensor.layout != torch.strided or not tensor.numel():
            return 0
        try:
            begin = tensor.data_ptr()
        except RuntimeError:  # a tensor without memory: fake, or a wrapper of others
            return 0
        return int(self._library.npu_sim_content(ctypes.c_void_p(begin), ctypes.c_size_t(_extent_of(tensor))))

    def set_stand_in(self, tensor: torch.Tensor) -> None:
        """Say that stand-ins were written to a tensor's memory."""
        begin, size = ctypes.c_void_p(tensor.data_ptr()), ctypes.c_size_t(_extent_of(tensor))
        self._library.npu_sim_set_stand_in(begin, size)

    def set_hollow(self, tensor: torch.Tensor) -> None:
        """Say that nothing lies in a tensor's memory."""
        storage = tensor.untyped_storage()
        self._library.npu_sim_set_hollow(ctypes.c_void_p(storage.data_ptr()), ctypes.c_size_t(storage.nbytes()))


def _extent_of(tensor: torch.Tensor) -> int:
    """Return the bytes from a tensor's first element to its last."""
    last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))
    return int((last + 1) * tensor.element_size())
