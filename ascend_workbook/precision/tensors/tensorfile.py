"""Reads the tensor files of a dump: one tensor each, without torch and without running anything that is inside.

torch.save writes a zip of stored (uncompressed) members: `<name>/data.pkl` says dtype, shape and strides,
`<name>/data/<key>` holds the bytes. The pickle is read by an unpickler that knows the four names such a file
needs and builds plain tuples; every other name is an error. Source: torch/serialization.py, `_save`.
`locate_tensor` tells where a tensor's bytes lie, so that it can be read in blocks whatever its size. A .npy file is
read by its header, which numpy evaluates as a literal only; arrays of objects are refused."""

from __future__ import annotations

import contextlib
import functools
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
#: Formats that have no storage class of their own: torch tells them beside an untyped storage. An 8-bit float is read
#: by a table, which makes a float32 of it.
UNTYPED = {"uint16": "<u2", "uint32": "<u4", "uint64": "<u8"}
#: Bits of exponent and mantissa, bias, and which patterns are no finite number ("ieee": infinity and NaN; "fn": NaN
#: where all bits are set; "fnuz": NaN in place of the negative zero).
#: https://arxiv.org/abs/2209.05433, torch/headeronly/util
FLOAT8 = {
    "float8_e4m3fn": (4, 3, 7, "fn"),
    "float8_e5m2": (5, 2, 15, "ieee"),
    "float8_e4m3fnuz": (4, 3, 8, "fnuz"),
    "float8_e5m2fnuz": (5, 2, 16, "fnuz"),
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
    `shape` where `strides` is None. bfloat16 is stored as 16-bit integers, `bfloat16` says so; `float8` names the
    format of 8-bit ones."""

    path: Path
    start: int
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None = None
    bfloat16: bool = False
    float8: str = ""

    @property
    def size(self) -> int:
        """Return the number of elements."""
        return math.prod(self.shape)

    @property
    def element(self) -> np.dtype[Any]:
        """Return the dtype that blocks are read in: the real part's dtype of a complex one."""
        return np.dtype(np.float32) if self.bfloat16 or self.float8 else np.empty(0, self.dtype).real.dtype

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
                if self.float8:
                    yield widen_float8(buffer[:n], self.float8)
                elif not self.bfloat16:
                    yield buffer[:n]
                else:
                    np.copyto(wide[:n], buffer[:n])
                    np.left_shift(wide[:n], 16, out=wide[:n])
                    yield wide[:n].view(np.float32)


def read_tensor(path: Path) -> Array:
    """Read the tensor in the file, bfloat16 and 8-bit floats widened to float32; the checksum of a .pt is verified.

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
        return _make_view(raw, stored, offset, stored.shape, strides)


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
    named = described[1][7] if storage[1] == "UntypedStorage" else storage[1]
    kind = "u1" if named in FLOAT8 else (UNTYPED | STORAGES)[named]
    formats = (named == "BFloat16Storage", named if named in FLOAT8 else "")
    info, item = _find_data_member(archive, described), np.dtype(kind).itemsize
    shape, strides, offset = tuple(map(int, shape)), tuple(map(int, strides)), int(offset)
    _check_extent(shape, strides, offset, info.file_size // item)
    stored = Stored(path, _find_storage_start(path, archive) + offset * item, kind, shape, None, *formats)
    if stored.start + stored.size * item > path.stat().st_size:
        raise ValueError(f"shape {shape} does not fit the file's {path.stat().st_size} bytes")
    expected = _contiguous_strides(shape)
    plain = stored.size == 0 or all(a == b for a, b, side in zip(strides, expected, shape) if side > 1)
    return stored if plain else Stored(path, stored.start, kind, shape, strides, *formats)


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


@functools.cache
def _float8_values(name: str) -> npt.NDArray[np.float32]:
    """Return the number of each of the 256 patterns, (256,)."""
    exponent_bits, mantissa_bits, bias, kind = FLOAT8[name]
    pattern = np.arange(256)
    exponent = (pattern >> mantissa_bits) & ((1 << exponent_bits) - 1)
    mantissa = (pattern & ((1 << mantissa_bits) - 1)) / (1 << mantissa_bits)
    values = np.ldexp(np.where(exponent > 0, 1 + mantissa, mantissa), np.maximum(exponent, 1) - bias)
    values = np.where(pattern >= 128, -values, values)
    if kind == "ieee":
        top = exponent == (1 << exponent_bits) - 1
        values[top] = np.where(mantissa[top] == 0, np.copysign(np.inf, values[top]), np.nan)
    elif kind == "fn":
        values[(pattern & 127) == 127] = np.nan
    else:
        values[128] = np.nan
    return np.asarray(values, np.float32)


def widen_float8(patterns: Array, name: str) -> npt.NDArray[np.float32]:
    """Return 8-bit floats as float32, exactly: `patterns` uint8 (n,), `name` one of FLOAT8."""
    return np.asarray(_float8_values(name)[patterns], np.float32)


def _make_view(flat: Array, stored: Stored, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    _check_extent(shape, strides, offset, flat.size)
    if stored.float8:
        flat = widen_float8(flat, stored.float8)
    if stored.bfloat16:
        flat = (flat.astype(np.uint32) << 16).view(np.float32)
    if 0 in shape:
        return np.empty(shape, flat.dtype)
    steps = tuple(stride * flat.itemsize for stride in strides)
    return np.lib.stride_tricks.as_strided(flat[offset:], shape, steps, writeable=False)


def _read_layout(owner: object, name: object) -> int:
    """Return a number for a member of `Format`, which some Pythons pickle as `getattr(Format, "ND")`; no attribute of
    anything is read."""
    if owner is not int or not isinstance(name, str):
        raise pickle.UnpicklingError(f"refused: the file asks for {name!r} of what is no memory layout")
    return 0


class _TensorUnpickler(pickle.Unpickler):
    """Gives tuples instead of objects; a name that a tensor does not need is refused."""

    KNOWN: dict[tuple[str, str], object] = {
        ("torch._utils", "_rebuild_tensor_v2"): lambda *parts: ("tensor", *parts),
        ("torch._utils", "_rebuild_tensor_v3"): lambda *parts: ("tensor", *parts),
        # torch_npu up to 2.8 saves a tensor of the NPU so, and says its memory layout behind what all tensors have
        ("torch_npu.utils.storage", "_rebuild_npu_tensor"): lambda *parts: ("tensor", *parts),
        ("torch_npu.npu._format", "Format"): int,
        ("builtins", "getattr"): _read_layout,
        ("__builtin__", "getattr"): _read_layout,
        ("torch.storage", "UntypedStorage"): "UntypedStorage",
        **{("torch", name): name for name in (*UNTYPED, *FLOAT8)},
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
