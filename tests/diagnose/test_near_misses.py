"""Lines just within and just beyond what belongs together, and words of what is just not known."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_workbook.diagnose import explain
from ascend_workbook.diagnose.decode import decode_text
from ascend_workbook.diagnose.episode import Episode, find_episodes, read_text
from ascend_workbook.diagnose.known import Known, load_known
from ascend_workbook.diagnose.log import Line, Log
from ascend_workbook.diagnose.scan import Hit, scan_log
from ascend_workbook.diagnose.verdict import report_on
from tests.diagnose.test_bounds import STEP
from tests.diagnose.test_explain import CAUSE, OOM, TIMEOUT, TRACE, WRAPPED, first, write


def key_of(text: str) -> list[str]:
    return [code.meaning["say"] for code in decode_text(text) if isinstance(code.meaning, dict)]


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("errcode:(0, 0, 0x800000000000)", ["code.bit"]),
        ("errcode:(0, 0, 0x1000000000000)", ["code.bit.unknown"]),
        ('"AI Core": {"status": 16}', ["code.overflow.4"]),
        ('"AI Core": {"status": 1073741824}', ["code.bit.unknown"]),
        ("ERR00777 x", ["code.err.unknown"]),
        ("ERR77100 x", ["code.err.unknown"]),
    ],
)
def test_what_is_beyond_the_lists_says_so(text: str, keys: list[str]) -> None:
    """The error register has bits 0 to 175; torch_npu's suffix needs a module and a kind that are both known."""
    assert key_of(text) == keys


def test_a_code_of_no_component_does_not_hide_the_next() -> None:
    assert [code.code for code in decode_text("EQ0001: x\nEZ9999: y")] == ["EZ9999"]


def hit(number: int, text: str, *, rank: str = "", log: str = "a", kind: str = "exception", **more: object) -> Hit:
    return Hit(Log(log), number, number, 0, Line(rank, rank, None, text), kind, **more)  # type: ignore[arg-type]


def test_an_episodes_time_is_that_of_its_first_line_with_one() -> None:
    late = Hit(Log("a"), 2, 2, 0, Line("", "", (11, 20, 10, 0, 0.0), "x"), "exception")
    assert Episode((hit(1, "y"), late), late).time == (11, 20, 10, 0, 0.0)


@pytest.mark.parametrize(("between", "cause"), [(39, "hccl_get_socket_ei0006"), (40, None)])
@pytest.mark.parametrize("before", [True, False])
def test_a_line_without_a_rank_is_beside_an_error_up_to_forty_lines(
    between: int, cause: str | None, before: bool
) -> None:
    lines = [f"{CAUSE}\n", between * STEP, f"[rank0]: {WRAPPED}\n"]
    episodes = find_episodes([scan_log(Log("", data="".join(lines if before else lines[::-1]).encode()))])
    of_rank = next(episode for episode in episodes if episode.rank == "0")
    assert (of_rank.known.id if of_rank.known and of_rank.known.specific else None) == cause


def test_a_line_of_another_log_is_not_beside_it(tmp_path: Path) -> None:
    scans = [scan_log(Log(str(path), path)) for path in write(tmp_path, a=f"{CAUSE}\n", b=f"[rank0]: {WRAPPED}\n")]
    assert [len(episode.hits) for episode in find_episodes(scans)] == [1, 1]


def test_a_wrapper_among_other_errors_of_its_rank_takes_the_cause_in() -> None:
    text = f"[rank0]: {WRAPPED}\n{CAUSE}\n[rank0]: KeyError: 'x'\n"
    assert first(explain(text)) == ("hccl_get_socket_ei0006", "0")


def test_an_error_without_a_rank_that_is_none_of_canns_stays_its_own() -> None:
    episodes = find_episodes([scan_log(Log("", data=f"KeyError: 'x'\n[rank1]: {WRAPPED}\n".encode()))])
    assert [(episode.rank, episode.main.number) for episode in episodes] == [("", 1), ("1", 2)]


def test_where_all_wait_the_one_written_first_counts() -> None:
    assert first(explain(f"[rank2]: {TIMEOUT}\n[rank1]: {TIMEOUT}\n"))[1] == "2"


def test_times_decide_only_where_every_rank_has_one() -> None:
    timed = "[rank1]: ValueError: 2026-11-20 09:59:58,000 early\n"
    assert first(explain(f"[rank0]: KeyError: 'x'\n{timed}"))[1] == "0"


def test_what_follows_another_error_is_none_of_the_first() -> None:
    assert first(explain(f"ValueError: mine\n{TRACE}KeyError: b\n{OOM}\n"))[0] is None


