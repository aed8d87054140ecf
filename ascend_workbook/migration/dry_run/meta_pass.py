"""`dry_run(meta=True)`: one step of a script on tensors without values, for a model that does not fit this machine.

Nothing is computed and nothing is compared. It shows that the model is built, that forward, backward and the update
fit together in shape and data type, which operators they call and whether torch_npu has them, and how large parameters,
gradients and optimiser state are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report
from ascend_workbook.migration.operators import META, operators


def meta_pass(
    script: str | Path,
    args: Sequence[str],
    nproc: int,
    *,
    out: str | Path | None,
    seed: int,
    python: str,
    timeout_s: float | None,
    mode: str,
    network: bool,
) -> Report:
    """The report of `operators` on device meta, from the first forward on, with what it did not prove."""
    report = operators(
        script,
        args,
        META,
        1,
        warmup=0,
        out=out,
        nproc=nproc,
        network=network,
        seed=seed,
        mode=mode,
        python=python,
        timeout_s=timeout_s,
    )
    if report.facts["steps"]:
        done = Finding("MIG146", Status.OK, "MIG146.passed", weight=600.0)
    else:
        done = Finding("MIG146", Status.FAIL, "MIG146.stuck", weight=1100.0)
    return replace(report, verb="meta_pass", findings=(done, *report.findings))
