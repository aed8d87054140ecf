"""The archive: what is in it, what is not; parts that crash, hang or cannot look; a disk that is full."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from unittest import mock

import pytest

from ascend_workbook import selftest
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report, load_report
from ascend_workbook.findings.sentence import say
from ascend_workbook.machine import device
from ascend_workbook.selftest import bundle
from ascend_workbook.selftest.child import operators
from ascend_workbook.selftest.parts import Part
from tests.conftest import ROOT
from tests.page.reading import open_page, said_on

PLANTED = {
    "OBS_ACCESS_KEY_ID": "PLANTEDAK00000000001",
    "OBS_SECRET_ACCESS_KEY": "PLANTED/sk+0002",
    "HF_TOKEN": "PLANTED-hf-3",
    "MA_PASSWORD": "PLANTED pass 4",
    "HCCL_WHITELIST_KEY": "PLANTED-5",
}
CPU = device.Device("cpu", "a CPU", 1)
#: What a part's child does, by part; all print every variable of their environment, as a careless library would.
DUMP = "import os, sys; print(os.environ, os.getcwd(), file=sys.stderr, flush=True)\n"
GOOD = "print('/home/zhangsan/x token=PLANTED-6'); import shutil; shutil.copy({source!r}, {target!r})"
ENDINGS = {
    "check": GOOD,
    "operators": "os.kill(os.getpid(), 11)",
    "scripts": "import time; time.sleep(60)",
    "profiler": "raise SystemExit(2)",
    "hccl": "raise ValueError('no login with password: PLANTED-7')",
}


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine with a CPU only, secrets in its environment, and logs of its device."""
    for name, text in PLANTED.items():
        monkeypatch.setenv(name, text)
    monkeypatch.setenv("ASCEND_PROCESS_LOG_PATH", str(tmp_path / "plog"))
    (tmp_path / "plog").mkdir()
    (tmp_path / "plog" / "plog-1.log").write_text("[ERROR] x\nsk=PLANTED-8 host 10.1.2.3\n")
    monkeypatch.setattr(device, "find", lambda wanted="auto", **rest: CPU)
    return tmp_path


def child(source: Path, endings: dict[str, str]):  # type: ignore[no-untyped-def]
    """The command of a part: a child that ends as `endings` says."""

    def command(part: Part, tier: str, file: Path) -> list[str]:
        code = endings[part.name].format(source=str(source), target=str(file))
        return [sys.executable, "-c", DUMP + code]

    return command


def saved(folder: Path) -> Path:
    """A report that a part would save, with a secret in its words."""
    found = Finding("SLF010", Status.GOOD, "SLF010.ok", {"count": 1, "total": 1, "bad": 0})
    made = Report(
        "environment", "selftest_check", (found,), facts={"note": "token: PLANTED-9", "MA_TOKEN": "PLANTED-10"}
    )
    (folder / "source.json").write_text(made.to_json())
    return folder / "source.json"


def contents(path: Path) -> dict[str, str]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def test_each_part_ends_for_itself_and_no_secret_leaves(here: Path) -> None:
    log = here / "train.log"
    log.write_text("step 1\nlogin with password=PLANTED-11 at 10.9.8.7 by PLANTEDAK00000000001\n")
    made = selftest.selftest("cpu", out=here / "out", logs=[log], timeout_s=8, command=child(saved(here), ENDINGS))
    keys = {part.verb.removeprefix("selftest_"): (part.findings[0].key, part.status) for part in made.parts}
    assert keys == {
        "check": ("SLF010.ok", Status.GOOD),
        "operators": ("SLF003.crashed", Status.FIX),
        "scripts": ("SLF003.hung", Status.FIX),
        "profiler": ("SLF003.could_not", Status.NOT_LOOKED),
        "hccl": ("SLF003.broke", Status.FIX),
    }
    assert made.status is Status.FIX and "4 of 5 parts" in made.verdict("en") and "signal 11" in made.text("en")
    files = contents(Path(made.facts["bundle"]))
    assert {"report.json", "report.html", "check.json", "parts/hccl.json", bundle.MANIFEST} <= set(files)
    assert {"logs/check.txt", "logs/scripts.txt", "logs/00-train.log", "logs/01-plog-1.log"} <= set(files)
    for lang, said in (("en", "4 of 5 parts"), ("zh", "5 个部分中有 4 个")):
        assert said in made.verdict(lang) and said in said_on(files["report.html"], lang), "one page, both languages"
    for name, text in {**files, "the opened page": open_page(files["report.html"])}.items():
        assert "PLANTED" not in text and "zhangsan" not in text, name
        assert "10.9.8.7" not in text and "10.1.2.3" not in text, name
    assert "step 1" in files["logs/00-train.log"] and "password=***" in files["logs/00-train.log"]
    listed = json.loads(files[bundle.MANIFEST])["sha256"]
    assert listed == {n: hashlib.sha256(t.encode()).hexdigest() for n, t in files.items() if n != bundle.MANIFEST}
    (here / "again.json").write_text(files["report.json"])
    assert load_report(here / "again.json").status is Status.FIX
    assert list((here / "out").iterdir()) == [Path(made.facts["bundle"])]


