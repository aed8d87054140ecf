"""How far lines may stand apart to be of one failure, and how much of a log a report shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_workbook.diagnose import explain
from ascend_workbook.diagnose.decode import decode_text
from ascend_workbook.diagnose.episode import Episode, find_episodes, read_text
from ascend_workbook.diagnose.log import Line, Log
from ascend_workbook.diagnose.scan import Hit, scan_log
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from tests.diagnose.test_explain import OOM, TRACE

STEP = "step\n"


@pytest.mark.parametrize(("between", "cause"), [(39, "oom"), (40, None)])
def test_an_error_is_of_the_one_before_it_up_to_forty_lines_on(between: int, cause: str | None) -> None:
    """The first stands in line 1; one in line 41 says what it was, one in line 42 is of something else."""
    report = explain(f"ValueError: mine\n{between * STEP}{OOM}\n")
    assert report.facts["first"]["id"] == cause


def test_an_episodes_text_ends_forty_lines_behind_its_last_hit() -> None:
    text = f"{STEP}ValueError: mine\n{60 * STEP}"
    episode = find_episodes([scan_log(Log("", data=text.encode()))])[0]
    lines = read_text(episode)
    assert (lines[0], lines[-1]) == ((2, "ValueError: mine"), (42, "step"))


def test_of_the_text_thirty_lines_are_shown() -> None:
    listing = explain(f"ValueError: mine\n{60 * STEP}").listing
    assert listing and listing.text.splitlines()[-1] == "30: step"


def test_a_long_error_is_cut() -> None:
    """Its one line is longer than a file's name may be: it is a text all the same."""
    report = explain("ValueError: " + 400 * "x")
    assert report.facts["first"]["error"] == "ValueError: " + 288 * "x"


def test_eight_other_ranks_have_a_row() -> None:
    report = explain("".join(f"[rank{rank}]: {OOM}\n" for rank in range(12)))
    assert report.table and report.table.column_values("rank") == list(map(str, range(9)))


def test_only_cause_and_cure_are_wrapped() -> None:
    table = explain(f"{OOM}\n").table
    assert table and [(column.name, column.wrap) for column in table.columns if column.wrap] == [
        ("cause", 46),
        ("fix", 46),
    ]


def test_what_is_repeated_is_read_64_times_and_counted() -> None:
    report = explain("".join(f"RuntimeError: cell {number} is bad\n" for number in range(70)))
    repeated = next(finding for finding in report.findings if finding.rule == "EXP007")
    assert report.facts["repeated"] == 6 and repeated.args == {"count": 6}
    assert not [finding for finding in explain("RuntimeError: bad\n").findings if finding.rule == "EXP007"]


@pytest.mark.parametrize(("mark", "rank"), [("[rank3]: ", "3"), ("", None)])
def test_every_row_of_the_first_error_has_its_rank(mark: str, rank: str | None) -> None:
    report = explain(f"{mark}{OOM} error code is 507015\n")
    assert report.table and [code["code"] for code in report.facts["first"]["codes"]] == ["507015"]
    assert report.table.column_values("rank") == [rank] * len(report.table.rows)


@pytest.mark.parametrize(("code", "other"), [("24", ""), ("25", "0x19"), ("0x18", ""), ("0x19", "25")])
def test_a_number_above_hccls_results_may_be_of_another_record(code: str, other: str) -> None:
    """HCCL's results end at 24; what is larger is an overflow status, or the AI core's error register."""
    readings = [finding.args["other"] for finding in explain(code).findings if finding.rule == "EXP012"]
    assert readings == ([other] if other else [])


@pytest.mark.parametrize(("characters", "codes"), [(120, ["507015"]), (121, [])])
def test_a_phrase_has_at_most_120_characters(characters: int, codes: list[str]) -> None:
    text = "aicore 507015 ".ljust(characters, "x")
    facts = explain(text).facts.get("first") or {"codes": []}
    assert [code["code"] for code in facts["codes"]] == codes


def test_the_text_ends_where_the_traceback_of_another_error_begins() -> None:
    listing = explain(f"{TRACE}{OOM}\n{STEP}{TRACE}ValueError: b\n").listing
    assert listing and [line.partition(": ")[0] for line in listing.text.splitlines()] == ["1", "2", "3", "4"]


@pytest.mark.parametrize(
    ("ranks", "expected"), [(["", "worker-1", "3"], "3"), (["", "worker-1"], "worker-1"), ([""], "")]
)
def test_an_episodes_rank_is_a_number_where_any_line_has_one(ranks: list[str], expected: str) -> None:
    hits = [Hit(Log("a"), 1, 1, 0, Line("", rank, None, "x"), "exception") for rank in ranks]
    assert Episode(tuple(hits), hits[0]).rank == expected


@pytest.mark.parametrize(("code", "key"), [("EZ9012", "code.cann.internal"), ("EZ0912", "code.cann.unlisted")])
def test_a_nine_behind_the_module_is_an_internal_error(code: str, key: str) -> None:
    meaning = decode_text(f"{code}: x")[0].meaning
    assert isinstance(meaning, dict) and meaning["say"] == key


@pytest.mark.parametrize("text", [OOM, f"[rank0]: {OOM}\n[rank1]: {OOM}\n", "ValueError: mine"])
def test_the_first_error_outweighs_what_else_was_found(text: str) -> None:
    assert explain(text + "\n").findings[0].weight == 100


ZEROS = 5000 * b"\0"
KILLED = (
    b"step 1\nstep 2 lo" + ZEROS + b"[rank1]: RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB\nstep 3\n"
)


@pytest.mark.parametrize(
    ("data", "line", "count"),
    [
        (KILLED, 3, 5000),  # what stands behind a hole was written later: another line
        (ZEROS + KILLED, 3, 10000),  # emptied under its writer
        (KILLED + ZEROS, 3, 10000),
        (KILLED.replace(ZEROS, b"\n" + ZEROS) + b"a\0b\n", 3, 5001),
        (KILLED.replace(ZEROS, ZEROS + b"\n"), 3, 5000),
    ],
)
def test_a_log_with_zeros_is_read_and_they_are_told(tmp_path: Path, data: bytes, line: int, count: int) -> None:
    (tmp_path / "train.log").write_bytes(data)
    report = explain(tmp_path / "train.log")
    assert report.facts["first"]["id"] == "oom" and report.facts["first"]["line"] == line, report.facts
    assert (
        report.listing and "RuntimeError: NPU out of memory" in report.listing.text and "\0" not in report.listing.text
    )
    (told,) = [finding for finding in report.findings if finding.key == "EXP011.zeros"]
    assert told.args == {"path": str(tmp_path / "train.log"), "count": count}


def test_a_clean_log_with_zeros_is_not_plainly_clean(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_bytes(100 * b"step\n" + ZEROS)
    assert explain(tmp_path / "train.log").status is Status.NOTE
    (tmp_path / "train.log").write_bytes(ZEROS)
    with pytest.raises(WorkbookError, match="zero bytes alone"):
        explain(tmp_path / "train.log")


def test_what_is_no_text_is_refused_with_zeros_and_without(tmp_path: Path) -> None:
    for data in (bytes(range(256)) * 40, b"".join(bytes([number % 256, 0, 0]) for number in range(9000))):
        (tmp_path / "weights.log").write_bytes(data)
        with pytest.raises(WorkbookError, match="not a text log"):
            explain(tmp_path / "weights.log")
