"""Which error began it: by time, by torchrun's word, before those that only wait; and what the report shows."""

from __future__ import annotations

import gzip
import io
import random
from pathlib import Path

import pytest

import helpers
from ascend_workbook.cli.main import build_parser, main
from ascend_workbook.diagnose import SYMPTOMS, explain, explain_text
from ascend_workbook.diagnose.log import Log, parse_line
from ascend_workbook.diagnose.scan import _read_chunks, scan_log
from ascend_workbook.diagnose.verdict import report_on
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import load_catalogue, show
from tests.diagnose.test_known import LOGS

TIMEOUT = "RuntimeError: store->get('0') got error: Socket Timeout"
OOM = "RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB (NPU 1; 60.97 GiB total capacity)"
TRACE = 'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\n'


def write(folder: Path, **texts: str) -> list[Path]:
    paths = []
    for name, text in texts.items():
        paths.append(folder / f"{name}.log")
        paths[-1].write_text(text, encoding="utf-8")
    return paths


def first(report: Report) -> tuple[str | None, str | None]:
    found = report.facts["first"]
    return found["id"], found["rank"]


def test_the_first_failing_rank_by_time() -> None:
    """Rank 1 stands later in the file; its error came half an hour before rank 0's time-out."""
    report = explain(LOGS / "two_ranks.log")
    assert report.status is Status.FIX
    assert first(report) == ("mte_ddr_range", "1")
    assert report.facts["first"]["line"] == 21
    codes = [code["code"] for code in report.facts["first"]["codes"]]
    assert codes == ["507015", "EZ9999", "bit 23", "bit 78", "ERR00100"]
    assert report.table
    roles = [show(role, "en") for role in report.table.column_values("explain_role")]
    assert roles[:2] == ["first error", "named with it"] and roles[-1] == "other rank"
    assert "rank 1 failed first of 2" in report.verdict("en")
    assert Report.from_json(report.to_json()) == report


def test_torchruns_root_cause_where_no_line_has_a_time() -> None:
    summary = "Root Cause (first observed failure):\n[0]:\n  rank      : 1 (local_rank: 1)\n"
    text = f"[rank0]: ValueError: a\n[rank1]: {OOM}\n[rank2]: KeyError: 'b'\n"
    assert first(explain(text)) == (None, "0")
    assert first(explain(text + summary)) == ("oom", "1")


def test_who_only_waits_is_not_the_first(tmp_path: Path) -> None:
    paths = write(tmp_path, rank0=f"{TRACE}{TIMEOUT}\n", rank1=f"{TRACE}{OOM}\n")
    assert first(explain(*paths)) == ("oom", "1")
    assert first(explain(paths[0])) == ("store_timeout", "0")


def test_times_count_over_files(tmp_path: Path) -> None:
    late = "2026-11-20 10:00:09,000 - ERROR - RuntimeError: x\nKeyError: 2026-11-20 10:00:09,100 late\n"
    early = "ValueError: 2026-11-20 09:59:58,000 early\n"
    assert explain(*write(tmp_path, rank0=late, rank1=early)).facts["first"]["rank"] == "1"


def test_a_chained_exception_is_explained_by_its_root() -> None:
    text = (
        f"{TRACE}ImportError: libhccl.so: cannot open shared object file: No such file or directory\n\n"
        "The above exception was the direct cause of the following exception:\n\n"
        f"{TRACE}RuntimeError: Failed to load the backend extension: torch_npu. You can disable auto-loading\n"
    )
    report = explain(text)
    assert first(report)[0] == "libhccl_missing"
    assert [show(cell, "en") for cell in report.table.column_values("explain_codes")][1] == "autoload_failed"  # type: ignore[union-attr]


def test_a_later_traceback_is_another_error() -> None:
    report = explain(f"{TRACE}ValueError: mine\nretrying\n{TRACE}{OOM}\n")
    assert first(report)[0] is None and "ValueError: mine" in report.verdict("en")


def test_the_source_lines_of_a_traceback_are_no_messages() -> None:
    """A script that raises by itself spells the message out; the line at the end counts."""
    text = TRACE + '    raise IndexError("index out of range in self")\nmypackage.Boom: mine\n'
    assert first(explain(text)) == (None, None)


