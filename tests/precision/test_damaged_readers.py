"""Files from outside, damaged: one unread tensor or one clear error, never a traceback, a hang or much memory."""

from __future__ import annotations

import json
import random
import struct
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.precision.compare import compare
from ascend_workbook.precision.curves.readers import read
from ascend_workbook.precision.layouts import read_runs
from ascend_workbook.precision.tensors.tensorfile import read_tensor
from tests.precision.dumps import Dump

#: Headers that once were no clear error, and their relatives: what numpy tokenizes, evaluates and takes as a shape.
HEADERS = (
    "{'descr': '<f4', 'fortran_order': False, 'shape': (" + "(" * 5000,
    "{'descr': '<f4', 'fortran_order': False, 'shape': (" + "-" * 5000 + "1,)}",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
    "{'descr': '<f4', 'fortran_order': False, 'shape': ('a',)}",
    "{'descr': ('<f4', (1" + "0" * 300 + ",)), 'fortran_order': False, 'shape': (1,)}",
    "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}",
    "\x00" * 64,
)
SECONDS, MEMORY = 10.0, 256 << 20


def npy(path: Path, header: str) -> Path:
    data = header.encode("latin-1")
    path.write_bytes(b"\x93NUMPY\x02\x00" + struct.pack("<I", len(data)) + data + bytes(64))
    return path


@pytest.mark.parametrize("number", range(len(HEADERS)))
def test_a_damaged_header_is_one_unread_tensor(tmp_path: Path, number: int) -> None:
    with pytest.raises(WorkbookError, match=r"odd\.npy"):
        read_tensor(npy(tmp_path / "odd.npy", HEADERS[number]))
    for side in ("a", "b"):
        (tmp_path / side).mkdir()
        np.save(tmp_path / side / "whole.npy", np.array([1.0, 2.0], np.float32))
        npy(tmp_path / side / "odd.npy", HEADERS[number])
    report = compare(tmp_path / "a", tmp_path / "b")
    unread = [finding for finding in report.findings if finding.key == "ACC215.unreadable"]
    assert len(unread) == 1 and "odd.npy" in unread[0].message("en")
    assert report.facts["outcomes"]["agrees"] == 1, "the rest is compared"


@pytest.mark.parametrize("flag", [1, 64])
def test_an_encrypted_member_is_one_error(tmp_path: Path, flag: int) -> None:
    torch.save(torch.ones(3), tmp_path / "a.pt")
    data = bytearray((tmp_path / "a.pt").read_bytes())
    at = data.find(b"PK\x01\x02")
    while at >= 0:
        data[at + 8] |= flag
        at = data.find(b"PK\x01\x02", at + 4)
    (tmp_path / "a.pt").write_bytes(data)
    with pytest.raises(WorkbookError, match=r"a\.pt"):
        read_tensor(tmp_path / "a.pt")


