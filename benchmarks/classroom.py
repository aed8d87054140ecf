"""How many students one server bears: each in a home folder of their own, with a kernel of the simulated NPU, training
on two of them at the same time.

    python benchmarks/classroom.py [--users 20] [--steps 30] [--json FILE]

All read one installation, one simulator and one kernelspec. Started by root, each is a Unix user of their own (numbers
from 20001); else they differ in their home folders alone. Those users need a Python and a checkout that they can reach:
with a Python below /root, or in another's closed home folder, it stops before anyone starts (exit code 2).

The bars: every one of them ends, and each one's losses are equal, digit by digit, to those of one who was alone, and
those to a training of the whole batch in one process on the CPU within 1e-4. Memory is PSS (proportional set size:
shared pages are divided among those who share them), of all processes of a student, by what they are; a student rests
(kernel, torch and one NPU in use) before all train.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

SCRIPT, STUDENT = HERE / "child" / "ddp_training.py", HERE / "child" / "student.py"
FIRST_USER = 20001
EVERY_S = 2.0
CLOSE = 1e-4
#: Less free memory than this and all students are ended: better than whom the kernel would choose.
FLOOR_MIB = 1024
#: Of one student at the most.
EACH_MIB = 1000
#: What a process is, by a word of its command line.
PARTS = {"ipykernel_launcher": "kernel", "torchrun.py": "torchrun", "observe.py": "rank", "student.py": "client"}
#: What a server of a class sets for every student.
THREADS = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


@dataclass
class Student:
    """One of them: where they work, their process, the most memory of each phase in MiB by part."""

    folder: Path
    process: subprocess.Popen[bytes]
    peaks: dict[str, dict[str, float]] = field(default_factory=dict)

    @property
    def phase(self) -> str:
        path = self.folder / "phase"
        return path.read_text() if path.is_file() else "start"

    @property
    def result(self) -> dict[str, Any]:
        path = self.folder / "result.json"
        return dict(json.loads(path.read_text())) if path.is_file() else {}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--users",
        type=int,
        default=20,
        help="at the same time (default: 20, or as many as the memory that is free bears)",
    )
    parser.add_argument("--steps", type=int, default=30, help="of each training (default: 30)")
    parser.add_argument("--rest", type=float, default=6, help="seconds before they train (default: 6)")
    parser.add_argument(
        "--exercise",
        action="store_true",
        help="each solves and checks the exercise on two ranks, in place of the training",
    )
    parser.add_argument(
        "--kernel",
        choices=("helpers", "torch"),
        default="helpers",
        help="what the kernel itself imports (default: helpers, as the notebooks do)",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures")
    args = parser.parse_args()
    wrong_place = unreachable(user_of(0))
    if wrong_place:
        print(wrong_place, file=sys.stderr)
        return 2
    room = max(1, (available_mib() - FLOOR_MIB) // EACH_MIB)
    if args.users > room:
        print(f"{args.users} students need {EACH_MIB * args.users} MiB: taking {room}")
        args.users = room
    place = Path(tempfile.mkdtemp(prefix="classroom-"))
    place.chmod(0o755)
    try:
        words = [str(args.steps), str(args.rest), args.kernel, "exercise" if args.exercise else "training"]
        alone = crowd(place / "alone", 1, words)
        figures = {
            "cores": os.cpu_count(),
            "unix_users": os.geteuid() == 0,
            "users": args.users,
            "alone": alone,
            "kernel": args.kernel,
            "together": crowd(place / "class", args.users, words),
        }
    finally:
        shutil.rmtree(place, ignore_errors=True)
    wrong = judge_exercise(figures) if args.exercise else judge(figures, args.steps)
    show(figures, wrong)
    if args.json:
        args.json.write_text(json.dumps({**figures, "wrong": wrong}, indent=1))
    return 1 if wrong else 0


def user_of(number: int) -> dict[str, Any]:
    """subprocess's arguments to become that student; none where this process may not become another."""
    if os.geteuid() != 0:
        return {}
    return {"user": FIRST_USER + number, "group": FIRST_USER + number, "extra_groups": []}


