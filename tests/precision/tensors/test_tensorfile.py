"""Reading .pt without torch: the same values as torch, and nothing in the file is ever run."""

from __future__ import annotations

import enum
import os
import pickle
import random
import sys
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.precision.tensors.tensorfile import locate_tensor, read_tensor, verify_checksum

DTYPES = [
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.int64,
    torch.int32,
    torch.int16,
    torch.int8,
    torch.uint8,
    torch.bool,
    torch.complex64,
    torch.complex128,
    torch.uint16,
    torch.uint32,
    torch.uint64,
    torch.float8_e4m3fn,
    torch.float8_e5m2,
    torch.float8_e4m3fnuz,
    torch.float8_e5m2fnuz,
]
#: numpy has none of them: a float32 holds each of their numbers
WIDENED = (torch.bfloat16, *DTYPES[-4:])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_the_values_are_torchs(tmp_path: Path, dtype: torch.dtype) -> None:
    numbers = torch.randn(4, 5, 6) * 3
    whole = (numbers.abs() if str(dtype).startswith("torch.uint") else numbers).to(dtype)
    kinds = {
        "plain": whole,
        "strided": whole.transpose(0, 2)[::2],
        "offset": whole[2:, 1:3],
        "scalar": whole[0, 0, 0],
        "empty": whole[:0],
        "parameter": torch.nn.Parameter(whole, requires_grad=False),
    }
    for name, value in kinds.items():
        torch.save(value, tmp_path / f"{name}.pt")
        found = read_tensor(tmp_path / f"{name}.pt")
        expected = (value.detach().float() if dtype in WIDENED else value.detach()).numpy()
        assert found.shape == expected.shape and found.dtype == expected.dtype
        assert np.array_equal(found, expected)


@pytest.mark.parametrize("dtype", DTYPES[-4:], ids=str)
def test_every_pattern_of_an_8_bit_float_is_torchs_number(tmp_path: Path, dtype: torch.dtype) -> None:
    every = torch.arange(256, dtype=torch.uint8).view(dtype)
    torch.save(every, tmp_path / "x.pt")
    expected = every.float().numpy()
    found = read_tensor(tmp_path / "x.pt")
    assert np.array_equal(found, expected, equal_nan=True)
    finite = ~np.isnan(expected)
    assert np.array_equal(np.signbit(found[finite]), np.signbit(expected[finite]))
    stored = locate_tensor(tmp_path / "x.pt")
    assert stored.float8 == str(dtype).removeprefix("torch.") and stored.element == np.float32
    blocks = [block.copy() for block in stored.read_blocks(100)]
    assert np.array_equal(np.concatenate(blocks), expected, equal_nan=True)


class Harm:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("touch harmed",)


def test_nothing_in_the_file_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with zipfile.ZipFile("evil.pt", "w") as archive:
        archive.writestr("evil/data.pkl", pickle.dumps(Harm(), protocol=2))
        archive.writestr("evil/data/0", b"\0" * 64)
    with pytest.raises(WorkbookError, match=r"evil\.pt.*refused: the file names (posix|nt)\.system"):
        read_tensor(Path("evil.pt"))
    assert not Path("harmed").exists()


