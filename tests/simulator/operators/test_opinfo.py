"""torch's operator database on the simulated NPU against the CPU: equal, or an error; never a silent other value.

About 30 s: 677 entries, four float32 samples each, in one child process.
"""

from __future__ import annotations

import collections
import json
import subprocess
import sys
from pathlib import Path

import pytest

CHILD = Path(__file__).with_name("opinfo_child.py")

#: Entries that cannot be compared, and why.
EXCLUDED = {
    f"jiterator_{name}": "compiles CUDA source; it has no CPU result to compare with"
    for name in ("unary", "binary", "4inputs_with_extra_args", "binary_return_by_ref", "2inputs_2outputs")
}

#: Entries that raise, and a part of the message that says why.
RAISES = {
    "sparse.sampled_addmm": "SparseCsrnpu",
    "sparse.mm": "SparseCsrnpu",
    "to_sparse": "the NPU simulator lacks aten::_to_sparse with Sparse tensors",
    # channels_last is refused by torch_npu itself (torch_npu/csrc/aten/common/ToKernelNpu.cpp)
    "to": "Only contiguous_format or preserve_format is supported",
}

Entry = dict[str, str]


def run_child(environment: dict[str, str], *names: str) -> list[Entry]:
    done = subprocess.run(
        [sys.executable, str(CHILD), *names], env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line.removeprefix("OPINFO ")) for line in done.stdout.splitlines() if line.startswith("OPINFO ")]


@pytest.fixture(scope="module")
def entries(simulator_env: dict[str, str]) -> list[Entry]:
    return run_child(simulator_env)


def named(entries: list[Entry], outcome: str) -> list[str]:
    return [f"{e['name']} {e['variant']}: {e['why']}" for e in entries if e["outcome"] == outcome]


def test_no_value_is_silently_different(entries: list[Entry]) -> None:
    assert len(entries) > 600
    assert named(entries, "mismatch") == []


def test_nine_of_ten_equal_the_cpu(entries: list[Entry], capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print(f"\nOpInfo: {dict(collections.Counter(e['outcome'] for e in entries))} of {len(entries)}")
    equal = named(entries, "equal")
    assert len(equal) >= 0.9 * len(entries), f"{len(equal)} of {len(entries)}; raising: {named(entries, 'raises')}"


def test_exclusions_are_few_and_known(entries: list[Entry]) -> None:
    skipped = [entry["name"] for entry in entries if entry["outcome"] == "skipped"]
    assert sorted(skipped) == sorted(EXCLUDED)
    assert len(skipped) <= 0.03 * len(entries)


def test_only_random_and_uninitialised_entries_are_compared_by_shape(entries: list[Entry]) -> None:
    by_shape = named(entries, "alike")
    assert 0 < len(by_shape) <= 0.05 * len(entries), by_shape


def test_what_raises_says_why(entries: list[Entry]) -> None:
    raising = {entry["name"]: entry["why"] for entry in entries if entry["outcome"] == "raises"}
    unexpected = {name: why for name, why in raising.items() if RAISES.get(name, "\0") not in why}
    assert unexpected == {}


def test_a_wrong_value_is_seen(simulator_env: dict[str, str]) -> None:
    """The check itself: with a fault of 1 % in one operator it names that operator and no other."""
    faulty = {**simulator_env, "ASCEND_WORKBOOK_SIM_FAULT": "aten::erf@*:scale=1.01"}
    found = run_child(faulty, "erf", "erfc", "exp")
    assert [entry["name"] for entry in found if entry["outcome"] == "mismatch"] == ["erf"]