def unreachable(become: dict[str, Any], python: str = sys.executable, script: Path = STUDENT) -> str:
    """Why a student cannot start this Python or read this script, and what to do; empty where they can."""
    try:
        done = subprocess.run(
            [python, "-c", "import sys; open(sys.argv[1]).close()", str(script)],
            env={},
            cwd="/",
            text=True,
            capture_output=True,
            check=False,
            timeout=120,
            **become,
        )
        said = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1] if done.returncode else ""
    except OSError as error:
        said = str(error)
    return said and (
        f"The students' users cannot start {python} ({Path(python).resolve()}) on {script}: {said}. Use a Python and a "
        "checkout that all users can reach: not below /root, and not in a closed home folder."
    )


def crowd(place: Path, users: int, words: list[str]) -> dict[str, Any]:
    """So many at once: what each came to, the wall time and the memory. Stopped where the host's memory runs out."""
    place.mkdir()
    began, stopped = time.monotonic(), False
    students = [start(place / f"s{number}", number, words) for number in range(users)]
    shared: list[dict[str, Any]] = []
    try:
        while not stopped and any(student.process.poll() is None for student in students):
            shared.append(measure(students))
            stopped = shared[-1]["available_mib"] < FLOOR_MIB
            time.sleep(EVERY_S)
    finally:
        for student in students:
            end(student.process)
    trained = [student["phases"]["training"] for student in (each.result for each in students) if student]
    said = [(student.folder / "output.log").read_text(errors="replace")[-1500:] for student in students]
    each = [
        {
            **student.result,
            "peaks_mib": student.peaks,
            "exit_code": student.process.returncode,
            "said": student.result.get("said", "") or ("" if student.result else text),
        }
        for student, text in zip(students, said)
    ]
    seconds = round(time.monotonic() - began, 1)
    return {"seconds": seconds, "training_s": trained, "stopped": stopped, "samples": shared, "students": each}


def start(folder: Path, number: int, words: list[str]) -> Student:
    """As the student's own user where this one may become another; nothing of this process's environment goes along."""
    folder.mkdir()
    become = user_of(number)
    if become:
        os.chown(folder, become["user"], become["group"])
    folder.chmod(0o700)
    path = os.pathsep.join((str(Path(sys.executable).parent), "/usr/bin", "/bin"))
    own = {
        "HOME": str(folder),
        "USER": f"student{number}",
        "LANG": "C.UTF-8",
        "PATH": path,
        "PYTHONPATH": str(HERE.parent),
        "ASCEND_WORKBOOK_PATIENCE": "10",
        **THREADS,
    }
    command = ["nice", "-n", "5", sys.executable, str(STUDENT), str(folder), str(SCRIPT), *words]
    with (folder / "output.log").open("wb") as log:
        process = subprocess.Popen(
            command, env=own, cwd=folder, stdout=log, stderr=log, start_new_session=True, **become
        )
    return Student(folder, process)


def end(process: subprocess.Popen[bytes]) -> None:
    """The student's session, where an interruption left it."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(20)


def measure(students: list[Student]) -> dict[str, Any]:
    """The memory of all at this moment, and each one's peaks. PSS, and of it what no other process shares, in MiB."""
    parents = {pid: parent for pid in pids() if (parent := parent_of(pid))}
    total, private, by_phase = 0.0, 0.0, defaultdict(int)
    for student in students:
        by_phase[student.phase] += 1
        now: dict[str, float] = defaultdict(float)
        for pid in below(student.process.pid, parents):
            pss, alone = memory_mib(pid)
            now[part(pid)] += pss
            now["private"] += alone
        total, private = total + sum(now.values()) - now["private"], private + now["private"]
        most = student.peaks.setdefault(student.phase, {})
        now["all"] = sum(value for name, value in now.items() if name != "private")
        most.update({name: round(max(value, most.get(name, 0.0)), 1) for name, value in now.items()})
    return {
        "phases": dict(by_phase),
        "pss_mib": round(total),
        "private_mib": round(private),
        "available_mib": available_mib(),
        "load": os.getloadavg()[0],
    }


