"""acl.util: between Python's data and addresses. Addresses are those of the host; what they point to has to live on."""

from __future__ import annotations

import ctypes
from typing import Any, NoReturn

from .calling import LIBRARY, Lacking

#: aclrtMemLocationType of memory of a device
DEVICE = 1


class Attributes(ctypes.Structure):
    """What the runtime tells of an address: aclrtPtrAttributes."""

    _fields_ = [("id", ctypes.c_uint32), ("kind", ctypes.c_uint32), ("rest", ctypes.c_uint32 * 5)]


def check_host(ptr: int) -> None:
    """Refuse an address of the device, which no host can read; here it could, for all memory is the host's."""
    at = Attributes()
    if LIBRARY.aclrtPointerGetAttributes(ctypes.c_void_p(ptr), ctypes.byref(at)) == 0 and at.kind == DEVICE:
        raise ValueError(f"[simulated NPU] {ptr:#x} is memory of device {at.id}: copy it with acl.rt.memcpy")


def bytes_to_ptr(data: bytes) -> int:
    """Return where a bytes object's data are."""
    return ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value or 0


def ptr_to_bytes(ptr: int, size: int) -> bytes:
    """Return a copy of the host's memory there."""
    check_host(ptr)
    return ctypes.string_at(ptr, size)


def numpy_to_ptr(data: Any) -> int:
    """Return where an array's data are."""
    if not data.flags.c_contiguous:
        print("Warning: the input ndarray is discontiguous: what is copied from its address are not its rows.")
    return int(data.ctypes.data)


def ptr_to_numpy(ptr: int, shape: tuple[int, ...], type: int) -> Any:
    """Return an array over the host's memory there; `type` is NumPy's own number of a data type."""
    import numpy as np

    dtypes = {np.dtype(code).num: np.dtype(code) for code in "?bBhHiIlLqQfdgFDGe"}
    if type not in dtypes:
        raise Lacking(f"acl.util.ptr_to_numpy of type {type}")
    check_host(ptr)
    count = int(np.prod(shape, dtype=np.int64))
    memory: Any = (ctypes.c_char * (count * dtypes[type].itemsize)).from_address(ptr)
    return np.frombuffer(memory, dtype=dtypes[type]).reshape(shape)


def __getattr__(name: str) -> NoReturn:
    raise Lacking(f"acl.util.{name}")
