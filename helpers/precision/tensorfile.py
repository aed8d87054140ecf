"""Reads the .pt files of a dump: one tensor each, without torch and without running anything that is inside.

torch.save writes a zip of stored (uncompressed) members: `<name>/data.pkl` says dtype, shape and strides,
`<name>/data/<key>` holds the bytes. The pickle is read by an unpickler that knows the four names such a file
needs and builds plain tuples; every other name is an error. Source: torch/serialization.py, `_save`.
"""

from __future__ import annotations

import io
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from helpers.errors import WorkbookError

Array = npt.NDArray[Any]
#: Storage class of torch -> how its bytes are read. bfloat16 has no numpy type: its bits become a float32.
STORAGES: dict[str, str] = {
    "FloatStorage": "<f4",
    "DoubleStorage": "<f8",
    "HalfStorage": "<f2",
    "BFloat16Storage": "<u2",
    "LongStorage": "<i8",
    "IntStorage": "<i4",
    "ShortStorage": "<i2",
    "CharStorage": "i1",
    "ByteStorage": "u1",
    "BoolStorage": "?",
    "ComplexFloatStorage": "<c8",
    "ComplexDoubleStorage": "<c16",
}
#: A tensor's data.pkl has about 150 bytes.
PICKLE_LIMIT = 1 << 16


def read_tensor(path: Path) -> Array:
    """The tensor in the file, bfloat16 widened to float32.

    Raises WorkbookError `precision.tensor_unreadable` for a file that is missing, cut short, holds more than a
    tensor, or names anything but a tensor's parts.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return _tensor(archive)
    except (OSError, zipfile.BadZipFile, pickle.UnpicklingError, EOFError, ValueError, KeyError) as cause:
        raise WorkbookError("precision.tensor_unreadable", path=str(path), error=str(cause)) from cause
    except (TypeError, AttributeError, IndexError, StopIteration) as cause:  # a pickle of another shape
        raise WorkbookError("precision.tensor_unreadable", path=str(path), error="not one plain tensor") from cause


def _tensor(archive: zipfile.ZipFile) -> Array:
    described = next(info for info in archive.infolist() if info.filename.endswith("/data.pkl"))
    if described.file_size > PICKLE_LIMIT:
        raise ValueError(f"{described.filename} has {described.file_size} bytes, a tensor needs about 150")
    tensor = _TensorUnpickler(io.BytesIO(archive.read(described))).load()
    storage, offset, shape, strides = tensor[1:5]
    kind, key = storage[1], str(storage[2])
    raw = archive.read(f"{described.filename[: -len('data.pkl')]}data/{key}")
    return _view(np.frombuffer(raw, dtype=STORAGES[kind]), kind, int(offset), tuple(shape), tuple(strides))


def _view(flat: Array, kind: str, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    if len(shape) != len(strides) or min((*shape, *strides, offset), default=0) < 0:
        raise ValueError(f"shape {shape} does not fit strides {strides}")
    last = offset + sum((size - 1) * stride for size, stride in zip(shape, strides))
    if 0 not in shape and last >= flat.size:
        raise ValueError(f"shape {shape} needs {last + 1} elements, the file holds {flat.size}")
    if kind == "BFloat16Storage":
        flat = (flat.astype(np.uint32) << 16).view(np.float32)
    if 0 in shape:
        return np.empty(shape, flat.dtype)
    steps = tuple(stride * flat.itemsize for stride in strides)
    return np.lib.stride_tricks.as_strided(flat[offset:], shape, steps, writeable=False)


def _rebuild(*parts: Any) -> tuple[Any, ...]:
    return ("tensor", *parts)


def _parameter(data: Any, *_: Any) -> Any:
    return data


class _TensorUnpickler(pickle.Unpickler):
    """Gives tuples instead of objects; a name that a tensor does not need is refused."""

    KNOWN: dict[tuple[str, str], Any] = {
        ("torch._utils", "_rebuild_tensor_v2"): _rebuild,
        ("torch._utils", "_rebuild_parameter"): _parameter,
        ("collections", "OrderedDict"): dict,
    }

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in self.KNOWN:
            return self.KNOWN[(module, name)]
        if module in ("torch", "torch.storage") and name in STORAGES:
            return name
        raise pickle.UnpicklingError(f"refused: the file names {module}.{name}, which a tensor does not need")

    def persistent_load(self, pid: Any) -> Any:
        return pid
