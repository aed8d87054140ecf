"""A fault that came to no process is an error; one of a single rank comes to the others never, and that is right."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.precision.capture import _check_fault_struck

NEVER = "NPU simulator: the fault aten::_softmax@rank=1:scale=1.02 never struck: 1 calls of it in this process\n"


@pytest.mark.parametrize(
    ("said", "nproc", "wrong"),
    [("", 1, False), (NEVER, 2, False), (NEVER, 1, True), ("[rank0]: " + NEVER + NEVER, 2, True)],
)
def test_it_must_strike_somewhere(tmp_path: Path, said: str, nproc: int, wrong: bool) -> None:
    output = tmp_path / "output.log"
    output.write_text("step 0\n" + said)
    if wrong:
        with pytest.raises(WorkbookError, match="_softmax@rank=1.* never struck"):
            _check_fault_struck(output, nproc)
    else:
        _check_fault_struck(output, nproc)
