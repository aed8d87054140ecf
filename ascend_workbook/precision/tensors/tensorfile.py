"""Reads the tensor files of a dump: one tensor each, without torch and without running anything that is inside.

torch.save writes a zip of stored (uncompressed) members: `<name>/data.pkl` says dtype, shape and strides,
`<name>/data/<key>` holds the bytes. The pickle is read by an unpickler that knows the four names such a file
needs and builds plain tuples; every other name is an error. Source: torch/serialization.py, `_save`.
`locate_tensor` tells where a tensor's bytes lie, so that it can be read in blocks whatever its size. A .npy file is
read by its header, which numpy evaluates as a literal only; arrays of objects are refused."""

from __future__ import annotations

import contextlib
import io
import math
import pickle
import stat
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ascend_workbook.findings.errors import WorkbookError

Array = npt.NDArray[Any]
#: Storage class of torch -> how its bytes are read. bfloat16 has no numpy type: its bits become a float32.
STORAGES = {
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
#: A zip member's local header without name and extra field; the lengths of both are its last two numbers.
LOCAL_HEADER = 30
NUMPY_KINDS = "fiubc"
#: Bytes of a .npy file before its header's length, which has 2 bytes in version 1 and 4 in version 2.
MAGIC = 8
#: What damage raises: in a zip (an encrypted member a RuntimeError), a pickle, numpy's header, and what is no tensor.
_BROKEN = (zipfile.BadZipFile, zlib.error, struct.error, pickle.UnpicklingError, tokenize.TokenError, SyntaxError)
_DAMAGE = (*_BROKEN, OSError, EOFError, ValueError, KeyError, RuntimeError, MemoryError, ArithmeticError)
_OTHER_PICKLE = (TypeError, AttributeError, IndexError, StopIteration)


@dataclass(frozen=True)
class Stored:
    """Where a tensor's elements lie in its file: from byte `start`, `dtype` each, one after the other in order of
    `shape` where `strides` is None. bfloat16 is stored as 16-bit integers, `bfloat16` says so."""

    path: Path
    start: int
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None = None
    bfloat16: bool = False

    @property
    def size(self) -> int:
        """Return the number of elements."""
        return math.prod(self.shape)

    @property
    def element(self) -> np.dtype[Any]:
        """Return the dtype that blocks are read in: the real part's dtype of a complex one."""
        return np.dtype(np.float32) if self.bfloat16 else np.empty(0, self.dtype).real.dtype

    def open_file(self) -> io.FileIO:
        """The file, unbuffered. Raises WorkbookError."""
        try:
            return io.FileIO(self.path)
        except OSError as cause:
            raise unreadable_error(self.path, str(cause)) from cause

    def read_blocks(self, count: int, at: Iterable[int] | None = None) -> Iterator[Array]:
        """Yield flat blocks of `count` elements (the last one shorter), all of them or those whose numbers `at` gives.
        One buffer is used again and again: a block is gone with the next. Only for strides None."""
        raw = np.dtype(self.dtype)
        buffer = np.empty(count, raw)
        wide = np.empty(count if self.bfloat16 else 0, np.uint32)
        view = buffer.view(np.uint8).data
        with self.open_file() as stream:
            for number in at if at is not None else range(-(-self.size // count)):
                n = min(count, self.size - number * count)
                stream.seek(self.start + number * count * raw.itemsize)
                read, wanted = 0, n * raw.itemsize
                while read < wanted:
                    got = stream.readinto(view[read:wanted])
                    if not got:
                        raise unreadable_error(self.path, f"ends {wanted - read} bytes too early")
                    read += got
                if not self.bfloat16:
                    yield buffer[:n]
                else:
                    np.copyto(wide[:n], buffer[:n])
                    np.left_shift(wide[:n], 16, out=wide[:n])
                    yield wide[:n].view(np.float32)


def read_tensor(path: Path) -> Array:
    """Read the tensor in the file, bfloat16 widened to float32; the checksum of a .pt is verified.

    Raises WorkbookError `precision.tensor_unreadable` for a file that is missing, cut short, holds more than a
    tensor, or names anything but a tensor's parts."""
    stored = locate_tensor(path)
    if path.suffix == ".npy":
        flat = np.concatenate([block.copy() for block in stored.read_blocks(max(stored.size, 1))] or [np.empty(0)])
        return flat.reshape(stored.shape, order="C")
    with _naming_file(path), zipfile.ZipFile(path) as archive:
        raw = np.frombuffer(archive.read(_find_data_member(archive, _read_description(archive))), dtype=stored.dtype)
        offset = (stored.start - _find_storage_start(path, archive)) // raw.itemsize
        strides = stored.strides or _contiguous_strides(stored.shape)
        return _make_view(raw, stored.bfloat16, offset, stored.shape, strides)


def locate_tensor(path: Path) -> Stored:
    """Find where the tensor lies in a .pt or .npy file. Reads a few hundred bytes. Raises as read_tensor does."""
    with _naming_file(path):
        if not stat.S_ISREG(path.stat().st_mode):
            raise ValueError("not a regular file")  # opening a pipe would wait for ever
        if path.suffix == ".npy":
            return _locate_npy(path)
        with zipfile.ZipFile(path) as archive:
            return _locate_pt(path, archive)


def verify_checksum(path: Path) -> str:
    """Return what is wrong with a .pt file's checksum, or an empty string. Reads the whole file."""
    if path.suffix == ".npy":
        return ""
    try:
        with zipfile.ZipFile(path) as archive:
            bad = archive.testzip()
        return f"Bad CRC-32 for file {bad!r}" if bad else ""
    except _DAMAGE as cause:
        return str(cause) or type(cause).__name__


@contextlib.contextmanager
def _naming_file(path: Path) -> Iterator[None]:
    """Turn everything that a damaged file can raise into one error that names the file."""
    try:
        yield
    except _DAMAGE as cause:
        raise unreadable_error(path, str(cause) or type(cause).__name__) from cause
    except _OTHER_PICKLE as cause:
        raise unreadable_error(path, "not one plain tensor") from cause


def unreadable_error(path: Path, error: str) -> WorkbookError:
    """Return the error of a tensor file: which, and what is wrong with it."""
    return WorkbookError("precision.tensor_unreadable", path=str(path), error=error)


def _read_description(archive: zipfile.ZipFile) -> tuple[str, Any]:
    """The archive's folder, and the tensor's parts as its pickle gives them."""
    described = next(info for info in archive.infolist() if info.filename.endswith("/data.pkl"))
    if max(described.file_size, described.compress_size) > PICKLE_LIMIT:
        raise ValueError(f"{described.filename} has {described.file_size} bytes, a tensor needs about 150")
    tensor = _TensorUnpickler(io.BytesIO(archive.read(described))).load()
    if not isinstance(tensor, tuple) or tensor[0] != "tensor" or len(tensor) < 5:
        raise TypeError("not a tensor")
    return described.filename[: -len("data.pkl")], tensor


def _find_data_member(archive: zipfile.ZipFile, described: tuple[str, Any]) -> zipfile.ZipInfo:
    """Find the member that holds the elements."""
    folder, tensor = described
    info = archive.getinfo(f"{folder}data/{tensor[1][2]}")
    if info.compress_type != zipfile.ZIP_STORED:
        raise ValueError(f"{info.filename} is compressed, which torch.save does not do")
    if max(info.file_size, info.compress_size) > Path(str(archive.filename)).stat().st_size:
        raise ValueError(f"{info.filename} is said to be larger than the file")  # so much would be reserved to read it
    return info


def _find_storage_start(path: Path, archive: zipfile.ZipFile) -> int:
    """Find the first byte of the elements' storage."""
    at = _find_data_member(archive, _read_description(archive)).header_offset
    with path.open("rb") as stream:
        stream.seek(at)
        names = struct.unpack("<HH", stream.read(LOCAL_HEADER)[-4:])
    return at + LOCAL_HEADER + int(names[0]) + int(names[1])


def _locate_pt(path: Path, archive: zipfile.ZipFile) -> Stored:
    described = _read_description(archive)
    storage, offset, shape, strides = described[1][1:5]
    kind, bfloat16 = STORAGES[storage[1]], storage[1] == "BFloat16Storage"
    info, item = _find_data_member(archive, described), np.dtype(kind).itemsize
    shape, strides, offset = tuple(map(int, shape)), tuple(map(int, strides)), int(offset)
    _check_extent(shape, strides, offset, info.file_size // item)
    stored = Stored(path, _find_storage_start(path, archive) + offset * item, kind, shape, None, bfloat16)
    if stored.start + stored.size * item > path.stat().st_size:
        raise ValueError(f"shape {shape} does not fit the file's {path.stat().st_size} bytes")
    expected = _contiguous_strides(shape)
    plain = stored.size == 0 or all(a == b for a, b, side in zip(strides, expected, shape) if side > 1)
    return stored if plain else Stored(path, stored.start, kind, shape, strides, bfloat16)


def _locate_npy(path: Path) -> Stored:
    with path.open("rb") as stream:
        version = np.lib.format.read_magic(stream)
        if int.from_bytes(stream.read(2 * version[0]), "little") > PICKLE_LIMIT:  # so much would be reserved to read it
            raise ValueError("the header is said to be larger than any")
        stream.seek(MAGIC)
        header = {1: np.lib.format.read_array_header_1_0, 2: np.lib.format.read_array_header_2_0}[version[0]]
        shape, fortran, dtype = header(stream)
        start = stream.tell()
    if dtype.kind not in NUMPY_KINDS:
        raise ValueError(f"refused: holds {dtype}, expected numbers")
    if fortran and len(shape) > 1:
        raise ValueError("is in Fortran order")
    stored = Stored(path, start, dtype.str, tuple(map(int, shape)))
    if min(shape, default=0) < 0 or path.stat().st_size < start + stored.size * dtype.itemsize:
        raise ValueError(f"shape {shape} needs {stored.size * dtype.itemsize} bytes, fewer are there")
    return stored


def _contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [], 1
    for side in reversed(shape):
        strides.append(step)
        step *= max(side, 1)
    return tuple(reversed(strides))


def _check_extent(shape: tuple[int, ...], strides: tuple[int, ...], offset: int, held: int) -> None:
    if len(shape) != len(strides) or min((*shape, *strides, offset), default=0) < 0:
        raise ValueError(f"shape {shape} does not fit strides {strides}")
    last = offset + sum((size - 1) * stride for size, stride in zip(shape, strides))
    if 0 not in shape and last >= held:
        raise ValueError(f"shape {shape} needs {last + 1} elements, the file holds {held}")


def _make_view(flat: Array, bfloat16: bool, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    _check_extent(shape, strides, offset, flat.size)
    if bfloat16:
        flat = (flat.astype(np.uint32) << 16).view(np.float32)
    if 0 in shape:
        return np.empty(shape, flat.dtype)
    steps = tuple(stride * flat.itemsize for stride in strides)
    return np.lib.stride_tricks.as_strided(flat[offset:], shape, steps, writeable=False)


class _TensorUnpickler(pickle.Unpickler):
    """Gives tuples instead of objects; a name that a tensor does not need is refused."""

    KNOWN: dict[tuple[str, str], object] = {
        ("torch._utils", "_rebuild_tensor_v2"): lambda *parts: ("tensor", *parts),
        ("torch._utils", "_rebuild_parameter"): lambda data, *_: data,
        ("collections", "OrderedDict"): dict,
    }

    def find_class(self, module: str, name: str) -> object:
        if (module, name) in self.KNOWN:
            return self.KNOWN[(module, name)]
        if module in ("torch", "torch.storage") and name in STORAGES:
            return name
        raise pickle.UnpicklingError(f"refused: the file names {module}.{name}, which a tensor does not need")

    def persistent_load(self, pid: object) -> object:
        return pid