@pytest.mark.parametrize("reader", ["npy", "pt"])
def test_a_length_that_is_a_lie_reserves_no_memory(tmp_path: Path, reader: str) -> None:
    """The header's length, and the sizes of a zip's members, are what a damaged file says they are."""
    path = tmp_path / f"a.{reader}"
    if reader == "npy":
        path.write_bytes(b"\x93NUMPY\x02\x00" + struct.pack("<I", 1 << 30) + b"{}")
    else:
        torch.save(torch.ones(3), path)
        data = bytearray(path.read_bytes())
        at = data.find(b"PK\x01\x02")
        while at >= 0:
            data[at + 20 : at + 24] = struct.pack("<I", 1 << 30)
            at = data.find(b"PK\x01\x02", at + 4)
        path.write_bytes(data)
    tracemalloc.start()
    with pytest.raises(WorkbookError, match=path.name):
        read_tensor(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 << 20


def _dump(folder: Path, name: str) -> Path:
    dump = Dump(folder, task="statistics")
    dump.forward("Functional.relu", [torch.ones(3)], [torch.ones(3)])
    return dump.save() / name


def make_sample(reader: str, folder: Path) -> Path:
    """Write one whole file that the reader takes."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"a.{reader}"
    if reader == "npy":
        np.save(path, np.arange(6, dtype=np.float32))
    elif reader == "pt":
        torch.save(torch.arange(6, dtype=torch.float32), path)
    elif reader in ("dump", "construct", "stack"):
        return _dump(folder, f"{reader}.json")
    elif reader == "csv":
        path.write_text("step,loss,lr\n1,2.5,0.1\n2,2.25,0.1\n")
    elif reader == "json":
        path.write_text(json.dumps([{"step": at, "loss": 2.5 - at} for at in range(4)]))
    elif reader == "jsonl":
        path.write_text('{"step": 1, "loss": 2.5}\n{"step": 2, "loss": 2.25}\n')
    elif reader == "events":
        from torch.utils.tensorboard import SummaryWriter

        writer = SummaryWriter(str(folder))
        writer.add_scalar("loss", 2.5, 1)
        writer.close()
        return next(folder.glob("*.tfevents.*"))
    else:
        path.write_text("iteration 1/ 9 | lm loss: 2.5E+00 | lr: 1E-4 |\n{'loss': 2.5, 'step': 2}\n步 3 损失 2.25\n")
    return path


READERS: dict[str, Callable[[Path], object]] = {
    **dict.fromkeys(("npy", "pt"), read_tensor),
    **dict.fromkeys(("dump", "construct", "stack"), lambda path: read_runs(path.parent.parent.parent)),
    **dict.fromkeys(("csv", "json", "jsonl", "events", "log"), read),
}


def damage_bytes(data: bytes, draw: random.Random) -> bytes:
    """Change a few bytes, cut, double or insert a piece: chosen by the seed alone."""
    changed = bytearray(data)
    for _ in range(draw.randint(1, 4)):
        at = draw.randrange(len(changed) + 1)
        kind = draw.randrange(5)
        if kind == 0 and changed:
            changed[at % len(changed)] = draw.randrange(256)
        elif kind == 1:
            del changed[at:]
        elif kind == 2:
            changed[at:at] = changed[at : at + draw.randrange(64)] * draw.randint(1, 20)
        elif kind == 3:
            changed[at:at] = draw.choice((b"(" * 500, b"[" * 500, b"9" * 400, b"\xff" * 8, b"\0" * 8, b"1e999", b"NaN"))
        else:
            del changed[at : at + draw.randrange(32)]
    return bytes(changed)


def read_damaged(reader: str, path: Path, whole: bytes, seed: int) -> None:
    """Read the file as this seed damages it: a result or a WorkbookError, in bounded time."""
    path.write_bytes(damage_bytes(whole, random.Random(f"{reader}:{seed}")))
    begun = time.process_time()
    try:
        READERS[reader](path)
    except WorkbookError:
        pass
    except Exception as broke:
        raise AssertionError(f"{reader}, seed {seed}: {type(broke).__name__}: {broke}") from broke
    assert time.process_time() - begun < SECONDS, f"{reader}, seed {seed}: it hangs"


@pytest.mark.parametrize("reader", READERS)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 1 << 40))
def test_no_damage_ends_in_a_traceback(reader: str, seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = make_sample(reader, tmp_path_factory.mktemp(reader))
    read_damaged(reader, path, path.read_bytes(), seed)


@pytest.mark.full
@pytest.mark.parametrize("reader", READERS)
def test_a_minute_of_damage(reader: str, tmp_path: Path) -> None:
    """Seeds count from 0: the one that is named in a failure does the same again."""
    path = make_sample(reader, tmp_path / reader)
    whole, seed, end = path.read_bytes(), 0, time.monotonic() + 60
    tracemalloc.start()
    while time.monotonic() < end:
        read_damaged(reader, path, whole, seed)
        seed += 1
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert seed > 20 and peak < MEMORY, f"{reader}: {seed} files, {peak >> 20} MiB"
