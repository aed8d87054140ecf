"""CUDA's autocast on the CPU, against torch's own rules for CUDA. About 30 seconds.

The oracle: on fake CUDA tensors torch runs its real CUDA autocast kernels, no GPU needed, and shows the dtypes.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from ascend_workbook.machine import device
from tests.machine.launch.running import SCRIPTS, output, run


def dtypes(text: str) -> dict[str, str]:
    found: dict[str, str] = json.loads(text.split("DTYPES ", 1)[1].splitlines()[0])
    return found


#: Operators that fake tensors cannot run without a CUDA build.
NO_ORACLE = {"gru_cell", "grid_sample"}
#: Operators whose CPU kernel has no half precision: they raise, naming themselves.
NO_KERNEL = {"avg_pool3d"}


def test_dtypes_are_cudas(tmp_path: Path) -> None:
    oracle = subprocess.run(
        [sys.executable, str(SCRIPTS / "autocast_dtypes.py"), "oracle"],
        env=device.child_environment("cpu"),
        capture_output=True,
        text=True,
        check=True,
    )
    expected = dtypes(oracle.stdout)
    found = dtypes(output(run(tmp_path, "autocast_dtypes.py", transform="baseline_cpu")))
    assert len(expected) > 700
    different = {case: (expected[case], found[case]) for case in expected if expected[case] != found[case]}
    names = {case.split(" | ")[0] for case in different}
    assert names == NO_ORACLE | NO_KERNEL, different
    for case, (theirs, ours) in different.items():
        name = case.split(" | ")[0]
        assert "Error" in theirs if name in NO_ORACLE else ours.startswith('NotImplementedError: "avg_pool3d')
    assert not any("Error" in found[case] for case in found if case.startswith(("linear", "conv", "attention")))


def test_every_operator_torch_registers_is_listed() -> None:
    from ascend_workbook.machine.launch.child.baseline import autocast as lists
    from ascend_workbook.machine.launch.child.baseline.autocast import operators_with_kernel

    groups = [lists.LOWER, lists.FLOAT32, lists.FLOAT32_RESULT, list(lists.OTHER_OVERLOAD), lists.WIDEST]
    listed = [name for group in [*groups, list(lists.REFUSED)] for name in group]
    assert len(listed) == len(set(listed)), "an operator in two groups"
    assert operators_with_kernel("AutocastCUDA") <= set(listed)
    assert operators_with_kernel("AutocastCUDA") >= set(listed) - lists.NOT_ON_CPU, (
        "names that this torch does not know"
    )
