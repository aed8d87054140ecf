"""What `analyse` costs on a large trace: breakdown, operators by their kernels, rules; beside the tools that do less.

    python benchmarks/profiling.py [--npu FOLDER] [--gpu TRACE] [--msprof-analyze PYTHON] [--hta PYTHON]
                                   [--megabytes 470] [--sizes 1000,2000] [--generated 200]

FOLDER (`*_ascend_pt`) and TRACE (.json, .json.gz) are small real profiles, laid end to end up to the size
(benchmarks/traces/copies.py); without them one generated trace is measured. PYTHON is an interpreter of an
environment that has the peer: `pip install msprof-analyze==26.2.0`, `pip install HolisticTraceAnalysis==0.5.0`.
CPU seconds are those of the whole process with its start; on a busy machine all of them grow.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.traces.copies import kineto
from benchmarks.traces.folders import OUTPUT, folder
from benchmarks.traces.generated import generate
from benchmarks.traces.peers import Cost, hta_breakdown, msprof_compare, run

BREAKDOWN, COMPARE, HTA = "msprof-analyze breakdown", "msprof-analyze compare", "HTA load + breakdown"
#: Peer -> what it does, beside `analyse`: breakdown, operators by their kernels, advice
DOES = {
    BREAKDOWN: "compare --enable_profiling_compare: the breakdown alone",
    COMPARE: "compare: breakdown, operators, kernels, collectives, calls, memory; no advice",
    HTA: "get_temporal_breakdown: idle, computing and other time alone",
}
BARS = {BREAKDOWN: 12, HTA: 15}
ANALYSE = """
import sys
from ascend_workbook.profiling import analyse
print(analyse(sys.argv[1], steps="all").verdict("en"))
"""
SOME = ANALYSE.replace('"all"', '"auto"')
EVENTS = """
import sys
from ascend_workbook.profiling.readers import read_trace
print(len(read_trace(sys.argv[1])))
"""
JSON = "import json, sys; json.load(open(sys.argv[1], encoding='utf-8'))"
NOTHING = "import ascend_workbook.profiling"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--npu", type=Path, metavar="FOLDER")
    parser.add_argument("--gpu", type=Path, metavar="TRACE")
    parser.add_argument("--msprof-analyze", metavar="PYTHON")
    parser.add_argument("--hta", metavar="PYTHON")
    parser.add_argument("--megabytes", type=int, default=470)
    parser.add_argument("--sizes", default="", help="further sizes in MB, of which only memory and speed are shown")
    parser.add_argument("--generated", type=int, default=200, metavar="MB", help="without --npu and --gpu")
    options = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs")
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        if options.npu:
            against_msprof(options.npu, options.megabytes, options.msprof_analyze, work)
            flat(options.npu, [int(size) for size in options.sizes.split(",") if size], work)
        if options.gpu:
            against_hta(options.gpu, options.megabytes, options.hta, work)
        if not (options.npu or options.gpu):
            against_json(options.generated, work)
    print(f"load {os.getloadavg()[0]:.1f}")


def against_msprof(source: Path, megabytes: int, interpreter: str | None, work: Path) -> None:
    large = work / "large_ascend_pt"
    copies = folder(source, large, megabytes)
    size = (large / OUTPUT / "trace_view.json").stat().st_size
    print(f"\nNPU, {copies} copies of {source.name}, {size / 1e6:.0f} MB")
    mine = show("analyse", own(ANALYSE, large, work), size)
    for name, only in ((BREAKDOWN, ("--enable_profiling_compare",)), (COMPARE, ())):
        peer = msprof_compare(interpreter, large, source, work / name, *only) if interpreter else None
        beside(name, peer, mine, size)


def against_hta(source: Path, megabytes: int, interpreter: str | None, work: Path) -> None:
    large = work / "large.pt.trace.json"
    copies = kineto(source, large, megabytes)
    size = large.stat().st_size
    print(f"\nGPU, {copies} copies of {source.name}, {size / 1e6:.0f} MB")
    mine = show("analyse", own(ANALYSE, large, work), size)
    beside(HTA, hta_breakdown(interpreter, large, work) if interpreter else None, mine, size)


def against_json(megabytes: int, work: Path) -> None:
    large = work / "generated.pt.trace.json"
    generate(large, megabytes)
    size = large.stat().st_size
    print(f"\ngenerated, {size / 1e6:.0f} MB (--npu and --gpu: not given, msprof-analyze and HTA: not measured)")
    plain = show("json.load", own(JSON, large, work), size)
    for name, code in (("events as columns", EVENTS), ("analyse", ANALYSE)):
        cost = show(name, own(code, large, work), size)
        print(f"{'':26}{plain.cpu_s / cost.cpu_s:.1f}x the speed, {cost.peak_mib / plain.peak_mib:.0%} of the memory")


def flat(source: Path, sizes: list[int], work: Path) -> None:
    """What memory grows by with the file: the columns of its events; with `--steps auto` by nothing."""
    empty_mib = own(NOTHING, work, work).peak_mib
    for megabytes in sizes:
        large = work / f"{megabytes}_ascend_pt"
        folder(source, large, megabytes)
        trace = large / OUTPUT / "trace_view.json"
        size = trace.stat().st_size
        show(f"analyse, {size / 1e6:.0f} MB", cost := own(ANALYSE, large, work), size)
        show("analyse --steps auto", own(SOME, large, work), size)
        own(EVENTS, large, work)
        events = int((work / "own.log").read_text().split()[-1])
        print(f"{'':26}{(cost.peak_mib - empty_mib) / events * 1e6:.0f} MiB a million events ({events / 1e6:.2f})")
        trace.unlink()


def own(code: str, path: Path, work: Path) -> Cost:
    return run([sys.executable, "-c", code, str(path)], work / "own.log")


def show(name: str, cost: Cost, size: int) -> Cost:
    print(f"{name:26}{cost.cpu_s:7.2f} CPU s{size / 1e6 / cost.cpu_s:7.0f} MB/s{cost.peak_mib:8.0f} MiB")
    return cost


def beside(name: str, peer: Cost | None, mine: Cost, size: int) -> None:
    if peer is None:
        print(f"{name:26}not measured: no interpreter given")
        return
    show(name, peer, size)
    ratio = peer.cpu_s / mine.cpu_s
    bar = f" (bar: {BARS[name]}x, {'met' if ratio >= BARS[name] else 'MISSED'})" if name in BARS else ""
    print(f"{'':26}{ratio:.1f}x the CPU of analyse{bar}\n{'':26}{DOES[name]}")


if __name__ == "__main__":
    main()