def test_all_good(here: Path) -> None:
    made = selftest.selftest("cpu", out=here, command=child(saved(here), dict.fromkeys(ENDINGS, GOOD)), timeout_s=60)
    assert made.status is Status.GOOD and "all 5 parts work on cpu: a CPU" in made.verdict("en")
    assert not made.simulated and "selftest-cpu-" in made.facts["bundle"]


def test_a_crash_after_the_report_was_written_is_no_success(here: Path) -> None:
    late = GOOD + "; os.kill(os.getpid(), 11)"
    made = selftest.selftest("cpu", parts=["check"], out=here, command=child(saved(here), {"check": late}))
    assert made.status is Status.FIX and "signal 11" in made.verdict("en")
    assert [found.key for found in made.parts[0].findings] == ["SLF003.crashed_after", "SLF010.ok"]


def test_on_the_simulator_it_says_so(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "find", lambda wanted="auto", **rest: device.Device("npu-simulated", "Ascend910B2", 2))
    made = selftest.selftest(parts=["check"], out=here, command=child(saved(here), ENDINGS))
    assert (
        made.simulated
        and "[simulated NPU]" in made.text("en").split("\n")[0]
        and "npu-simulated" in made.facts["bundle"]
    )
    assert json.loads(contents(Path(made.facts["bundle"]))["report.json"])["simulated"] is True


