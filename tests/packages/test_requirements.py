"""What is asked for and what is here."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.packages.requirements import STARTERS, installed, lacking, required


def test_the_requirements_are_read_with_their_ranges() -> None:
    found = required()
    assert found["msgspec"] == "msgspec>=0.18,<1" and found["mindstudio_probe"].startswith("mindstudio-probe>=")
    assert {"torch", "torch_npu", "numpy"}.isdisjoint(found) and set(STARTERS) < set(found)


def test_of_two_with_one_name_the_first_on_the_path_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder, version in (("a", "2.7.1"), ("b", "2.13.0")):
        info = tmp_path / folder / f"torch-{version}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: Torch\nVersion: {version}\n")
    monkeypatch.setattr("sys.path", [str(tmp_path / "a"), str(tmp_path / "b")])
    assert installed() == {"torch": "2.7.1"}
    assert "msgspec" in lacking() and not set(lacking()) & set(STARTERS)


def test_here_nothing_is_lacking() -> None:
    assert lacking() == []
