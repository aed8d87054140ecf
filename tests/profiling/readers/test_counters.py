"""The counters of a timeline: found wherever a piece of the file ends, with their own units."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ascend_workbook.profiling.readers import counters
from ascend_workbook.profiling.readers.counters import read_timeline_counters


def event(name: str, moment: int, value: float) -> dict[str, object]:
    return {"name": name, "ts": f"{moment}.000", "pid": 7, "tid": 0, "args": {"value": value}, "ph": "C"}


@pytest.mark.parametrize("piece", [97, 150, 251, 1 << 22])
def test_no_counter_is_lost_or_doubled_where_a_piece_ends(
    piece: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counters, "PIECE", piece)
    monkeypatch.setattr(counters, "LONGEST", min(piece - 1, 1 << 12) if piece > 140 else 96)
    events = []
    for moment in range(1, 40):
        events += [{"name": "x" * (moment % 7)}, event("AI Core Freq", moment, 1800 - moment)]
        events += [event("HBM 0/Read", moment, 1000), event("HBM 1/Read", moment, 500), event("HBM 0/Write", moment, 4)]
        events += [event("LLC 0 Read/Hit Rate", moment, 0.5), event("LLC 1 Read/Hit Rate", moment, 0.25)]
    path = tmp_path / "trace_view.json"
    path.write_text(json.dumps(events))
    curves = read_timeline_counters(path).curves
    assert curves["frequency_mhz"].values.tolist() == [1800 - moment for moment in range(1, 40)]
    assert set(curves["read_gb_s"].values) == {1.5} and set(curves["write_gb_s"].values) == {0.004}
    assert set(curves["hit_percent"].values) == {37.5} and all(len(curve) == 39 for curve in curves.values())


def test_a_file_that_cannot_be_read_tells_nothing(tmp_path: Path) -> None:
    assert read_timeline_counters(tmp_path / "absent.json").curves == {}
