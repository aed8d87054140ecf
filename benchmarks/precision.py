"""Comparing two dumps: `compare` against `msprobe compare` on the same files, in turn, in one run.

    python benchmarks/precision.py [--tensors 200] [--large 512] [--mebibytes 4] [--rounds 2] [--entries 32000]
                                   [--giant 512] [--divergence] [--keep FOLDER] [--json FILE]

Made here: dumps in msprobe's layout, --tensors (and --large) files of --mebibytes on each side, relative noise of 1e-4.
Times are wall seconds of the best round. `command` is the whole process, interpreter start and CSV included, as it is
for msprobe; `warm` is the call in a process that has called it before, held against the floor: the same metrics over
the same files in plain numpy (child/blocked_floor.py, nothing of ours in it), nothing paired and nothing reported, by
as many processes that are already there; below that, for how near the machine's limit it is, they only read. msprobe
runs as it is and with its allocator tuned (BLAS on one thread, freed memory kept). Values: every row against msprobe's
CSV, the ratios exactly and the rest to 1e-9 relative. Pairing: --entries operators whose modules have other names on
one side.
--divergence: whether the right operator is named, by the short form of benchmarks/divergence.py, which has the rest.
Needs mindstudio-probe 26.x and twice the dumps' size of free memory, so that files are read from the page cache.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.child import blocked_floor  # noqa: E402

MIB = 1 << 20
TUNED = {
    "OPENBLAS_NUM_THREADS": "1",
    "MALLOC_MMAP_THRESHOLD_": str(1 << 32),
    "MALLOC_TRIM_THRESHOLD_": str(1 << 33),
    "MALLOC_TOP_PAD_": str(1 << 28),
}
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
QUIET = {"MSPROBE_LOG_LEVEL": "4"}
#: Bars: times msprobe on the small and the large dump, times tuned msprobe, of the floor, MB, seconds.
FASTER, FASTER_LARGE, FASTER_TUNED, OF_FLOOR = 15.0, 10.0, 6.0, 1.5
WORKER_MB, WORKER_GIANT_MB, PAIRING_S, START_S = 150.0, 1200.0, 5.0, 0.5
RATIOS = ("One Thousandth Err Ratio", "Five Thousandths Err Ratio")
VALUES = ("Cosine", "EucDist", "MaxAbsErr", "MaxRelativeErr")


class Bars:
    """Prints each figure beside its bar and remembers whether all were kept."""

    def __init__(self) -> None:
        self.figures: dict[str, Any] = {}
        self.kept = True

    def tell(self, name: str, value: float, unit: str = "", *, least: float | None = None, most: float | None = None):
        good = (least is None or value >= least) and (most is None or value <= most)
        bar = f"bar >= {least:g}" if least is not None else f"bar <= {most:g}" if most is not None else ""
        print(f"{name:<52} {value:10.3f} {unit:<5} {bar} {'' if good else 'MISSED'}".rstrip(), flush=True)
        self.figures[name] = value
        self.kept &= good


def main() -> int:
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # else every start compiles every module anew
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tensors", type=int, default=200, help="tensors a side of the small dump (default: 200)")
    parser.add_argument("--large", type=int, default=512, help="tensors a side of the large dump, 0: none")
    parser.add_argument("--mebibytes", type=float, default=4.0, help="size of a tensor (default: 4)")
    parser.add_argument("--giant", type=int, default=512, help="MiB of the one tensor of the memory part, 0: none")
    parser.add_argument("--entries", type=int, default=32000, help="operators of the pairing part, 0: none")
    parser.add_argument("--divergence", action="store_true", help="the first divergence as well: minutes more")
    parser.add_argument("--rounds", type=int, default=2, help="rounds of which the best counts (default: 2)")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="make the dumps there and leave them")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures")
    args = parser.parse_args()
    bars = Bars()
    folder = args.keep or Path(tempfile.mkdtemp(prefix="precision-"))
    try:
        started(bars)
        for name, tensors, faster in (("small", args.tensors, FASTER), ("large", args.large, FASTER_LARGE)):
            if tensors:
                speed(bars, name, folder / name, tensors, args.mebibytes, args.rounds, faster)
                if not args.keep:
                    shutil.rmtree(folder / name)
        if args.giant:
            giant(bars, folder / "giant", args.giant)
        if args.entries:
            pairing(bars, args.entries)
        divergence(bars, run=args.divergence)
    finally:
        if not args.keep:
            shutil.rmtree(folder, ignore_errors=True)
    if args.json:
        args.json.write_text(json.dumps(bars.figures, indent=1) + "\n")
    print("all bars kept" if bars.kept else "a bar was missed")
    return int(not bars.kept)


def started(bars: Bars) -> None:
    """Importing the comparison in a fresh interpreter, beyond the interpreter's own start."""
    seconds = []
    for code in ("pass", "import ascend_workbook.precision.compare"):
        rounds = [timed([sys.executable, "-c", code], {}) for _ in range(3)]
        seconds.append(min(rounds))
    bars.tell("import and start", seconds[1] - seconds[0], "s", most=START_S)


