"""`from pkg_resources import packaging`: setuptools no longer has pkg_resources; the package itself says the same.

Megatron-LM's core up to 0.8 imports it so in five modules. A new environment has a setuptools without the module, and
the import ends the run before it begins, on any device.
"""

from __future__ import annotations

import ast

from ascend_workbook.findings.finding import Edit
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import ANY, MEASURED, REWRITE, Findings, Known, finding_at

CODE = "MIG331"
TOKENS = ("pkg_resources",)
KNOWN = Known(MEASURED, "https://github.com/pypa/setuptools/blob/main/NEWS.rst", versions=ANY)


#: What `import packaging` alone does not load.
SUBMODULES = ("licenses", "markers", "metadata", "requirements", "specifiers", "tags", "utils", "version")


def check(source: Source) -> Findings:
    for node in source.imports:
        names = [(name.name, name.asname) for name in node.names]
        if getattr(node, "module", "") == "pkg_resources" and names == [("packaging", None)]:
            start, end = source.span_of(node)
            text = f"import {', '.join(f'packaging.{name}' for name in _list_used(source))}"
            yield finding_at(source, node, "MIG331.packaging", REWRITE, (Edit(start, end, text),), text=text)


def _list_used(source: Source) -> list[str]:
    """List the submodules of packaging that the file names; its version where it names none."""
    nodes = source.nodes_of_type(ast.Attribute)
    used = {node.attr for node in nodes if getattr(node.value, "id", "") == "packaging"}
    return [name for name in SUBMODULES if name in used] or ["version"]
