"""One source for several releases of torch: what each declares is read from its headers, CANN's headers are found."""

from __future__ import annotations

import json
import re
import subprocess
import zipfile
from pathlib import Path

import pytest

import ascend_simulator
from ascend_simulator.errors import SimulatorError
from ascend_simulator.libraries import features, headers
from ascend_simulator.libraries.plan import Package, find_package
from tests.conftest import ROOT

KERNELS = ROOT / "ascend_simulator" / "native" / "kernels"


def test_the_installed_torch_declares_what_its_kernels_use() -> None:
    """2.13.0: everything but an allocator that is const."""
    there = features.list_features(find_package("torch"))
    assert there == {name: name != "CONST_ALLOCATE" for name in features.FEATURES}


@pytest.mark.parametrize(
    ("name", "header", "text", "there"),
    [
        ("CONST_ALLOCATE", "c10/core/Allocator.h", "virtual DataPtr allocate(size_t n) const = 0;", True),
        ("CONST_ALLOCATE", "c10/core/Allocator.h", "virtual DataPtr allocate(size_t n) = 0;", False),
        ("COPYING_ALLOCATOR", "c10/core/Allocator.h", "// calls copy_data(\n", False),
        (
            "STORAGE_AROUND_MEMORY",
            "c10/core/StorageImpl.h",
            "using StorageImplCreateHelper = X (*)(DataPtr data);",
            True,
        ),
        (
            "STORAGE_AROUND_MEMORY",
            "c10/core/StorageImpl.h",
            "using StorageImplCreateHelper = X (*)(int); DataPtr x;",
            False,
        ),
        ("UNSIGNED_TYPES", "c10/core/ScalarType.h", "_(uint16_t, UInt16) /* 27 */", True),
        ("UNSIGNED_TYPES", "torch/headeronly/core/ScalarType.h", "_(uint16_t, UInt16)", True),
        ("UNSIGNED_TYPES", "c10/core/ScalarType.h", "_(uint8_t, Byte)", False),
        ("ATTENTION_CHOICE", "ATen/native/transformers/attention.h", "", True),
        ("ATTENTION_CHOICE", "ATen/native/transformers/sdp_utils.h", "", False),
    ],
)
def test_a_feature_is_read_from_its_header(tmp_path: Path, name: str, header: str, text: str, there: bool) -> None:
    path = tmp_path / "include" / header
    path.parent.mkdir(parents=True)
    path.write_text(text)
    assert features.list_features(Package("torch", tmp_path, "2.1.0"))[name] is there


def test_every_feature_is_used_by_the_kernels_and_none_else() -> None:
    texts = "".join(path.read_text(encoding="utf-8") for path in sorted(KERNELS.glob("*.[ch]*")))
    used = {word.split("TORCH_HAS_")[1] for word in texts.split() if word.startswith("TORCH_HAS_")} - {""}
    assert used == set(features.FEATURES)


def write_headers(root: Path, names: tuple[str, ...]) -> None:
    for name in names:
        path = root / "third_party" / "acl" / "inc" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")


def test_a_wheel_with_all_of_canns_headers_serves_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    npu = tmp_path / "torch_npu"
    write_headers(npu / "include", headers.NEWEST)
    monkeypatch.setattr(headers, "download_wheel", lambda folder: pytest.fail("nothing is to be fetched"))
    headers.fetch_cann_headers(npu, tmp_path / "simulator")
    assert headers.find_cann_headers(npu, tmp_path / "simulator")[0] == npu / "include"


def test_fewer_are_taken_from_the_wheel_that_has_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    npu, location = tmp_path / "torch_npu", tmp_path / "simulator"
    write_headers(npu / "include", headers.NEWEST[:-1])
    fetched: list[Path] = []

    def download(folder: Path) -> Path:
        with zipfile.ZipFile(folder / "torch_npu-2.13.0.whl", "w") as archive:
            for name in headers.NEWEST:
                archive.writestr(f"torch_npu/include/third_party/acl/inc/{name}", "")
            archive.writestr("torch_npu/lib/libtorch_npu.so", "")
        fetched.append(folder)
        return folder / "torch_npu-2.13.0.whl"

    monkeypatch.setattr(headers, "download_wheel", download)
    for _ in range(2):
        headers.fetch_cann_headers(npu, location)
    assert len(fetched) == 1 and headers.find_cann_headers(npu, location)[0] == location / headers.BORROWED
    assert fetched[0].is_relative_to(location), "a folder moves within a file system alone"
    assert not list(location.rglob("libtorch_npu.so")), "of the wheel its headers alone are kept"


def test_without_that_wheel_the_next_step_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = subprocess.CompletedProcess([], 1, "", "ERROR: No matching distribution found for torch_npu==2.13.0\n")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: answer)
    with pytest.raises(SimulatorError, match="No matching distribution") as raised:
        headers.fetch_cann_headers(tmp_path / "torch_npu", tmp_path / "simulator")
    assert "PIP_FIND_LINKS" in raised.value.hint("en")


def test_the_default_pair_is_the_pinned_one_and_comes_first() -> None:
    pinned = dict(line.split("==") for line in (ROOT / "requirements-torch.txt").read_text().split() if "==" in line)
    pairs = ascend_simulator.tried_pairs()
    assert next(iter(pairs.items())) == (pinned["torch"], pinned["torch_npu"])
    read = json.loads((ROOT / "ascend_simulator" / "pairs.json").read_text())
    assert set(pairs) == {pair["torch"] for pair in read["pairs"]} and headers.HEADERS_OF in pairs.values()


@pytest.mark.parametrize("page", ["README.md", "README.zh-CN.md"])
def test_the_readmes_name_the_pairs_that_were_tried(page: str) -> None:
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    seen = next(line for line in lines if "torch_npu" in line and headers.HEADERS_OF in line)
    for torch, torch_npu in ascend_simulator.tried_pairs().items():
        assert f"torch {torch}" in seen and f"torch_npu {torch_npu}" in seen, f"{page} does not name {torch}"


def test_the_table_of_what_ran_has_a_row_per_pair() -> None:
    text = (ROOT / "docs" / "simulated_npu.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([\d.]+) / ([\w.]+) \|", text, re.M)
    assert dict(rows) == ascend_simulator.tried_pairs()