def test_damaged_files_are_one_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "x.pt"
    torch.save(torch.arange(100.0), path)
    whole = path.read_bytes()
    chance = random.Random(0)
    damaged = [b"", b"not a zip", whole[: len(whole) // 2], whole[:-30], bytes(chance.randbytes(2000))]
    for raw in damaged:
        path.write_bytes(raw)
        with pytest.raises(WorkbookError) as caught:
            read_tensor(path)
        assert caught.value.key == "precision.tensor_unreadable" and "x.pt" in str(caught.value)
    with pytest.raises(WorkbookError, match="No such file"):
        read_tensor(tmp_path / "absent.pt")


def test_a_flipped_byte_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "x.pt"
    torch.save(torch.arange(1000.0), path)
    raw = bytearray(path.read_bytes())
    at = raw.find(np.arange(1000, dtype=np.float32).tobytes()) + 40
    raw[at] ^= 0xFF
    path.write_bytes(bytes(raw))
    with pytest.raises(WorkbookError, match="CRC"):
        read_tensor(path)


@pytest.mark.parametrize("value", [{"a": torch.ones(2)}, [torch.ones(2)], 3, "text"], ids=str)
def test_anything_but_one_tensor_is_refused(tmp_path: Path, value: Any) -> None:
    torch.save(value, tmp_path / "x.pt")
    with pytest.raises(WorkbookError, match=r"x\.pt"):
        read_tensor(tmp_path / "x.pt")


def test_a_shape_beyond_the_data_is_refused(tmp_path: Path) -> None:
    torch.save(torch.ones(4), tmp_path / "x.pt")
    with zipfile.ZipFile(tmp_path / "x.pt") as archive, zipfile.ZipFile(tmp_path / "y.pt", "w") as changed:
        for info in archive.infolist():
            data = archive.read(info)
            changed.writestr(info.filename, data[:8] if info.filename.endswith("data/0") else data)
    for read in (read_tensor, locate_tensor):
        with pytest.raises(WorkbookError, match="needs 4 elements, the file holds 2"):
            read(tmp_path / "y.pt")


def write_archive(path: Path, described: object, members: dict[str, bytes], squeezed: bool = False) -> Path:
    """Write what torch.save does, in the order of `members`; None stands for the pickle."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            held = data or pickle.dumps(described, 2)
            squeeze = squeezed and name == "x/data.pkl"
            archive.writestr(name, held, zipfile.ZIP_DEFLATED if squeeze else zipfile.ZIP_STORED)
    return path


def parts(storage: str, shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0) -> tuple[object, ...]:
    return "tensor", ("storage", storage, "0", "cpu", 1), offset, shape, strides


def test_the_description_is_found_wherever_it_stands(tmp_path: Path) -> None:
    members = {"x/byteorder": b"little", "x/data/0": np.array([1, 2], np.float32).tobytes(), "x/data.pkl": b""}
    path = write_archive(tmp_path / "x.pt", parts("FloatStorage", (2,), (1,)), members)
    assert read_tensor(path).tolist() == [1.0, 2.0]


@pytest.mark.parametrize(("beyond", "squeezed"), [(0, False), (1, False), (0, True), (1, True)])
def test_a_description_has_64_kib_at_most_squeezed_or_not(tmp_path: Path, beyond: int, squeezed: bool) -> None:
    plain = pickle.dumps(parts("FloatStorage", (1,), (1,)), 2)
    padded = plain + bytes((1 << 16) - len(plain) + beyond)
    members = {"x/data.pkl": padded, "x/data/0": np.array([7], np.float32).tobytes()}
    path = write_archive(tmp_path / "x.pt", None, members, squeezed)
    if not beyond:
        assert read_tensor(path).tolist() == [7.0]
        return
    with pytest.raises(WorkbookError, match=r"x/data\.pkl has 65537 bytes, a tensor needs about 150"):
        locate_tensor(path)


@pytest.mark.parametrize("field", [20, 24])
@pytest.mark.parametrize("beyond", [0, 1])
def test_a_member_is_no_larger_than_its_file(tmp_path: Path, field: int, beyond: int) -> None:
    """`field` is where the central directory says a member's size, as it lies there and as it is read."""
    members = {"x/data.pkl": b"", "x/data/0": np.array([7], np.float32).tobytes()}
    path = write_archive(tmp_path / "x.pt", parts("FloatStorage", (1,), (1,)), members)
    raw = bytearray(path.read_bytes())
    at = raw.rfind(b"PK\x01\x02") + field
    raw[at : at + 4] = (len(raw) + beyond).to_bytes(4, "little")
    path.write_bytes(bytes(raw))
    if not beyond:
        assert locate_tensor(path).size == 1
        return
    with pytest.raises(WorkbookError, match="x/data/0 is said to be larger than the file"):
        locate_tensor(path)


@pytest.mark.parametrize(("storage", "item"), [("ByteStorage", 1), ("FloatStorage", 4)])
def test_a_tensor_that_repeats_an_element_is_no_larger_than_its_file(tmp_path: Path, storage: str, item: int) -> None:
    """What strides of 0 unfold to would be reserved."""

    def write(count: int) -> Path:
        members = {"x/data.pkl": b"", "x/data/0": bytes(4), "x/padding": bytes(3 * 1000)}
        return write_archive(tmp_path / "x.pt", parts(storage, (count,), (0,)), members)

    start, size = locate_tensor(write(300)).start, write(300).stat().st_size
    room = (size - start) // item
    assert 300 < room < 1 << 16
    assert read_tensor(write(room)).tolist() == [0] * room
    assert write(room + 1).stat().st_size == size
    with pytest.raises(WorkbookError, match="does not fit the file's"):
        locate_tensor(write(room + 1))


def test_sides_of_one_element_may_have_any_stride_and_those_of_two_may_not(tmp_path: Path) -> None:
    grid = torch.arange(24.0).reshape(2, 12)
    for tensor, strides in ((grid[:1, :6], None), (grid[:2, :6], (12, 1)), (grid[:, :1], (12, 1))):
        torch.save(tensor, tmp_path / "x.pt")
        assert locate_tensor(tmp_path / "x.pt").strides == strides
        assert read_tensor(tmp_path / "x.pt").tolist() == tensor.tolist()


@pytest.mark.parametrize("value", [torch.ones(1), torch.tensor([[1.5, 2.5]]), torch.tensor([[1.5], [2.5]])])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_what_is_read_is_whole_and_cannot_be_written(tmp_path: Path, value: torch.Tensor, dtype: torch.dtype) -> None:
    torch.save(value.to(dtype), tmp_path / "x.pt")
    found = read_tensor(tmp_path / "x.pt")
    assert found.tolist() == value.tolist() and found.dtype == np.float32 and not found.flags.writeable


@pytest.mark.parametrize("name", [("torch", "load"), ("os", "FloatStorage"), ("torch.hub", "load"), ("os", "system")])
def test_names_that_no_tensor_needs_are_refused(tmp_path: Path, name: tuple[str, str]) -> None:
    text = "\x80\x02c{}\n{}\n.".format(*name).encode("latin-1")
    path = write_archive(tmp_path / "x.pt", None, {"x/data.pkl": text, "x/data/0": bytes(4)})
    with pytest.raises(WorkbookError, match="refused: the file names " + r"\.".join(name)):
        locate_tensor(path)


@pytest.mark.parametrize("module", ["torch", "torch.storage"])
def test_a_storage_is_named_by_its_class(tmp_path: Path, module: str) -> None:
    """The class stands for itself: persistent ids are tuples of it."""
    text = b"\x80\x02(X\x06\x00\x00\x00tensor(X\x07\x00\x00\x00storagec" + module.encode() + b"\nFloatStorage\n"
    text += b"X\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x01tQK\x00(K\x01t(K\x01tt."
    path = write_archive(tmp_path / "x.pt", None, {"x/data.pkl": text, "x/data/0": np.float32(5).tobytes()})
    assert read_tensor(path).tolist() == [5.0]


def write_header(path: Path, shape: tuple[int, ...], data: bytes, fortran: bool = False) -> Path:
    with path.open("wb") as stream:
        header = {"descr": "<f4", "fortran_order": fortran, "shape": shape}
        np.lib.format.write_array_header_1_0(stream, header)
        stream.write(data)
    return path


def test_numpys_order_of_one_side_is_any(tmp_path: Path) -> None:
    row = np.array([1, 2, 3], np.float32)
    assert read_tensor(write_header(tmp_path / "x.npy", (3,), row.tobytes(), fortran=True)).tolist() == [1, 2, 3]
    with pytest.raises(WorkbookError, match="Fortran order"):
        read_tensor(write_header(tmp_path / "x.npy", (1, 3), row.tobytes(), fortran=True))


@pytest.mark.parametrize("shape", [(-3,), (-1, 3), (3, -1), (-1, -3)])
def test_a_side_is_never_negative(tmp_path: Path, shape: tuple[int, ...]) -> None:
    with pytest.raises(WorkbookError, match=r"x\.npy.*shape .* needs -?\d+ bytes"):
        locate_tensor(write_header(tmp_path / "x.npy", shape, bytes(12)))


def test_numpys_second_version(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    with path.open("wb") as stream:
        np.lib.format.write_array(stream, np.arange(3.0), version=(2, 0))
    assert read_tensor(path).tolist() == [0.0, 1.0, 2.0]
    raw = path.read_bytes()
    for length, ours in ((1 << 16, False), ((1 << 16) + 1, True)):
        path.write_bytes(raw[:8] + length.to_bytes(4, "little") + raw[12:])
        with pytest.raises(WorkbookError) as caught:
            locate_tensor(path)
        assert ("the header is said to be larger than any" in str(caught.value)) is ours, "numpy refuses the first"


def test_what_is_wrong_with_a_checksum(tmp_path: Path) -> None:
    assert "No such file" in verify_checksum(tmp_path / "gone.pt")
    torch.save(torch.ones(3), tmp_path / "x.pt")
    raw = (tmp_path / "x.pt").read_bytes()
    at = raw.find(np.ones(3, np.float32).tobytes())
    (tmp_path / "x.pt").write_bytes(raw[:at] + b"\x01" + raw[at + 1 :])
    assert verify_checksum(tmp_path / "x.pt") == "Bad CRC-32 for file 'x/data/0'"
    (tmp_path / "x.pt").write_bytes(raw)
    assert verify_checksum(tmp_path / "x.pt") == ""


def test_a_file_that_became_shorter_is_told_by_how_much(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones(10, np.float32))
    stored = locate_tensor(tmp_path / "x.npy")
    assert not stored.bfloat16 and [block.size for block in stored.read_blocks(4)] == [4, 4, 2]
    with (tmp_path / "x.npy").open("r+b") as stream:
        stream.truncate(stored.start + 4 * 7)
    blocks = stored.read_blocks(4)
    assert next(blocks).tolist() == [1.0] * 4
    with pytest.raises(WorkbookError, match="ends 4 bytes too early"):
        next(blocks)


class SavedOnNpu:
    """A tensor as torch_npu up to 2.8 pickles it (torch_npu/utils/storage.py, `_reduce_ex`), its layout at the end."""

    def __init__(self, tensor: torch.Tensor, layout: object) -> None:
        self.tensor, self.layout = tensor, layout

    def __reduce__(self) -> tuple[Any, ...]:
        tensor = self.tensor
        place = (tensor.storage_offset(), tuple(tensor.size()), tensor.stride(), False, {}, self.layout)
        return sys.modules["torch_npu.utils.storage"]._rebuild_npu_tensor, (tensor._typed_storage(), *place)  # type: ignore[attr-defined]


@pytest.mark.parametrize("by_format", [True, False])
def test_a_tensor_that_an_older_torch_npu_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_format: bool
) -> None:
    """Its function and its enum are names; neither is imported when the file is read."""
    for name in ("torch_npu", "torch_npu.utils", "torch_npu.utils.storage", "torch_npu.npu", "torch_npu.npu._format"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))

    def _rebuild_npu_tensor() -> None: ...

    # Python 3.11.2 pickles a member as getattr(Format, "ND"), later ones by its value
    kinds = enum.IntEnum("Format", {"ND": 2}, module="torch_npu.npu._format")
    _rebuild_npu_tensor.__module__, _rebuild_npu_tensor.__qualname__ = "torch_npu.utils.storage", "_rebuild_npu_tensor"
    monkeypatch.setattr(sys.modules["torch_npu.utils.storage"], "_rebuild_npu_tensor", _rebuild_npu_tensor, False)
    monkeypatch.setattr(sys.modules["torch_npu.npu._format"], "Format", kinds, False)
    values = torch.arange(12.0).reshape(3, 4)[1:]
    torch.save(SavedOnNpu(values, kinds(2) if by_format else 2), tmp_path / "dumped.pt")
    for name in ("torch_npu.utils.storage", "torch_npu.npu._format"):
        monkeypatch.setitem(sys.modules, name, None)
    assert np.array_equal(read_tensor(tmp_path / "dumped.pt"), values.numpy())


class Reaches:
    """Pickled as `getattr(owner, name)`, as some Pythons pickle a member of an enum."""

    def __init__(self, owner: object, name: str) -> None:
        self.asked = owner, name

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, self.asked


def test_no_attribute_is_read_but_a_memory_layout(tmp_path: Path) -> None:
    for owner in (dict, torch.Tensor):
        torch.save(Reaches(owner, "fromkeys" if owner is dict else "numpy"), tmp_path / "x.pt")
        with pytest.raises(WorkbookError, match="refused"):
            read_tensor(tmp_path / "x.pt")
