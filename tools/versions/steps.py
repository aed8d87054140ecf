"""What is tried of a pair, step by step: a command in the pair's environment, and what of its answer is the outcome."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.versions.environment import clean_environment, python_of, set_up
from tools.versions.pairs import ROOT, Pair

CHILDREN = Path(__file__).with_name("children")
SCRIPT = ROOT / "notebooks" / "scripts" / "resnet_digits.py"
LIMIT_S = 3600
#: Exit codes of the verbs: good, Fix, could not run.
GOOD, FIX = 0, 1


@dataclass(frozen=True)
class Outcome:
    """Whether a step passed, what it said for that or against it, and what it took."""

    step: str
    passed: bool
    answer: str
    seconds: float


@dataclass(frozen=True)
class Place:
    """Where a pair is tried: its environment, and a folder for what the steps write."""

    pair: Pair
    venv: Path
    work: Path


Judge = Callable[[Place], "tuple[bool, str]"]


def run_step(name: str, place: Place) -> Outcome:
    """Run one step; what it raises is its outcome too."""
    began = time.monotonic()
    try:
        passed, answer = STEPS[name](place)
    except (OSError, subprocess.SubprocessError) as error:
        passed, answer = False, f"{type(error).__name__}: {error}"
    return Outcome(name, passed, answer, time.monotonic() - began)


def call(place: Place, *words: str, limit: float = LIMIT_S) -> subprocess.CompletedProcess[str]:
    """Run a command of the pair's environment in its folder; its whole output is kept beside."""
    place.work.mkdir(parents=True, exist_ok=True)
    environ = clean_environment(place.venv)
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, cwd=place.work, env=environ, timeout=limit
    )
    with (place.work / "output.txt").open("a", encoding="utf-8") as file:
        file.write(f"$ {' '.join(words)}\n{done.stdout}{done.stderr}\n[{done.returncode}]\n")
    return done


def workbook(place: Place, *words: str) -> subprocess.CompletedProcess[str]:
    return call(place, str(place.venv / "bin" / "ascend-workbook"), *words)


def on_simulator(place: Place, *words: str) -> subprocess.CompletedProcess[str]:
    python = str(python_of(place.venv))
    return call(place, python, "-m", "ascend_simulator", "run", "--devices", "2", "--", python, *words)


def last_line(done: subprocess.CompletedProcess[str]) -> str:
    """Return the line that says why: the last of stderr, else of stdout."""
    lines = (done.stderr.strip() or done.stdout.strip() or f"exit code {done.returncode}").splitlines()
    errors = [line for line in lines if re.search(r"error|Error|Fix", line)]
    return " ".join((errors or lines)[-1].split())[:240]


def try_build(place: Place) -> tuple[bool, str]:
    """The user's set-up: packages, torch_npu beside the simulator, the simulator built."""
    done = set_up(place.pair, place.venv)
    (place.work / "setup.txt").write_text(done.stdout + done.stderr, encoding="utf-8")
    if done.returncode:
        return False, last_line(done)
    stamp = call(place, str(python_of(place.venv)), "-m", "ascend_simulator", "status")
    wanted = (place.pair.torch, place.pair.torch_npu)
    return stamp.returncode == 0 and all(part in stamp.stdout for part in wanted), last_line(stamp)


def try_basics(place: Place) -> tuple[bool, str]:
    """The checks of children/basics.py, each alone."""
    done = on_simulator(place, str(CHILDREN / "basics.py"))
    lines = re.findall(r"^(passed|failed) (\w+) ?(.*)$", done.stdout, re.M)
    failed = [f"{name}: {error}" for outcome, name, error in lines if outcome == "failed"]
    if not lines:
        return False, last_line(done)
    counted = f"{len(lines) - len(failed)} of {len(lines)}"
    return done.returncode == 0 and not failed, "; ".join([counted, *failed])


def try_parallel(place: Place) -> tuple[bool, str]:
    """DDP over hccl on two cards against one process with all data."""
    words = ("-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", "29513")
    done = on_simulator(place, *words, str(CHILDREN / "parallel.py"))
    good = re.findall(r"^rank \d of 2 good.*$", done.stdout, re.M)
    return done.returncode == 0 and len(good) == 2, good[0] if len(good) == 2 else last_line(done)


def try_capture(place: Place) -> tuple[bool, str]:
    """Two captures, the CPU in CUDA's place and the simulated NPU, compared operator by operator."""
    folders = {device: place.work / f"capture-{device}" for device in ("baseline", "npu-simulated")}
    for device, folder in folders.items():
        shutil.rmtree(folder, ignore_errors=True)
        options = ("--device", device, "--out", str(folder), "--no-estimate")
        done = workbook(place, "capture", *options, str(SCRIPT), *QUICK)
        if done.returncode:
            return False, f"capture on {device}: {last_line(done)}"
    done = workbook(place, "compare", *map(str, folders.values()))
    answer = re.search(r"\d[\d,]* (?:operators|compared|tensors)[^\n]*", done.stdout)
    unread = re.search(r"[^\n]*could not be read[^\n]*", done.stdout)
    return done.returncode == GOOD and unread is None, (unread or answer or [last_line(done)])[0][:240]


def try_profile(place: Place) -> tuple[bool, str]:
    """Some steps recorded by torch_npu's profiler, and analysed."""
    out = place.work / "profile"
    shutil.rmtree(out, ignore_errors=True)
    done = workbook(place, "profile", "--device", "npu-simulated", "--out", str(out), str(SCRIPT), *QUICK)
    if done.returncode == FIX or not out.is_dir():
        return False, last_line(done)
    done = workbook(place, "analyse", str(out))
    return done.returncode in (GOOD, FIX) and "simulated" in done.stdout, last_line(done)


def try_answers(place: Place) -> tuple[bool, str]:
    """`check`, `scan` and `setup` answer for this pair."""
    check, scan, setup = (workbook(place, *words) for words in (("check",), ("scan", str(SCRIPT)), ("setup",)))
    codes = {"check": check.returncode, "scan": scan.returncode, "setup": setup.returncode}
    named = place.pair.torch in check.stdout and place.pair.torch_npu in check.stdout
    answer = ", ".join(f"{verb} {code}" for verb, code in codes.items())
    return not any(codes.values()) and named, answer + ("" if named else "; check does not name the pair")


def notebook_step(stage: str) -> Judge:
    def try_notebook(place: Place) -> tuple[bool, str]:
        name = f"versions-{place.pair.torch}"
        options = ("--stage", stage, "--keep-going", "--force", "--root", str(place.work / "runs"), "--name", name)
        script = () if stage == "environment" else ("-p", "script", str(SCRIPT))
        parameters = ("-p", "device", "npu-simulated", *script)
        done = workbook(place, "run", *options, *parameters)
        return done.returncode == GOOD, last_line(done)

    return try_notebook


QUICK: Sequence[str] = ("--epochs", "1")
STEPS: dict[str, Judge] = {
    "build": try_build,
    "basics": try_basics,
    "ddp": try_parallel,
    "capture": try_capture,
    "profile": try_profile,
    "answers": try_answers,
    "01": notebook_step("environment"),
    "02": notebook_step("migration"),
    "03": notebook_step("precision"),
    "04": notebook_step("profiling"),
}
