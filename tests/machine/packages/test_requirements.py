"""What is asked for and what is here."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_workbook.machine.packages import requirements
from ascend_workbook.machine.packages.requirements import (
    STARTERS,
    installed_versions,
    missing_packages,
    outdated_packages,
    read_requirements,
)


def test_the_requirements_are_read_with_their_ranges() -> None:
    found = read_requirements()
    assert found["msgspec"] == "msgspec>=0.18,<1" and found["mindstudio_probe"].startswith("mindstudio-probe>=")
    assert {"torch", "torch_npu", "numpy"}.isdisjoint(found) and set(STARTERS) < set(found)


def test_of_two_with_one_name_the_first_on_the_path_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder, version in (("a", "2.7.1"), ("b", "2.13.0")):
        info = tmp_path / folder / f"torch-{version}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: Torch\nVersion: {version}\n")
    monkeypatch.setattr("sys.path", [str(tmp_path / "a"), str(tmp_path / "b")])
    assert installed_versions() == {"torch": "2.7.1"}
    assert "msgspec" in missing_packages() and not set(missing_packages()) & set(STARTERS)


def test_here_nothing_is_lacking() -> None:
    assert missing_packages() == [] and outdated_packages() == []


@pytest.mark.parametrize(
    ("version", "told"),
    [("3.5.1", True), ("3.8", True), ("3.9", False), ("3.9.0rc1", False), ("3.10.1", False), ("unknown", True)],
)
def test_what_is_older_than_asked_is_named(monkeypatch: pytest.MonkeyPatch, version: str, told: bool) -> None:
    monkeypatch.setattr(requirements, "installed_versions", lambda: {"matplotlib": version, "ipykernel": "6.7.0"})
    assert outdated_packages() == ([f"matplotlib {version} (>=3.9,<4)"] if told else [])
