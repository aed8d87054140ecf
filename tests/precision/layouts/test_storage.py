"""Every layout is read through the storage alone: a dump that lies elsewhere gives the same runs as one in a folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ascend_workbook.precision import layouts
from ascend_workbook.precision.layouts import read_runs
from ascend_workbook.precision.record import Run
from ascend_workbook.precision.tensors.tensorfile import locate_tensor
from ascend_workbook.storage import natural_key
from tests.precision.layouts.old import OldDump
from tests.precision.networks import convolutions


class Far:
    """Files by name, none of them on this machine until one is asked for by `local_path`."""

    def __init__(self, folder: Path, copies: Path) -> None:
        self.files = {
            path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
        }
        self.copies = copies

    def read_bytes(self, name: str) -> bytes:
        return self.files[name]

    def read_text(self, name: str) -> str:
        return self.files[name].decode()

    def read_start(self, name: str, count: int) -> bytes:
        return self.files[name][:count]

    def exists(self, name: str) -> bool:
        return name in self.files

    def list_children(self, name: str = "") -> Sequence[str]:
        rests = [found[len(name) :] for found in self.files if found.startswith(name)]
        return sorted({rest.partition("/")[0] + "/" * ("/" in rest) for rest in rests}, key=natural_key)

    def list_files(self, prefix: str = "") -> Iterator[str]:
        return iter(sorted(name for name in self.files if name.startswith(prefix)))

    def describe_place(self, name: str) -> str:
        return f"far://bucket/{name}"

    def identify(self, name: str) -> str:
        return name

    def local_path(self, name: str) -> Path:
        name = name.rstrip("/")
        for found, data in self.files.items():
            if found == name or found.startswith(f"{name}/" if name else ""):
                path = self.copies / found
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
        return self.copies / name


def msprobe(folder: Path) -> Path:
    return convolutions(folder)


def ptdbg(folder: Path) -> Path:
    dump = OldDump(folder)
    dump.call("Functional_linear_0_forward", [torch.ones(2, 3)], torch.full((2, 2), 3.0))
    dump.save()
    return folder


def tree(folder: Path) -> Path:
    place = folder / "step1" / "rank0"
    place.mkdir(parents=True)
    torch.save(torch.arange(6.0).reshape(2, 3), place / "layer1.pt")
    np.save(place / "layer2.npy", np.ones(4, np.float32))
    return folder


def plain(run: Run, folder: Path) -> Any:
    """The run with files as they are called below the folder."""

    def here(record: Any) -> Any:
        return replace(record, file=record.file and record.file.relative_to(folder))

    operators = tuple(
        replace(one, inputs=tuple(map(here, one.inputs)), outputs=tuple(map(here, one.outputs)))
        for one in run.operators
    )
    return replace(run, folder=run.folder.relative_to(folder), operators=operators)


@pytest.mark.parametrize("made", [msprobe, ptdbg, tree])
def test_a_dump_elsewhere_is_read_as_one_in_a_folder(
    made: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = made(tmp_path / "here")
    here, _ = read_runs(folder)
    far = Far(folder, tmp_path / "copies")
    monkeypatch.setattr(layouts, "open_storage", lambda place: far)
    there, troubles = read_runs("far://bucket/")
    assert not troubles and there
    assert [plain(run, tmp_path / "copies") for run in there] == [plain(run, folder) for run in here]
    files = [record.file for run in there for one in run.operators for record in (*one.inputs, *one.outputs)]
    assert any(files) and all(locate_tensor(file) for file in files if file)