def available_mib() -> int:
    lines = Path("/proc/meminfo").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("MemAvailable")).split()[1]) // 1024


def pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").glob("[0-9]*")]


def parent_of(pid: int) -> int:
    """0 where it has ended."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[1])
    except OSError:
        return 0


def below(root: int, parents: dict[int, int]) -> list[int]:
    found = [root]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return found


def part(pid: int) -> str:
    try:
        line = Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
    except OSError:
        return "other"
    return next((name for word, name in PARTS.items() if word in line), "other")


def memory_mib(pid: int) -> tuple[float, float]:
    """(PSS, private) of a process; nothing of one that has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    except OSError:
        return 0.0, 0.0
    kib = {line.split(":")[0]: int(line.split()[1]) for line in lines}
    return kib["Pss"] / 1024, (kib["Private_Clean"] + kib["Private_Dirty"]) / 1024


def in_one_process(steps: int) -> list[float]:
    """The losses of the same training on the CPU: one process, the batches of both ranks as one."""
    import torch
    from child.ddp_training import data, network

    model, halves = network(256), [data(rank, 64) for rank in (0, 1)]
    inputs, classes = (torch.cat(both) for both in zip(*halves))
    optimizer, losses = torch.optim.SGD(model.parameters(), lr=0.1), []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(inputs), classes)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def judge(figures: dict[str, Any], steps: int) -> list[str]:
    """What is not as it has to be, in words."""
    wrong = ["stopped: the host's memory ran out"] if figures["together"]["stopped"] else []
    alone = figures["alone"]["students"][0].get("losses") or []
    truth = in_one_process(steps)
    mean = [sum(both) / len(alone) for both in zip(*alone)] if len(alone) == 2 else []
    if len(mean) != steps or max(abs(one - other) for one, other in zip(mean, truth)) > CLOSE:
        wrong.append(f"alone: the losses are not those of one process on the CPU: {mean[-3:]} and {truth[-3:]}")
    for number, student in enumerate(figures["together"]["students"]):
        if not student.get("ok"):
            wrong.append(
                f"student {number}: {student.get('outcome', 'no result')} {student.get('trouble')} {student['said']}"
            )
        elif student["losses"] != alone:
            wrong.append(f"student {number}: other losses than alone: {student['losses'][0][-3:]}")
    return wrong


def judge_exercise(figures: dict[str, Any]) -> list[str]:
    """Whose solution was not found right by the exercise's own checker, which compares losses and gradients."""
    wrong = ["stopped: the host's memory ran out"] if figures["together"]["stopped"] else []
    told = figures["alone"]["students"] + figures["together"]["students"]
    return wrong + [f"{number}: {each.get('said')}" for number, each in enumerate(told) if not each.get("ok")]


def show(figures: dict[str, Any], wrong: list[str]) -> None:
    together = figures["together"]
    peak = max(together["samples"], key=lambda sample: sample["pss_mib"])
    print(f"{figures['users']} students on {figures['cores']} cores, each a Unix user: {figures['unix_users']}")
    for name in ("alone", "together"):
        told = figures[name]["students"]
        trained = [round(seconds, 1) for seconds in sorted(figures[name]["training_s"])]
        print(f"{name}: {figures[name]['seconds']} s of wall time, training cell {trained[:1]} to {trained[-1:]} s")
        for phase in ("rest", "training"):
            seen = [student["peaks_mib"][phase] for student in told if phase in student["peaks_mib"]]
            parts = sorted({key for each in seen for key in each})
            mean = {key: round(sum(each.get(key, 0.0) for each in seen) / len(seen)) for key in parts}
            print(f"  {phase}: mean of each student's peak PSS in MiB: {mean}")
    print(
        f"peak of all: {peak['pss_mib']} MiB PSS (private {peak['private_mib']}), load {peak['load']:.0f}, "
        f"{peak['available_mib']} MiB were still available"
    )
    good = sum(bool(student.get("ok")) for student in together["students"])
    print(f"{good} of {figures['users']} ended well; wrong: {len(wrong)}")
    print("\n".join(wrong))


if __name__ == "__main__":
    sys.exit(main())
