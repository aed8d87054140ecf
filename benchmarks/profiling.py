"""How fast and in how much memory a large trace is read, against json.load of the same file in the same run.

    python benchmarks/profiling.py [--megabytes 200] [--trace FILE]

Without --trace one is generated in the form torch 2.x writes (operators with shapes, calls, kernels, arrows). Each
reader runs in a process of its own; CPU seconds and peak resident memory are that process's, less what an empty one
with the same imports needs. `whole analysis` is what `analyse` does beside reading: breakdown, operators, rules.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

READERS = {
    "nothing": "",
    "json.load": "import json; json.load(open(path, encoding='utf-8'))",
    "events": "from helpers.profiling.readers.document import Document\nfor _ in Document(Path(path)).batches(): pass",
    "columns": "from helpers.profiling.readers import read; read(path)",
    "whole analysis": "from helpers.profiling import analyse; analyse(path)",
}
CHILD = """
import resource, sys, time
from pathlib import Path
import helpers.profiling
path = sys.argv[1]
began = time.process_time()
{code}
seconds = time.process_time() - began
print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def generate(path: Path, megabytes: int) -> None:
    """Steps of 20 operators, each with a call, a kernel and an arrow; every 20th kernel is a collective."""
    size, number, us = 0, 0, 0
    with path.open("w", encoding="utf-8") as file:
        size += file.write('{"schemaVersion": 1, "deviceProperties": [], "traceEvents": [\n')
        while size < megabytes * 1_000_000:
            events = [_event("user_annotation", f"ProfilerStep#{number}", 1, us, 2000, {"External id": 0})]
            for at in range(20):
                events += _operator(20 * number + at + 1, us + 100 * at)
            size += file.write(",\n".join(json.dumps(one, indent=2) for one in events) + ",\n")
            number, us = number + 1, us + 2000
        file.write(json.dumps(_event("cpu_op", "aten::last", 1, us, 1, {})))
        file.write('], "displayTimeUnit": "ms", "baseTimeNanoseconds": 1736408883000000000}')


def _operator(number: int, us: int) -> list[dict[str, object]]:
    link = {"External id": number, "correlation": number}
    shapes = {"Input Dims": [[32, 64 + number % 7, 56, 56], [64, 64, 3, 3], []], "Input type": ["float"] * 3}
    collective = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
    name = collective if number % 20 == 0 else f"void at::native::kernel_{number % 97}<4>"
    return [
        _event("cpu_op", f"aten::op_{number % 113}", 1, us, 60.25, {"External id": number, **shapes}),
        _event("cuda_runtime", "cudaLaunchKernel", 1, us + 20.5, 9.125, link),
        _event("kernel", name, 7, us + 130.75, 88.032, {**link, "device": 0, "stream": 7, "grid": [8, 1, 1]}),
        {"ph": "s", "id": number, "pid": 9, "tid": 1, "ts": us + 20.5, "cat": "ac2g", "name": "ac2g"},
        {"ph": "f", "id": number, "pid": 0, "tid": 7, "ts": us + 130.75, "cat": "ac2g", "name": "ac2g", "bp": "e"},
    ]


def _event(
    category: str, name: str, tid: int, us: float, duration_us: float, args: dict[str, object]
) -> dict[str, object]:
    where = {"pid": 0 if category == "kernel" else 9, "tid": tid}
    return {"ph": "X", "cat": category, "name": name, **where, "ts": us, "dur": duration_us, "args": args}


def measure(code: str, path: Path) -> tuple[float, float]:
    """(CPU seconds, peak MiB) of a process that does it."""
    done = subprocess.run(
        [sys.executable, "-c", CHILD.format(code=code), str(path)], capture_output=True, text=True, check=True
    )
    seconds, peak_mib = done.stdout.split()
    return float(seconds), float(peak_mib)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--trace", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = options.trace or Path(folder) / "generated.trace.json"
        if not options.trace:
            generate(path, options.megabytes)
        report(path)


def report(path: Path) -> None:
    size_mb = path.stat().st_size / 1e6
    found = {name: measure(code, path) for name, code in READERS.items()}
    nothing_mib = found.pop("nothing")[1]
    plain_seconds, plain_mib = found["json.load"][0], found["json.load"][1] - nothing_mib
    print(f"{path.name}: {size_mb:.0f} MB")
    print(f"{'reader':16}{'CPU s':>8}{'MB/s':>8}{'MiB':>8}{'speed':>10}{'memory':>10}   against json.load")
    for name, (seconds, mib) in found.items():
        used = mib - nothing_mib
        speed, memory = plain_seconds / seconds, used / plain_mib
        print(f"{name:16}{seconds:8.2f}{size_mb / seconds:8.0f}{used:8.0f}{speed:9.1f}x{memory:10.1%}")


if __name__ == "__main__":
    main()
