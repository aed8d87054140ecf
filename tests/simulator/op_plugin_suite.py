"""Runs the vendor's own operator tests on the simulated NPU: every file of a folder of Ascend/op-plugin's test/.

    python tests/simulator/op_plugin_suite.py ../op-plugin/test/test_base_ops [--jobs 2] [--json FILE] [PATTERN ...]

A file passes when at least one test ran and none failed; skips are counted. Each file is a process of its own, forked
from one that has imported torch and torch_npu, so that a crash ends that file only. Exits with 1 where a file crashed
or failed. The checkout stays beside the project: https://gitcode.com/Ascend/op-plugin, mirrored on GitHub.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
import unittest
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 300
OUTCOMES = ("passed", "failed", "nothing ran", "crashed", "timed out")


@dataclass(frozen=True)
class FileResult:
    """One file: `ran` and `skipped` count tests, `errors` holds the last line of each failure."""

    file: str
    outcome: str
    ran: int = 0
    skipped: int = 0
    errors: tuple[str, ...] = ()
    seconds: float = 0.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="only files whose path contains one of these")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    results = run_all(args.folder.resolve(), args.patterns, args.jobs)
    if args.json:
        args.json.write_text(json.dumps([asdict(one) for one in results], indent=1), encoding="utf-8")
    counts = Counter(one.outcome for one in results)
    print(
        ", ".join(f"{counts[name]} {name}" for name in OUTCOMES),
        f"of {len(results)} files;",
        f"{sum(one.ran for one in results)} tests ran, {sum(one.skipped for one in results)} skipped",
    )
    return 0 if results and counts["passed"] == len(results) else 1


def run_all(folder: Path, patterns: list[str], jobs: int) -> list[FileResult]:
    """Every test file below the folder, spread over `jobs` processes that fork a child for each file."""
    sys.path.insert(0, str(ROOT))
    from ascend_workbook.machine import simulator

    found = [str(path) for path in sorted(folder.rglob("test_*.py"))]
    files = [path for path in found if not patterns or any(pattern in path for pattern in patterns)]
    env = simulator.simulator_environment(base=dict(os.environ, OMP_NUM_THREADS="1"))
    with ThreadPoolExecutor(jobs) as pool:
        slices = pool.map(lambda first: list(run_slice(files[first::jobs], folder, env)), range(jobs))
        return [result for one in slices for result in one]


def run_slice(files: list[str], folder: Path, env: dict[str, str]) -> Iterator[FileResult]:
    """One forking process over some of the files; what it prints line by line are their results."""
    command = [sys.executable, __file__, "--serve", *files]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        for line in server.stdout:
            if line.startswith("FILE "):
                found = json.loads(line.removeprefix("FILE "))
                found["file"] = str(Path(found["file"]).relative_to(folder))
                result = FileResult(**{**found, "errors": tuple(found["errors"])})
                counts = f"{result.ran} ran, {result.skipped} skipped"
                print(f"{result.outcome:<11} {result.file} {counts}", *result.errors[:2], flush=True)
                yield result


def serve(files: list[str]) -> None:
    """Imports once, then forks for each file. No NPU may be touched here: a fork would inherit half of it."""
    import torch
    import torch_npu
    import torch_npu.testing.testcase  # noqa: F401

    torch.set_num_threads(1)
    for file in files:
        print("FILE " + json.dumps(in_child(file)), flush=True)


def in_child(file: str) -> dict[str, Any]:
    began, (reading, writing) = time.monotonic(), os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.write(writing, json.dumps(run_file(file)).encode())
        os._exit(0)
    os.close(writing)
    timed_out = not ended(child, began)
    with os.fdopen(reading) as answers:
        text = answers.read()
    found: dict[str, Any] = {"file": file, "seconds": round(time.monotonic() - began, 1)}
    if text:
        return {**found, **json.loads(text)}
    return {**found, "outcome": "timed out" if timed_out else "crashed", "errors": []}


def ended(child: int, began: float) -> bool:
    while time.monotonic() - began < LIMIT_S:
        if os.waitpid(child, os.WNOHANG)[0]:
            return True
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def run_file(file: str) -> dict[str, Any]:
    """The file's tests through unittest, as its own last line would run them."""
    import importlib.util

    os.chdir(Path(file).parent)
    sys.path.insert(0, str(Path(file).parent))
    sys.argv = [file]
    result = unittest.TestResult()
    try:
        spec = importlib.util.spec_from_file_location(Path(file).stem, file)
        assert spec is not None and spec.loader is not None
        module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        unittest.defaultTestLoader.loadTestsFromModule(module).run(result)
    except BaseException as error:  # noqa: BLE001  whatever the file raises is its outcome
        return {"outcome": "failed", "errors": [f"{type(error).__name__}: {str(error)[:300]}"]}
    failures = (*result.failures, *result.errors)
    errors = [f"{test.id()}: {text.strip().splitlines()[-1][:300]}" for test, text in failures]
    ran = result.testsRun - len(result.skipped)
    outcome = "failed" if errors else "passed" if ran > 0 else "nothing ran"
    return {"outcome": outcome, "ran": ran, "skipped": len(result.skipped), "errors": errors}


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(sys.argv[2:])
        sys.exit()
    sys.exit(main())
