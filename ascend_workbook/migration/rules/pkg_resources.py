"""`from pkg_resources import packaging`: setuptools no longer has pkg_resources; the package itself says the same.

Megatron-LM's core up to 0.8 imports it so in five modules. A new environment has a setuptools without the module, and
the import ends the run before it begins, on any device.
"""

from __future__ import annotations

from ascend_workbook.findings.finding import Edit
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import ANY, MEASURED, REWRITE, Findings, Known, finding_at

CODE = "MIG331"
TOKENS = ("pkg_resources",)
KNOWN = Known(MEASURED, "https://github.com/pypa/setuptools/blob/main/NEWS.rst", versions=ANY)


def check(source: Source) -> Findings:
    for node in source.imports:
        names = [(name.name, name.asname) for name in node.names]
        if getattr(node, "module", "") == "pkg_resources" and names == [("packaging", None)]:
            start, end = source.span_of(node)
            yield finding_at(source, node, "MIG331.packaging", REWRITE, (Edit(start, end, "import packaging.version"),))