def speed(bars: Bars, name: str, folder: Path, tensors: int, mebibytes: float, rounds: int, faster: float) -> None:
    """Both commands and the floor in turn, then the values."""
    sides = {
        side: make(folder / side, tensors, int(mebibytes * MIB), noise) for side, noise in (("a", 0.0), ("b", 1e-4))
    }
    gigabytes = 2 * tensors * mebibytes * MIB / 1e9
    print(f"-- {name}: {tensors} tensors of {mebibytes:g} MiB a side, {gigabytes:.2f} GB in all")
    ours = [
        sys.executable,
        "-m",
        "ascend_workbook",
        "compare",
        str(folder / "a"),
        str(folder / "b"),
        "--no-replay",
        "--csv",
        str(folder / "ours.csv"),
    ]
    probe = [
        str(Path(sys.executable).with_name("msprobe")),
        "compare",
        "-tp",
        str(sides["b"].parent),
        "-gp",
        str(sides["a"].parent),
        "-o",
    ]
    best: dict[str, float] = {}
    for number in range(rounds):
        runs = {
            "compare (command)": lambda: timed(ours, {}, good=(0, 1)),
            "msprobe": lambda n=number: timed([*probe, str(folder / f"out{n}")], QUIET),
            "msprobe, tuned": lambda n=number: timed([*probe, str(folder / f"tuned{n}")], {**QUIET, **TUNED}),
            **warm(folder),
        }
        for what, run in runs.items():
            best[what] = min(best.get(what, math.inf), run())
    for what, seconds in best.items():
        bars.tell(f"{name}: {what}", seconds, "s")
    bars.tell(f"{name}: times msprobe", best["msprobe"] / best["compare (command)"], "x", least=faster)
    bars.tell(
        f"{name}: times msprobe, tuned", best["msprobe, tuned"] / best["compare (command)"], "x", least=FASTER_TUNED
    )
    bars.tell(f"{name}: of the floor, both warm", best["compare (warm)"] / best["floor (warm)"], "x", most=OF_FLOOR)
    bars.tell(f"{name}: of reading alone, both warm", best["compare (warm)"] / best["reading alone (warm)"], "x")
    if (peak := worker_peak()) is not None:
        bars.tell(f"{name}: worker's peak memory", peak, "MB", most=WORKER_MB)
    values(bars, name, folder)


