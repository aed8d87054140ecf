"""Each reader of files from outside, a minute of spoilt files: answers or one clear error, nothing else."""

from __future__ import annotations

import json
import random
import subprocess
import sys

import pytest

from tests.conftest import ROOT
from tests.fuzz.harness import HANG_S, spoil
from tests.fuzz.targets import TARGETS

SEED, PEAK_MIB = "20261127", 1024


def run(target: str, seconds: float) -> None:
    words = [sys.executable, "-m", "tests.fuzz.harness", target, SEED, str(seconds)]
    done = subprocess.run(
        words, cwd=ROOT, capture_output=True, text=True, timeout=10 * seconds + 20 * HANG_S, check=False
    )
    assert done.returncode == 0, f"{done.returncode}: {done.stderr[-3000:]}"
    told = json.loads(done.stdout.splitlines()[-1])
    assert not told["failures"], json.dumps(told["failures"], indent=1)[:6000]
    assert told["cases"] > 0 and told["peak_mib"] < PEAK_MIB, told


@pytest.mark.full
@pytest.mark.parametrize("target", TARGETS)
def test_a_minute_of_spoilt_files(target: str) -> None:
    run(target, 60)


@pytest.mark.parametrize("target", ["trace", "tables", "npu_smi"])
def test_a_moment_of_spoilt_files(target: str) -> None:
    run(target, 1)


def test_a_case_is_always_the_same_and_no_file_stays_as_it_was() -> None:
    content = (ROOT / "tests/data/profiling/cpu.pt.trace.json").read_bytes()
    spoilt = [spoil(content, [content], random.Random(f"1:{number}")) for number in range(50)]
    assert spoilt == [spoil(content, [content], random.Random(f"1:{number}")) for number in range(50)]
    assert sum(each != content for each in spoilt) > 40