def test_an_episodes_text_has_at_most_200_lines_and_ends_behind_its_last() -> None:
    """Errors 39 lines apart are of one episode: six of them are 201 lines, and 40 more."""
    for errors, last in ((6, 200), (3, 121)):
        text = (f"ValueError: mine\n{39 * STEP}" * errors) + 60 * STEP
        episode = find_episodes([scan_log(Log("", data=text.encode()))])[0]
        assert len(episode.hits) == errors and read_text(episode)[-1][0] == last


def test_an_episodes_text_has_at_most_65536_bytes_and_no_blank_end() -> None:
    text = "ValueError: mine\n" + 70_000 * "x"
    episode = find_episodes([scan_log(Log("", data=text.encode()))])[0]
    assert [len(message) for _, message in read_text(episode)] == [16, 65_536 - 17]
    blank = find_episodes([scan_log(Log("", data=b"ValueError: mine\nstep\n\n \n\n"))])[0]
    assert [message for _, message in read_text(blank)] == ["ValueError: mine", "step"]


def test_lines_of_other_ranks_are_not_of_its_text() -> None:
    text = f"[rank0]: {OOM}\n[rank1]: step\n[rank0]: end\n"
    episode = find_episodes([scan_log(Log("", data=text.encode()))])[0]
    assert [number for number, _ in read_text(episode)] == [1, 3]


def pick(*, peer: bool = False, broad: bool = False, severity: str = "error") -> tuple[Known, ...]:
    return tuple(
        entry for entry in load_known() if (entry.peer, entry.broad, entry.severity) == (peer, broad, severity)
    )[:1]


def test_the_line_that_says_most_is_the_main_one() -> None:
    """A narrow cause, a broad one, another rank's, a kind of error, the rest; of equals the first."""
    ranks = [(), pick(severity="info"), pick(peer=True), pick(broad=True), pick()]
    assert all(ranks[1:])
    for low in range(5):
        for high in range(5):
            hits = [hit(1, "a", known=ranks[low]), hit(2, "b", known=ranks[high])]
            scan = scan_log(Log("a", data=b"step\n"))
            scan.hits = hits
            (episode,) = find_episodes([scan])
            assert episode.main.number == (2 if high > low else 1), (low, high)


def test_an_episode_begins_with_its_first_strong_line() -> None:
    scan = scan_log(Log("a", data=b"step\n"))
    scan.hits = [hit(1, "weak", kind="level"), hit(2, "strong"), hit(3, "next")]
    assert [taken.number for taken in find_episodes([scan])[0].hits] == [2, 3]


@pytest.mark.parametrize(
    ("texts", "key"),
    [
        ({"a": f"[rank3]: {OOM}\n"}, "EXP001.first"),
        ({"a": f"{OOM}\n", "b": f"{OOM}\n"}, "EXP001.first"),
        ({"a": f"[rank0]: {OOM}\n[rank1]: {OOM}\n"}, "EXP001.first_rank"),
        ({"a": "", "b": "step\n"}, "EXP006.clean"),
        ({"a": "", "b": ""}, "EXP006.empty"),
    ],
)
def test_the_verdict_over_several_logs(tmp_path: Path, texts: dict[str, str], key: str) -> None:
    assert explain(*write(tmp_path, **texts)).findings[0].key == key


def test_a_warning_is_no_line_at_the_level_error() -> None:
    text = "[W] Warning: CAUTION: The operator 'aten::x' is not currently supported on the NPU backend and falls back\n"
    report = explain(text)
    assert [finding.rule for finding in report.findings if finding.rule in ("EXP003", "EXP004")] == []


def test_the_facts_of_the_first_error(tmp_path: Path) -> None:
    (path,) = write(tmp_path, train=f"{STEP}{OOM}\n")
    report = explain(path)
    oom = next(entry for entry in load_known() if entry.id == "oom")
    assert report.facts["first"] == {
        "id": "oom",
        "rank": None,
        "log": str(path),
        "line": 2,
        "error": OOM,
        "confidence": oom.confidence,
        "sources": list(oom.sources),
        "codes": [],
    }
    assert (report.facts["lines"], report.facts["bytes"]) == (2, path.stat().st_size)
    assert report.table and report.table.column_values("place")[0] == f"{path}:2"
    unknown = explain("ValueError: mine\n")
    assert unknown.table and unknown.table.column_values("place")[0] is None
    told = {name: unknown.facts["first"][name] for name in ("id", "confidence", "sources")}
    assert told == {"id": None, "confidence": None, "sources": []}


def test_an_unread_log_is_told_beside_the_others(tmp_path: Path) -> None:
    scans = [scan_log(Log(str(path), path)) for path in write(tmp_path, a=f"{OOM}\n", b=STEP)]
    scans[1].unread = "cut"
    told = [finding.args for finding in report_on(scans).findings if finding.rule == "EXP011"]
    assert told == [{"path": scans[1].log.name, "error": "cut"}]
