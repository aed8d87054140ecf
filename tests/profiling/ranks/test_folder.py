"""A folder of several ranks: whose each profile is; one that is missing, doubled or broken does not stop the others."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.cli.main import main
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import title
from ascend_workbook.profiling import analyse
from ascend_workbook.profiling.readers import choice, group_by_rank, rank_of
from tests.page.reading import read_page, said_on
from tests.profiling.conftest import DATA
from tests.profiling.readers.test_choice import events


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("rank0.pt.trace.json", 0),
        ("rank-12.Apr_03.pt.trace.json.gz", 12),
        ("rank_3_ascend_pt", 3),
        ("rank7/trace.json", 7),
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


@pytest.mark.parametrize("packed", [False, True])
def test_the_trace_itself_tells_it_better(tmp_path: Path, packed: bool) -> None:
    text = json.dumps({"schemaVersion": 1, "distributedInfo": {"rank": 6, "pg": [{"a": 1}]}, "traceEvents": []})
    file = tmp_path / f"rank1.trace.json{'.gz' if packed else ''}"
    file.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    assert rank_of(file) == 6
    file.write_bytes(b'{"distributedInfo": {"rank"' if not packed else b"\x1f\x8b no gzip")
    assert rank_of(file) == 1, "a broken file is told by its name, and said to be broken where it is read"


def test_doubled_and_untold_ranks(tmp_path: Path) -> None:
    stamped = [f"a_2026010{day}120000000_rank0_ascend_pt" for day in (1, 2)]
    names = (*stamped, "rank1_ascend_pt", "x_ascend_pt")
    folders = [tmp_path / name for name in names]
    for one in folders:
        one.mkdir()
    found = group_by_rank(folders)
    assert found.profiles == {0: folders[1], 1: folders[2]}
    assert found.older == {0: [folders[0]]} and found.untold == [folders[3]]


def trace(rank: int, world: int = 2, *, scale: float = 1.0, arrive_us: float = 0.0) -> dict[str, Any]:
    """The synthetic CUDA trace as one of several ranks; its collectives begin later and end at the same moment."""
    content: dict[str, Any] = json.loads((DATA / "cuda.pt.trace.json").read_text())
    content = {"distributedInfo": {"rank": rank, "world_size": world}, **content}
    for one in content["traceEvents"]:
        if one.get("cat") == "kernel" and "nccl" in one["name"]:
            one["ts"], one["dur"] = one["ts"] + arrive_us, one["dur"] - arrive_us
        elif one.get("cat") == "kernel":
            one["dur"] *= scale
    return content


def write(folder: Path, *traces: dict[str, Any]) -> None:
    for one in traces:
        (folder / f"rank{one['distributedInfo']['rank']}.pt.trace.json").write_text(json.dumps(one))


def messages(report: Report) -> dict[str, str]:
    return {one.key: one.message("en") for one in report.findings}


def test_a_row_a_rank_and_the_others_go_on(tmp_path: Path) -> None:
    """Rank 1 computes half as long as rank 0, rank 2 is broken, rank 3 is not there."""
    write(tmp_path, trace(0, 4), trace(1, 4, scale=0.5))
    (tmp_path / "rank2.pt.trace.json").write_text('{"traceEvents": [{"ph" 1}]}')
    report = analyse(tmp_path)
    assert report.table is not None and report.status is Status.FIX
    assert report.table.column_values("rank") == [0, 1]
    assert report.table.column_values("profiling_computing") == [0.4, 0.2]
    said = messages(report)
    assert "2 of 3 ranks were read" in report.findings[0].message("en")
    assert "rank 2 could not be read" in said["PRF310.unread"] and "rank2.pt.trace.json" in said["PRF310.unread"]
    assert said["PRF350.missing"] == "profiles of 3 of 4 ranks are here; missing: 3"
    assert [part.verb for part in report.parts] == ["collectives", "analyse", "analyse"]
    assert report.parts[1].verdict("en") == analyse(tmp_path / "rank0.pt.trace.json").verdict("en")
    assert report.figure("zh") and report.parts[0].figure("en")
    assert Report.from_json(report.to_json()).facts == json.loads(report.to_json())["facts"]


def test_a_rank_that_comes_late_is_named(tmp_path: Path) -> None:
    write(tmp_path, trace(0), trace(1, arrive_us=80))
    report = analyse(tmp_path)
    (found,) = [one for one in report.findings if one.rule == "PRF352"]
    assert (found.args["rank"], found.args["waited_rank"], found.args["wait_ms"]) == (0, 1, 0.08)
    assert report.facts["world_size"] == 2 and report.facts["clocks_set_right"] == []
    assert report.parts[0].table is not None
    assert report.parts[0].table.column_values("last_rank") == [1]


def test_some_of_the_ranks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, *(trace(rank, 3) for rank in range(3)))
    report = analyse(tmp_path, ranks="0,2")
    assert report.table is not None and report.table.column_values("rank") == [0, 2]
    for given, said in (("7", "no profile of rank 7"), ("a", "no list of numbers")):
        assert main(["analyse", str(tmp_path), "--ranks", given]) == 2
        assert said in capsys.readouterr().err


def test_the_one_rank_there_is_may_be_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, trace(1))
    for path in (tmp_path, tmp_path / "rank1.pt.trace.json"):
        assert analyse(path, ranks="1").verb == "analyse"
        assert main(["analyse", str(path), "--ranks", "0,1"]) == 2
        assert "Ranks that are here: 1" in capsys.readouterr().err


def test_what_takes_one_rank_names_their_paths(tmp_path: Path) -> None:
    write(tmp_path, trace(0), trace(1))
    with pytest.raises(WorkbookError) as caught:
        analyse(tmp_path, files={"flame": str(tmp_path.parent / "flame.txt")})
    assert all(str(tmp_path / f"rank{rank}.pt.trace.json") in caught.value.hint("zh") for rank in (0, 1))


def test_a_script_and_no_rows_are_refused(tmp_path: Path) -> None:
    script = tmp_path / "slow.py"
    script.write_text("import torch")
    with pytest.raises(WorkbookError, match="is a script and no profile") as caught:
        analyse(script)
    assert f"ascend-workbook profile {script}" in caught.value.hint("en")
    write(tmp_path, trace(0))
    with pytest.raises(WorkbookError, match="top is 0"):
        analyse(tmp_path, top=0)


def test_an_older_profile_of_a_rank_is_left_out(tmp_path: Path) -> None:
    write(tmp_path, trace(0), trace(1))
    shutil.copy(tmp_path / "rank0.pt.trace.json", tmp_path / "rank0.1623143089861.pt.trace.json")
    said = messages(analyse(tmp_path))["PRF350.twice"]
    assert "rank 0 has 2 profiles; rank0.1623143089861.pt.trace.json was used" in said


def test_ranks_of_another_run_are_left_out(tmp_path: Path) -> None:
    write(tmp_path, trace(0, 3), trace(1, 3), trace(2, 5))
    report = analyse(tmp_path)
    assert messages(report)["PRF350.other_run"] == "ranks 2 are of another run than ranks 0, 1 and were left out"
    assert report.table is not None and report.table.column_values("rank") == [0, 1]


def test_of_many_ranks_those_that_stand_out_are_shown(tmp_path: Path) -> None:
    write(tmp_path, *(trace(rank, 10, arrive_us=80 if rank == 9 else 0) for rank in range(10)))
    report = analyse(tmp_path)
    shown = [part.parts[0].facts["source"] for part in report.parts if part.verb == "analyse"]
    assert len(shown) == 8 and shown[-1].endswith("rank9.pt.trace.json")
    assert report.table is not None and len(report.table.rows) == 10


def test_where_none_can_be_read(tmp_path: Path) -> None:
    for rank in range(2):
        (tmp_path / f"rank{rank}.pt.trace.json").write_text("{")
    with pytest.raises(WorkbookError) as caught:
        analyse(tmp_path)
    assert caught.value.key == "profiling.cut_short"


def test_a_dask_cluster_reads_the_same(address: str, tmp_path: Path) -> None:
    """Broken ranks too; the cluster is a scheduler and two workers of their own."""
    write(tmp_path, trace(0, 3), trace(1, 3, arrive_us=80))
    (tmp_path / "rank2.pt.trace.json").write_text('{"traceEvents": [{"ph" 1}]}')
    here, there = analyse(tmp_path), analyse(tmp_path, scheduler=address)
    assert here.table == there.table and here.facts == there.facts
    assert [(one.key, one.args) for one in here.findings] == [(one.key, one.args) for one in there.findings]


def test_nobody_at_the_address_is_one_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("ascend_workbook.machine.scheduler.CONNECT", 1)
    write(tmp_path, trace(0), trace(1))
    assert main(["analyse", str(tmp_path), "--scheduler", "tcp://127.0.0.1:9"]) == 2
    assert "tcp://127.0.0.1:9: no Dask scheduler answers there" in capsys.readouterr().err


def test_each_ranks_own_report_names_its_rank(shared: Path) -> None:
    report = analyse(shared / "data" / "npu" / "alexnet_910b_level1")
    own = [part for part in report.parts if part.verb == "analyse"]
    assert [part.title("en") for part in own] == ["Rank 0: Where the time goes", "Rank 1: Where the time goes"]
    assert "Rank 1：时间花在哪里" in report.text("zh")


def test_the_page_says_which_steps_of_each_rank_were_looked_at(tmp_path: Path) -> None:
    for rank, steps in enumerate((40, 40, 44)):
        found = {"traceEvents": list(events(steps)), "distributedInfo": {"rank": rank}}
        (tmp_path / f"rank{rank}.trace.json").write_text(json.dumps(found))
    report = analyse(tmp_path, steps="20-23")
    assert report.table is not None
    of = [report.table.column_values("rank_steps")[rank] for rank in (0, 2)]
    args = [{"first": 20, "last": 23, "steps": steps} for steps in (40, 44)]
    assert of == [{"say": "profiling.steps_of", "args": one} for one in args]
    told = [one for one in report.findings if one.rule == "PRF358"]
    assert [one.args["ranks"] for one in told] == ["0-1", "2"] and {one.status for one in told} == {Status.NOTE}
    assert told[0].message("en").startswith("looked at steps 20 to 23 of 40 of rank 0-1")
    assert report.facts["looked"]["2"]["steps"] == 44 and report.facts["steady_steps"]["0"] == [20, 21, 22, 23]
    for lang, words in (("en", "20-23 of 44"), ("zh", "44 步中的 20-23")):
        page = said_on(report.html(lang), lang)
        assert words in page and words in report.text(lang)
        assert told[0].message(lang) in report.text(lang) and told[1].message(lang) in page


def test_of_ranks_looked_at_whole_nothing_is_told(tmp_path: Path) -> None:
    write(tmp_path, trace(0), trace(1))
    report = analyse(tmp_path, steps="auto")
    assert report.table is not None and "rank_steps" not in [one.name for one in report.table.columns]
    assert report.facts["looked"] == {} and not [one for one in report.findings if one.rule == "PRF358"]


def test_ranks_far_behind_their_hosts_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "WHOLE", 1)
    monkeypatch.setattr(choice, "MORE", 1)
    for rank, lag in enumerate((300, 12_300)):
        found = {"traceEvents": list(events(40, lag_us=lag)), "distributedInfo": {"rank": rank}}
        (tmp_path / f"rank{rank}.trace.json").write_text(json.dumps(found))
    told = [one for one in analyse(tmp_path, steps="20-29").findings if one.rule == "PRF358"]
    assert [(one.key, one.args["ranks"]) for one in told] == [("PRF358.some", "0-1"), ("PRF358.behind", "1")]
    assert told[1].status is Status.LOOK and "step" in told[1].message("en")


def test_the_reports_of_several_ranks_are_folded(tmp_path: Path) -> None:
    """As text the tables of each rank are left out unless asked for, on the page its verdict opens them."""
    write(tmp_path, trace(0), trace(1))
    report = analyse(tmp_path)
    for lang, told in (
        ("en", "The tables of rank 1: `analyse ... --ranks 1`"),
        ("zh", "rank 1 的各表：`analyse ... --ranks 1`"),
    ):
        short, whole = report.text(lang), report.text(lang, details=True)
        assert told in short and told not in whole
        heading = title("top_operators", lang)
        table = heading + {"en": ": ", "zh": "："}[lang]
        assert short.count(f"\n{heading} ") == 2 and table not in short
        assert whole.count(table) == 2
        titles = [part["title"] for part in next(iter(read_page(report.html(lang))["tabs"].values()))["parts"]]
        assert sum("rank" in str(heading).lower() for heading in titles) == 2
    one = analyse(tmp_path, ranks="1")
    assert "--ranks" not in one.text("en") and '<details class="rank">' not in one.html("en", page=False)