def test_hosts_with_ranks() -> None:
    text = "".join(
        f"worker-1: {line}\n"
        for line in (
            *TRACE.strip().split("\n"),
            "RuntimeError: npuSynchronizeDevice:torch_npu/csrc/core/npu/NPUStream.cpp:363 NPU error, "
            "error code is 107020",
            "[ERROR] 2024-07-03-11:28:40 (PID:639, Device:0, RankID:16) ERR00100 PTA call acl api failed.",
            "EI9999: 2024-07-03-11:28:40.419.527  The error from device(chipId:0, dieId:0), hccl fftsplus task timeout",
        )
    )
    report = explain(text)
    assert first(report) == ("hccl_notify_ei0002", "16")
    assert [code["code"] for code in report.facts["first"]["codes"]] == ["107020", "EI9999", "ERR00100"]


def test_codes_in_brackets_as_newer_versions_print_them() -> None:
    text = (
        "RuntimeError: create_config: HCCL function error: hcclCommInitRootInfoConfig(), error code is 7\n"
        "[ERROR] 2026-04-28-16:56:53 (PID:33, Device:0, RankID:-1) ERR02200 DIST call hccl api failed.\n"
        "[PID: 33] 2026-04-28-16:56:52.897.463 Communication_Error_Bind_IP_Port(EJ0003): the port is bound already\n"
    )
    report = explain(text)
    assert first(report)[0] == "hccl_port_ej0003"
    assert [code["code"] for code in report.facts["first"]["codes"]] == ["7", "EJ0003", "ERR02200"]
    assert first(explain("[PID: 33] Communication_Error_Ranktable_Detect(EI0015): no rank\n"))[0] == (
        "hccl_get_socket_ei0006"
    )


def test_the_reason_behind_the_inner_error() -> None:
    """An operator named at the time of an asynchronous error is not the reason; the refused call below it is."""
    lines = (
        "RuntimeError: The Inner error is reported as above. The current working operator name is lccl_allreduce.",
        "[ERROR] 2025-05-13-09:39:22 (PID:1850, Device:5, RankID:-1) ERR00100 PTA call acl api failed.",
        "EE1001: [PID: 1850] 2025-05-13-09:39:22.216.023 The argument is invalid.Reason: Memory async failed",
        "        TraceBack (most recent call last):",
        "        [Call][Rts]call rts api [rtMemcpyAsync] failed, retCode is 107000[FUNC:ReportCallError]",
    )
    report = explain("".join(f"ERROR 05-13 09:39:22 core.py:291] {line}\n" for line in lines))
    assert first(report)[0] == "param_107000"
    assert [code["code"] for code in report.facts["first"]["codes"]] == ["107000", "EE1001", "ERR00100"]


def test_an_unknown_error_says_what_to_collect_and_where_to_ask() -> None:
    report = explain(f"{TRACE}mypackage.Boom: 42 widgets\n")
    assert report.status is Status.FIX and "mypackage.Boom: 42 widgets" in report.verdict("en")
    for lang in ("en", "zh"):
        hint = report.findings[0].hint(lang)
        assert "check --json" in hint and "plog" in hint
        assert all(place in hint for place in ("/forum", "/issues", "/support"))


def test_only_follow_ups() -> None:
    report = explain(
        "[ERROR] TBE Subprocess[task_distribute] raise error[], main process disappeared!\n"
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
    )
    assert report.status is Status.FIX and "only follow-ups" in report.verdict("en")


def test_warnings_do_not_block() -> None:
    line = "[W] Warning: CAUTION: The operator 'aten::x' is not currently supported on the NPU backend and falls back\n"
    report = explain(line * 3 + "step 1 loss 2.0\n")
    assert report.status is Status.LOOK and "(3 times)" in report.verdict("en")


def test_lines_at_the_level_error_are_not_called_clean() -> None:
    report = explain("[ERROR] RUNTIME(7,python3):2026-11-20-10:00:00.000.001 [a.cc:1]7 f: something odd\n")
    assert report.status is Status.LOOK and "something odd" in report.verdict("en")


def test_an_empty_log_was_not_looked_at(tmp_path: Path) -> None:
    assert explain(*write(tmp_path, empty="")).status is Status.NOT_LOOKED


def test_a_storm_of_errors_is_counted_not_read(tmp_path: Path) -> None:
    text = "".join(f"[ERROR] RUNTIME(7,python3):2026-11-20-10:00:00.{n:03d}.001 [a.cc:{n}]7 odd\n" for n in range(900))
    report = explain(*write(tmp_path, plog=text + OOM + "\n"))
    assert first(report)[0] == "oom" and report.facts["first"]["line"] == 901
    assert report.facts["repeated"] == 900 - 64


