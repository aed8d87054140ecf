"""What an enclosed script reads is noted where the stage's other processes note it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_workbook.machine.device import find
from ascend_workbook.machine.launch import LaunchSpec, launch
from ascend_workbook.machine.launch.child import reading
from ascend_workbook.machine.launch.enclosed import choose_enclosure


def test_what_an_enclosed_script_reads_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notes, data, out = tmp_path / "run/stage/reads", tmp_path / "data.txt", tmp_path / "out"
    for folder in (notes, out):
        folder.mkdir(parents=True)
    data.write_text("data")
    script = tmp_path / "train.py"
    script.write_text(f"open({str(data)!r}).read()\n")
    monkeypatch.setenv(reading.FOLDER, str(notes))
    result = launch(LaunchSpec(out=out, script=script, cwd=tmp_path, enclosure=choose_enclosure(find("cpu"))))
    assert result.outcome == "finished" and result.account is not None
    assert str(data) in "".join(path.read_text() for path in notes.iterdir())
    assert not [change for change in result.account.changes if str(notes) in change.path]
