"""`from torch.cuda import *`: names that come this way are not followed, so they were not looked at."""

from __future__ import annotations

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import ANY, INFERRED, Findings, Known

CODE = "MIG125"
WORDS = ("import *",)
NEEDS = ("torch",)
KNOWN = Known(INFERRED, "https://docs.python.org/3/tutorial/modules.html", versions=ANY)


def check(source: Source) -> Findings:
    for node in source.names.star_imports:
        if (node.module or "").split(".")[0] == "torch":
            yield Finding(
                CODE, Status.NOT_LOOKED, "MIG125.not_followed", {"module": node.module}, source.place_of(node)
            )
