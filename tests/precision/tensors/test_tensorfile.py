"""Reading .pt without torch: the same values as torch, and nothing in the file is ever run."""

from __future__ import annotations

import os
import pickle
import random
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.precision.tensors.tensorfile import read_tensor

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
]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_the_values_are_torchs(tmp_path: Path, dtype: torch.dtype) -> None:
    whole = (torch.randn(4, 5, 6) * 3).to(dtype)
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
        expected = (value.detach().float() if dtype == torch.bfloat16 else value.detach()).numpy()
        assert found.shape == expected.shape and found.dtype == expected.dtype
        assert np.array_equal(found, expected)


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
    with pytest.raises(WorkbookError, match="needs 4 elements, the file holds 2"):
        read_tensor(tmp_path / "y.pt")
