"""`benchmark`: throughput, latency and memory, by batch size, precision and data loading, on any device.

configurations.py: what is varied. script.py: each configuration a run of an unmodified script, in a child.
calls.py: a model, a function or a DataLoader in this process. facts.py: what was measured; rules/: what it says;
answer.py: the report."""

from __future__ import annotations

import os
from typing import Any, Union

from ascend_workbook.findings.report import Report


def benchmark(target: Union[str, os.PathLike[str], Any], *args: Any, **options: Any) -> Report:
    """Benchmark a script by its path (script.of_script), or a model, function or DataLoader of this process
    (calls.of_calls). Each of these two names its options. The report has a row per configuration; `facts["benchmark"]`
    has the same with units in its names, and the saved JSON is what `baseline` takes, from any machine."""
    if isinstance(target, (str, os.PathLike)):
        from ascend_workbook.profiling.benchmark.script import of_script

        return of_script(target, *args, **options)
    from ascend_workbook.profiling.benchmark.calls import of_calls

    return of_calls(target, *args, **options)


__all__ = ["benchmark"]