def warm(folder: Path) -> dict[str, Any]:
    """The comparison called again in this process, and the floor by the same number of waiting workers."""
    from ascend_workbook.precision.compare import compare
    from ascend_workbook.precision.tensors import workers
    from ascend_workbook.precision.tensors.measuring import Job
    from ascend_workbook.precision.tensors.workers import measure_all

    def again() -> float:
        began = time.perf_counter()
        compare(folder / "a", folder / "b", replaying=False)
        return time.perf_counter() - began

    def floor() -> float:
        began = time.perf_counter()
        found = pool.map(blocked_floor.metrics, pairs, chunksize=max(1, len(pairs) // (4 * workers.count_cores())))
        seconds = time.perf_counter() - began
        assert all(math.isfinite(one["euclidean"]) for one in found), "the floor read nothing"
        return seconds

    def reading() -> float:
        began = time.perf_counter()
        read = sum(pool.map(blocked_floor.read, pairs, chunksize=max(1, len(pairs) // (4 * workers.count_cores()))))
        seconds = time.perf_counter() - began
        assert read >= 4 * sum(blocked_floor.floats(path)[1] for path in pairs[0]) * len(pairs), "not all was read"
        return seconds

    def metrics_alone() -> float:
        files = [sorted((folder / side).rglob("*.pt")) for side in "ab"]
        elements = (files[0][0].stat().st_size // 4 // 1024, 1024)
        jobs = [Job(right, left, elements, elements) for left, right in zip(*files)]
        began = time.perf_counter()
        found = measure_all(jobs)
        seconds = time.perf_counter() - began
        assert not any(isinstance(one, Exception) for one in found), "the floor read nothing"
        return seconds

    again()
    paths = [sorted(str(path) for path in (folder / side).rglob("*.pt")) for side in "ba"]
    pairs = list(zip(*paths))
    pool = waiting(workers.count_cores())
    check_floor(folder, *pairs[0])
    return {
        "compare (warm)": again,
        "floor (warm)": floor,
        "reading alone (warm)": reading,
        "our metrics alone (warm)": metrics_alone,
    }


def waiting(count: int) -> Any:
    """Processes of the floor that have numpy, each with BLAS on one thread, as our workers."""
    kept = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        pool = multiprocessing.get_context("spawn").Pool(count)
        pool.map(blocked_floor.ready, range(8 * count), chunksize=1)
    finally:
        for name, value in kept.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
    return pool


def check_floor(folder: Path, target: str, baseline: str) -> None:
    """The floor makes the numbers that the comparison makes: less work would be no floor."""
    from ascend_workbook.precision.tensors.measuring import WHOLE, Job, measure_files

    elements = (blocked_floor.floats(target)[1] // 1024, 1024)
    ours, floor = (
        measure_files(Job(Path(target), Path(baseline), elements, elements), WHOLE),
        blocked_floor.metrics((target, baseline)),
    )
    for name, value in (("cosine", ours.cosine), ("euclidean", ours.euclidean), ("max_absolute", ours.max_absolute)):
        assert value is not None and math.isclose(value, floor[name], rel_tol=1e-6), (name, value, floor[name])


def worker_peak() -> float | None:
    """The largest resident memory of a waiting worker, MB; None where there was so little that none was needed."""
    from ascend_workbook.precision.tensors import workers

    statuses = (Path(f"/proc/{one.process.pid}/status").read_text() for one in workers._resting)
    return max(map(high_water, statuses), default=None)


def high_water(status: str) -> float:
    """The largest resident memory a process has had, MB, from its /proc status: getrusage tells its parent's too."""
    return next(int(line.split()[1]) * 1024 / 1e6 for line in status.splitlines() if line.startswith("VmHWM"))


def values(bars: Bars, name: str, folder: Path) -> None:
    """Every row of msprobe's CSV against ours."""
    (path,) = (folder / "out0").glob("*.csv")
    ours = {row["NPU Name"]: row for row in csv.DictReader((folder / "ours.csv").open())}
    theirs = list(csv.DictReader(path.open()))
    exact, worst, missing = 0, 0.0, 0
    for row in theirs:
        mine = ours.get(row["NPU Name"])
        if mine is None:
            missing += 1
            continue
        exact += any(float(mine[column]) != float(row[column]) for column in RATIOS)
        worst = max(worst, *(apart(mine[column], row[column]) for column in VALUES))
    bars.tell(f"{name}: rows of msprobe's CSV", len(theirs), "", least=1)
    bars.tell(f"{name}: rows that we lack", missing, "", most=0)
    bars.tell(f"{name}: rows with another ratio", exact, "", most=0)
    bars.tell(f"{name}: largest relative difference x 1e9", worst * 1e9, "", most=1.0)


def apart(mine: str, theirs: str) -> float:
    """Relative difference of two cells; words must be equal."""
    try:
        a, b = float(mine), float(theirs)
    except ValueError:
        return 0.0 if mine == theirs else math.inf
    return abs(a - b) / max(abs(b), 1e-300)


def giant(bars: Bars, folder: Path, mebibytes: int) -> None:
    """One pair of large tensors: what the process that reads them holds at its most."""
    for side, noise in (("a", 0.0), ("b", 1e-4)):
        make(folder / side, 1, mebibytes * MIB, noise)
    code = (
        "import sys\nfrom pathlib import Path\nfrom ascend_workbook.precision.tensors.measuring import WHOLE, Job\n"
        "from ascend_workbook.precision.tensors.worker import BLOCK, measure_job\n"
        "files = [next(Path(sys.argv[1], side).glob('*/*/dump_tensor_data/*')) for side in 'ab']\n"
        "shape = tuple(map(int, sys.argv[2:]))\n"
        "found = measure_job(Job(*files, shape, shape), WHOLE, BLOCK)\n"
        "assert not isinstance(found, Exception) and found.measured == shape[0] * shape[1], found\n"
        "print(open('/proc/self/status').read())"
    )
    shape = [str(mebibytes * MIB // 4 // 1024), "1024"]
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder), *shape], cwd=ROOT, capture_output=True, text=True, check=True
    )
    bars.tell(f"memory with a tensor of {mebibytes} MiB", high_water(done.stdout), "MB", most=WORKER_GIANT_MB)
    shutil.rmtree(folder)


def pairing(bars: Bars, entries: int) -> None:
    """Modules renamed on one side: `layers.3.mlp` is `blocks.3.feed_forward` there."""
    from ascend_workbook.precision.pairing import pair_runs

    seconds = []
    for count in (entries // 4, entries):
        left, right = (renamed(count, side) for side in range(2))
        began = time.perf_counter()
        found = pair_runs(right, left)
        seconds.append(time.perf_counter() - began)
        share = sum(mine.target.order == mine.baseline.order for mine in found.pairs) / count
        bars.tell(f"pairing {count} renamed entries", seconds[-1], "s", most=PAIRING_S)
        bars.tell(f"pairing {count} renamed entries: paired rightly", share, "", least=1.0)
    bars.tell("pairing: growth of time with 4 times the entries", seconds[1] / seconds[0], "x", most=6.0)


def divergence(bars: Bars, *, run: bool) -> None:
    """The short form of the matrix of faults, or where it is."""
    command = [sys.executable, str(ROOT / "benchmarks" / "divergence.py"), "--small"]
    if not run:
        print("-- first divergence: not run here (--divergence), see python benchmarks/divergence.py")
        return
    print("-- first divergence", flush=True)
    missed = subprocess.run(command, cwd=ROOT).returncode
    bars.tell("first divergence: bars of benchmarks/divergence.py missed", missed, "", most=0)


def renamed(count: int, side: int) -> Any:
    """A run of modules in blocks of eight."""
    from ascend_workbook.precision.record import Operator, Run, TensorRecord

    names = (("model.layers", "mlp"), ("transformer.blocks", "feed_forward"))[side]
    parts = ("norm.LayerNorm", "q.Linear", "k.Linear", "v.Linear", "o.Linear", "up.Linear", "act.GELU", "down.Linear")
    operators = []
    for order in range(count):
        layer, part = divmod(order, len(parts))
        head = f"Module.{names[0]}.{layer}.{names[1]}.{parts[part]}"
        output = TensorRecord("output.0", "float32", (4, 128, 64 * (1 + part % 3)), 1.0, -1.0, 0.0, 10.0)
        operators.append(Operator(f"{head}.forward.0", head, 0, "forward", order, (output,), (output,)))
    return Run(Path("run"), 0, 0, "statistics", "L0", tuple(operators))


def make(folder: Path, tensors: int, size: int, noise: float) -> Path:
    """A dump of `tensors` files of `size` bytes, one input and one output to each operator."""
    import numpy as np
    import torch

    place = folder / "step0" / "rank0"
    files = place / "dump_tensor_data"
    if (place / "dump.json").is_file():
        return place
    files.mkdir(parents=True)
    base, shake = np.random.default_rng(1), np.random.default_rng(2)

    def tensor(name: str) -> dict[str, Any]:
        values = base.standard_normal(size // 4, dtype=np.float32)
        if noise:
            values *= 1 + np.float32(noise) * shake.standard_normal(size // 4, dtype=np.float32)
        made = torch.from_numpy(values).reshape(-1, 1024)
        torch.save(made, files / f"{name}.pt")
        told = {
            "Max": float(values.max()),
            "Min": float(values.min()),
            "Mean": float(values.mean()),
            "Norm": float(np.linalg.norm(values)),
        }
        return {
            "type": "torch.Tensor",
            "dtype": "torch.float32",
            "shape": list(made.shape),
            **told,
            "requires_grad": True,
            "data_name": f"{name}.pt",
        }

    data: dict[str, Any] = {}
    for number in range(max(1, tensors // 2)):
        name = f"Functional.linear.{number}.forward"
        given = [tensor(f"{name}.input.0")] if tensors > 1 else []
        data[name] = {"input_args": given, "input_kwargs": {}, "output": [tensor(f"{name}.output.0")]}
    content = {"task": "tensor", "level": "L1", "framework": "pytorch", "dump_data_dir": str(files), "data": data}
    stack = {str(n): [[name], ["File /x/train.py, line 1, in forward, \n y = f(x)"]] for n, name in enumerate(data)}
    for name, value in (("dump", content), ("stack", stack), ("construct", {})):
        (place / f"{name}.json").write_text(json.dumps(value))
    return place


def timed(command: list[str], settings: dict[str, str], good: tuple[int, ...] = (0,)) -> float:
    """Wall seconds of a command; one that fails ends the benchmark with what it said."""
    environment = {**os.environ, **settings}
    began = time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    seconds = time.perf_counter() - began
    if done.returncode not in good:
        said = done.stdout[-2000:] + done.stderr[-2000:]
        raise SystemExit(f"{' '.join(command)}: exit code {done.returncode}\n{said}")
    return seconds


if __name__ == "__main__":
    sys.exit(main())