@pytest.mark.parametrize(
    ("code", "verdict"),
    [
        ("507015", "AI core"),
        ("272", "left its number type"),
        ("0x10", "error register"),
        ("EI0006", "did not connect in time"),
        ("7", "A call of HCCL failed"),
        ("ERR00100", "torch_npu's own suffix"),
    ],
)
def test_a_bare_code_is_explained(code: str, verdict: str) -> None:
    assert verdict in explain(code).verdict("en")


@pytest.mark.parametrize(
    ("code", "other"), [("272", "0x110"), ("0x110", "272"), ("507015", ""), ("7", ""), ("0x1000000", "")]
)
def test_a_number_that_may_be_of_another_record_says_so(code: str, other: str) -> None:
    """An overflow record writes its status in decimals, the error register in hex; the bits mean different things."""
    found = [finding for finding in explain(code).findings if finding.rule == "EXP012"]
    assert [finding.args["other"] for finding in found] == ([other] if other else [])
    if other:
        assert f"`ascend-workbook explain {other}`" in found[0].hint("zh")
        assert explain(other).verdict("en") != explain(code).verdict("en")


def test_a_line_longer_than_a_chunk_is_cut_and_the_rest_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ascend_workbook.diagnose.scan.CHUNK_BYTES", 256)
    held: list[int] = []
    found = _read_chunks(io.BytesIO(b"x" * 10_000 + b"\n" + OOM.encode() + b"\n"))
    for chunk in found:
        held.append(len(chunk))
    assert max(held) <= 3 * 256 and sum(held) == 10_002 + len(OOM.encode())
    assert first(explain(*write(tmp_path, plog="x" * 999 + "\n" + OOM + "\n")))[0] == "oom"


def test_a_log_that_goes_away_after_it_was_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (log,) = write(tmp_path, plog=OOM + "\n")
    scanned = scan_log(Log(str(log), Path(log)))
    Path(log).unlink()
    report = report_on([scanned])
    assert report.facts["first"]["id"] == "oom" and report.listing and "out of memory" in report.listing.text
    gone = next(finding for finding in report.findings if finding.rule == "EXP011")
    assert gone.status is Status.NOT_LOOKED and "文件或文件夹不存在" in gone.message("zh")