def test_without_the_device_the_archive_holds_the_check(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(wanted: str = "auto", **rest: object) -> device.Device:
        raise WorkbookError("device.absent", wanted=wanted, why={"say": "device.why.no_cann"})

    monkeypatch.setattr(device, "find", absent)
    made = selftest.selftest("npu", out=here, command=child(saved(here), ENDINGS))
    assert made.status is Status.FIX and "no CANN was found" in made.verdict("en")
    assert [part.status for part in made.parts] == [Status.GOOD, *[Status.NOT_LOOKED] * 4]
    assert {"check.json", "logs/check.txt"} <= set(contents(Path(made.facts["bundle"])))


FULL = """
import os, resource, signal, sys, time
from pathlib import Path
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.report import Report
from ascend_workbook.selftest import bundle
from ascend_workbook.selftest.child import operators
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
noise = os.urandom(40_000).hex()
try:
    bundle.write_archive(Report("environment", "selftest"), {}, {"check": noise}, [], Path(sys.argv[1]), time.time())
except WorkbookError as error:
    print(error.key, error.message("en"), "|", error.hint("en"))
"""


def test_a_full_disk_is_one_clear_error_and_leaves_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.startswith("selftest.not_written") and "--out" in done.stdout, done.stderr
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_is_told_before_anything_runs(here: Path) -> None:
    (here / "file").write_text("")
    ran: list[str] = []
    with pytest.raises(WorkbookError) as error:
        selftest.selftest("cpu", out=here / "file" / "x", on_part=ran.append)
    assert error.value.key == "selftest.not_written" and not ran


def test_a_secret_that_slipped_through_stops_the_archive(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last look is of its own: it finds what the redaction let through."""
    private = bundle.redaction.make_process_redactor()
    blind = type(private)((), private.secrets)
    monkeypatch.setattr(bundle.redaction, "SHAPES", ())
    monkeypatch.setattr(bundle.redaction, "make_process_redactor", lambda **rest: blind)
    with pytest.raises(WorkbookError) as error:
        bundle.write_archive(Report("environment", "selftest"), {}, {"check": PLANTED["HF_TOKEN"]}, [], here, 0.0)
    assert error.value.key == "selftest.leak" and not list(here.glob("*.zip*"))


def test_a_damaged_archive_is_seen(here: Path) -> None:
    made = selftest.selftest(parts=["check"], out=here, command=child(saved(here), ENDINGS))
    whole = contents(Path(made.facts["bundle"]))
    changed = here / "changed.zip"
    with zipfile.ZipFile(changed, "w") as archive:
        for name, text in whole.items():
            archive.writestr(name, text + " " if name == "check.json" else text)
    with pytest.raises(WorkbookError, match="check.json"):
        bundle.check(changed, bundle.redaction.make_process_redactor())


def test_wrong_parts_and_logs(here: Path) -> None:
    for options, key in (({"parts": ["nothing"]}, "selftest.part"), ({"logs": [here / "no.log"]}, "explain.no_file")):
        with pytest.raises(WorkbookError) as error:
            selftest.selftest("cpu", out=here, **options)  # type: ignore[arg-type]
        assert error.value.key == key


def test_of_a_long_log_the_end_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text("".join(f"line {number:07d}\n" for number in range(200_000)))
    text = bundle.read_tail(path)
    assert text.startswith("line ") and text.endswith("line 0199999\n") and len(text) <= bundle.LOG_BYTES


def test_the_newest_logs_are_taken_and_the_manifest_names_the_others(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "logs").mkdir()
    for number in range(5):
        (here / "logs" / f"{number}.log").write_text(f"log {number}\n" * (900 if number == 3 else 1))
        os.utime(here / "logs" / f"{number}.log", (number, number))
    monkeypatch.setattr(bundle, "LOG_FILES", 3)
    monkeypatch.setattr(bundle, "TOTAL_BYTES", 2000)
    logs = bundle.user_logs([here / "logs"])
    made = bundle.write_archive(Report("environment", "selftest"), {}, {}, logs, here, 1e12)
    files = contents(Path(made.facts["bundle"]))
    assert [name for name in files if name.startswith("logs/")] == ["logs/00-4.log", "logs/01-2.log", "logs/02-1.log"]
    left = json.loads(files[bundle.MANIFEST])["left_out"]
    assert [(Path(each["name"]).name, each["why"][:12]) for each in left] == [
        ("3.log", "more than 20"),
        ("0.log", "more than 3 "),
    ]
    assert made.facts["left_out"] == 2


def test_what_scripts_printed_is_taken_only_by_its_name(here: Path) -> None:
    (here / "runs" / "npu").mkdir(parents=True)
    for name in ("output.log", "plog.log"):
        (here / "runs" / "npu" / name).write_text("a line")
    assert [path.name for path in bundle.user_logs([here / "runs"])] == ["plog.log"]
    printed = here / "runs" / "npu" / "output.log"
    assert bundle.user_logs([printed]) == [printed]


def test_what_help_says_of_the_operators_is_so() -> None:
    torch = pytest.importorskip("torch")
    plain, own = operators.torch_cases(torch), operators.npu_cases(torch, mock.Mock())
    both = (len(plain) * 3 + len(own) * 2, len(plain), sum(case[3] for case in plain), len(own), len(plain) * 3)
    said = say("help.selftest.about", "en").split("operators   ")[1].split("scripts ")[0]
    assert tuple(map(int, re.findall(r"\b(?!64)\d+\b", said))) == both


@pytest.mark.full
def test_the_real_thing_on_the_simulated_npu(simulator_env: dict[str, str], tmp_path: Path) -> None:
    made = selftest.selftest("npu-simulated", out=tmp_path)
    assert made.status in (Status.GOOD, Status.NOTE, Status.LOOK) and made.simulated, made.text("en")
