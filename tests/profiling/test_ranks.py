"""A folder of several ranks: a row each; one that is broken does not stop the others."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from helpers.errors import WorkbookError
from helpers.finding import Status
from helpers.profiling import analyse
from helpers.profiling.readers.ranks import by_rank, rank_of
from tests.profiling.conftest import DATA


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("rank0.pt.trace.json", 0),
        ("rank-12.Apr_03.pt.trace.json.gz", 12),
        ("rank_3_ascend_pt", 3),
        ("worker0.1623143089861.pt.trace.json.gz", None),
    ],
)
def test_the_name_tells_the_rank(name: str, rank: int | None) -> None:
    assert rank_of(Path(name)) == rank


def test_torch_npus_own_file_tells_it_better(tmp_path: Path) -> None:
    folder = tmp_path / "host_1_rank9_ascend_pt"
    folder.mkdir()
    (folder / "profiler_info_4.json").write_text("{}")
    assert rank_of(folder) == 4


def test_ranks_told_twice_or_not_at_all() -> None:
    assert by_rank([Path("rank1.json"), Path("rank0.json")]) == {0: Path("rank0.json"), 1: Path("rank1.json")}
    assert by_rank([Path("a/rank0.json"), Path("b/rank0.json")]) == {}
    assert by_rank([Path("rank0.json"), Path("other.json")]) == {}


def three(folder: Path) -> None:
    """Rank 1 computes half as long as rank 0, and rank 2 is broken."""
    shutil.copy(DATA / "cuda.pt.trace.json", folder / "rank0.pt.trace.json")
    trace = json.loads((DATA / "cuda.pt.trace.json").read_text())
    for one in trace["traceEvents"]:
        if one.get("cat") == "kernel" and "nccl" not in one["name"]:
            one["dur"] *= 0.5
    (folder / "rank1.pt.trace.json").write_text(json.dumps(trace))
    (folder / "rank2.pt.trace.json").write_text('{"traceEvents": [{"ph" 1}]}')


def test_a_row_a_rank_and_the_others_go_on(tmp_path: Path) -> None:
    three(tmp_path)
    report = analyse(tmp_path)
    assert report.table is not None
    assert report.table.values("rank") == [0, 1]
    assert report.table.values("profiling_computing") == [0.4, 0.2]
    assert [part.verdict("en") for part in report.parts][0] == analyse(tmp_path / "rank0.pt.trace.json").verdict("en")
    assert [(one.key, one.status) for one in report.findings][1] == ("PRF310.unread", Status.FAIL)
    messages = [one.message("en") for one in report.findings]
    assert messages[0] == (
        "2 of 3 ranks were read; rank 0 computes most, 0.4 ms a step, and rank 1 least, 0.2 ms"
    )
    assert "rank 2 could not be read" in messages[1] and "rank2.pt.trace.json" in messages[1]
    assert report.figure("zh")


def test_where_none_can_be_read(tmp_path: Path) -> None:
    for rank in range(2):
        (tmp_path / f"rank{rank}.pt.trace.json").write_text("{")
    with pytest.raises(WorkbookError) as caught:
        analyse(tmp_path)
    assert caught.value.key == "profiling.cut_short"