@pytest.mark.parametrize(
    "line",
    [
        "Authorization: Bearer PLANTEDplanted0123",
        "--token PLANTEDplanted0123",
        "connect postgres://me:PLANTEDplanted0123@db/x",
        "OBS_SECRET_ACCESS_KEY=PLANTEDplanted0123",
        "password: 'PLANTED with blanks'",
        "nothing around PLANTED-of-this-process",
        "-----BEGIN PRIVATE KEY-----\nPLANTEDplanted0123\n-----END PRIVATE KEY-----",
    ],
)
def test_no_credential_is_in_the_report(tmp_path: Path, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of any form the redaction knows, in the excerpt and in the verdict on an unknown error."""
    monkeypatch.setenv("MY_SERVICE_TOKEN", "PLANTED-of-this-process")
    for text in (f"{OOM}\n{line}\n", f"{TRACE}OddError: {line}\n"):
        report = explain(*write(tmp_path, train=text))
        assert "first" in report.facts and "PLANTED" not in report.to_json() + report.text("zh") + report.html("en")


def test_folders_standard_input_and_what_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "attempt_0" / "3").mkdir(parents=True)
    (tmp_path / "attempt_0" / "3" / "stderr.log").write_text(OOM)
    assert first(explain(tmp_path)) == ("oom", "3")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(OOM.encode())))
    assert first(explain("-"))[0] == "oom"
    (tmp_path / "none").mkdir()
    for missing, key in (("runs/absent.log", "no_file"), (str(tmp_path / "none"), "no_logs")):
        with pytest.raises(WorkbookError) as error:
            explain(missing)
        assert error.value.key == f"explain.{key}"
    with pytest.raises(WorkbookError):
        explain()


def test_secrets_in_the_log_are_not_repeated() -> None:
    report = explain(f"{TRACE}ValueError: cannot log in with token=hunter2 and password: hunter2\n")
    assert "hunter2" not in report.to_json() + report.text("en") + report.html("zh")


@pytest.mark.parametrize(
    ("text", "stream", "message"),
    [
        ("[rank1]:   File x", "1", "  File x"),
        ("[default0]:[rank0]: KeyError: 1", "0", "KeyError: 1"),
        ("(Worker_TP0 pid=85) ERROR 11-27 12:40:30 [a.py:815] ValueError: x", "Worker_TP0 pid=85", "ValueError: x"),
        ("(VllmWorker TP0 pid=35532) x", "VllmWorker TP0 pid=35532", "x"),
        ("2026-11-20T10:00:00.1Z stderr F worker-1: x", "worker-1", "x"),
        ("\x1b[31mRuntimeError: x\x1b[0m", "", "RuntimeError: x"),
        (" 10%|#  \r 20%|## \rdone", "", "done"),
        ("[1, 2, 3]: x", "", "[1, 2, 3]: x"),
    ],
)
def test_marks_before_a_line(text: str, stream: str, message: str) -> None:
    line = parse_line(text)
    assert (line.stream, line.message) == (stream, message)


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("[ERROR] RUNTIME(1,python3):2026-11-20-10:31:39.645.648 [a.cc:1]", (11, 20, 10, 31, 39.645)),
        ("2026-11-20 10:31:39,645 - INFO", (11, 20, 10, 31, 39.645)),
        ("[W428 20:51:15.589252880 ToKernelNpu.cpp:41] Warning", (4, 28, 20, 51, 15.58925288)),
        ("E1120 10:31:45.000000 2000 torch/distributed/run.py:1] x", (11, 20, 10, 31, 45.0)),
        ("11/20/2026 10:00:00 - INFO - x", (11, 20, 10, 0, 0.0)),
        ("step 3 loss 0.5", None),
    ],
)
def test_times(text: str, time: tuple[float, ...] | None) -> None:
    assert parse_line(text).time == time


def test_the_short_form() -> None:
    found = explain_text(f"RuntimeError: {OOM}")
    assert found and found.known.id == "oom" and "memory" in show(found.cause, "en") and found.source
    assert explain_text("ValueError: mine") is None
    assert explain_text("error code is 507000") is None


def test_the_short_form_looks_into_the_log_for_the_rank_that_failed_first(tmp_path: Path) -> None:
    log = write(tmp_path, output=f"[rank0]: {TIMEOUT}\n[rank1]: {TRACE}[rank1]: {OOM}\n")[0]
    for text, expected in ((TIMEOUT, "oom"), ("", "oom"), ("EI0001: x", "hccl_env_ei0001"), ("ValueError: mine", None)):
        found = explain_text(text, log)
        assert (found.known.id if found else None) == expected


@pytest.mark.parametrize("symptom", SYMPTOMS)
def test_checklists(symptom: str) -> None:
    report = helpers.explain(symptom=symptom)
    assert report.status is Status.NOTE and report.table and len(report.table.rows) >= 8
    for cause, fix in zip(report.table.column_values("cause"), report.table.column_values("fix")):
        assert isinstance(cause, dict) and isinstance(fix, dict)
        assert load_catalogue()[cause["say"]].hint_zh and fix["hint"] == cause["say"]
    ours = [command for command in report.facts["commands"] if command.startswith("ascend-workbook ")]
    for command in (part for line in ours for part in line.split(" && ")):
        build_parser().parse_args(command.split()[1:])
    with pytest.raises(WorkbookError):
        explain(symptom="ugly")


def test_exit_codes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clean, bad = write(tmp_path, clean="step 1\n", bad=OOM)
    assert main(["explain", str(clean)]) == 0
    assert "clean" in capsys.readouterr().out
    assert main(["explain", str(bad), "--json", str(tmp_path / "r.json"), "--lang", "zh"]) == 1
    assert "显存" in capsys.readouterr().out
    assert main(["explain", str(tmp_path / "absent.log")]) == 2
    assert main(["explain"]) == 2
    assert main(["explain", "--symptom", "slow"]) == 0


@pytest.mark.parametrize("nothing", [[""], ["  \n"], ["507015", ""]])
def test_an_empty_argument_is_not_the_current_folder(
    nothing: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, train=OOM)
    monkeypatch.chdir(tmp_path)
    assert main(["explain", *nothing]) == 2
    assert "Nothing to explain was given" in "".join(capsys.readouterr())


@pytest.mark.parametrize(("lang", "says"), [("en", "reads no log"), ("zh", "不读取日志")])
def test_a_symptom_beside_a_log_is_refused(lang: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--symptom", "oom", "nosuch.log", "--lang", lang]) == 2
    shown = "".join(capsys.readouterr())
    assert says in shown and "nosuch.log" in shown


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("ei0006", "did not connect in time"),
        ("err00100", "torch_npu's own suffix"),
        ("0X10", "error register"),
        ("aicore 507015", "AI core"),
        ("aicore error 272", "left its number type"),
        ("what is ei0006?", "did not connect in time"),
        ("ERROR 507015 again", "AI core"),
        ("hccl returned 7", "A call of HCCL failed"),
        ("error 0x10", "error register"),
    ],
)
def test_a_code_in_either_case_or_in_a_phrase_is_explained(text: str, verdict: str) -> None:
    report = explain(text)
    assert report.status is Status.FIX and verdict in report.verdict("en")


@pytest.mark.parametrize(
    "text", ["hello world", "-1", "after 123456 steps", "commit ex1234f", "price 507015.50", "step 1 loss 2\nstep 2\n"]
)
def test_a_text_that_names_no_error_is_not_called_clean(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    report = explain(text)
    assert report.status is Status.NOTE and report.headline and report.headline.rule == "EXP009"
    for lang, says in (("en", "not in our list"), ("zh", "不在我们的列表中")):
        assert says in report.verdict(lang) and "/forum" in report.findings[0].hint(lang)
        assert "clean" not in report.text(lang) and "没有发现错误" not in report.text(lang)
    assert main(["explain", text]) == 0 and "not in our list" in capsys.readouterr().out


def test_a_text_beside_a_clean_log(tmp_path: Path) -> None:
    report = explain("hello world", *write(tmp_path, clean="step 1\n"))
    messages = [finding.message("en") for finding in report.findings]
    assert report.status is Status.NOTE and "clean: no error in 1 line(s) (logs read: 1)" in messages


@pytest.mark.parametrize(
    "data", [gzip.compress(OOM.encode(), mtime=0), OOM.encode("utf-16"), gzip.compress(f"a\n{OOM}\n".encode("utf-16"))]
)
def test_a_packed_or_utf16_log_is_read(data: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "train.log.gz"
    path.write_bytes(data)
    assert first(explain(path))[0] == first(explain(tmp_path))[0] == "oom"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert first(explain("-"))[0] == "oom"


@pytest.mark.parametrize(
    "data", [random.Random(1).randbytes(5000), gzip.compress(b"x" * 999, mtime=0)[:-9], b"PK" + bytes(99)]
)
def test_what_is_no_text_is_not_called_clean(data: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "train.log"
    path.write_bytes(data)
    for lang in ("en", "zh"):
        assert main(["explain", str(path), "--lang", lang]) == 2
        assert str(path) in "".join(capsys.readouterr())
    write(tmp_path, other="step 1\n")
    assert explain(tmp_path).status is Status.NOT_LOOKED


def test_what_vanishes_from_a_folder_is_named_and_passed_over(tmp_path: Path) -> None:
    write(tmp_path, bad=OOM)
    (tmp_path / "gone.log").symlink_to(tmp_path / "nowhere")
    report = explain(tmp_path)
    assert first(report)[0] == "oom"
    for lang in ("en", "zh"):
        assert any("gone.log" in finding.message(lang) for finding in report.findings)


WRAPPED = "RuntimeError: HCCL function error"
CAUSE = "EI0006: [PID: 3] Getting socket times out"


@pytest.mark.parametrize("lines", [(f"[rank0]: {WRAPPED}", CAUSE), (CAUSE, f"[rank0]: {WRAPPED}")])
def test_a_line_without_a_rank_is_not_another_rank(lines: tuple[str, str]) -> None:
    report = explain("\n".join(lines) + "\n")
    assert first(report) == ("hccl_get_socket_ei0006", "0")
    assert "failed first of" not in report.verdict("en")
    assert report.table and "other rank" not in [
        show(role, "en") for role in report.table.column_values("explain_role")
    ]


def test_the_cause_without_a_rank_belongs_to_every_wrapper_beside_it() -> None:
    both = explain(f"[rank0]: {WRAPPED}\n[rank1]: {WRAPPED}\n{CAUSE}\n")
    assert first(both) == ("hccl_get_socket_ei0006", "0") and "of 2" in both.verdict("en")


def test_an_error_of_the_script_is_no_wrapper() -> None:
    assert first(explain(f"[rank0]: KeyError: 'x'\n[rank1]: {WRAPPED}\n{CAUSE}\n")) == (None, "0")
    far = "step\n" * 60
    assert first(explain(f"[rank0]: {WRAPPED}\n{far}{CAUSE}\n")) == (None, "0")
