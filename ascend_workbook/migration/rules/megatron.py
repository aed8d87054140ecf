"""Scripts of Megatron-LM's core: MindSpeed's adaptor is imported under torch, the one line that its guide adds.

The adaptor puts NPU versions in the place of Megatron's functions as they are imported, so it stands before them. It
brings transfer_to_npu with it. GPT-NeoX and others have a `megatron` of their own without a core: the adaptor is not
for those. What else MindSpeed needs depends on its branch, which must be the core's.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import islice

from ascend_workbook.findings.finding import Edit
from ascend_workbook.migration.reading.calls import list_modules
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import MEASURED, REWRITE, Findings, Known, finding_at

CODE = "MIG330"
ADAPTOR = "mindspeed.megatron_adaptor"
CORE = "megatron.core"
TOKENS = ("megatron",)
NEEDS = ("core",)
#: MindSpeed, branch 2.1.0_core_r0.8.0: its guide for Megatron-LM's pretrain_gpt.py.
GUIDE = (
    "https://github.com/Ascend/MindSpeed/blob/1e898a29c7505860dc711295349472e8a9dd66f4/"
    "docs/user-guide/getting_started.md"
)
KNOWN = Known(MEASURED, GUIDE)


def check(source: Source) -> Findings:
    for node in islice(_list_imports(source), 1):
        if needs_adaptor(source):
            yield finding_at(source, node, "MIG330.adaptor", REWRITE, (_import_adaptor(source, node),))


def needs_adaptor(source: Source) -> bool:
    """Return whether a file is a script that imports Megatron's core at its top, and no adaptor."""
    modules = [module for node in source.imports for module in list_modules(node)]
    core = any(f"{module}.".startswith(f"{CORE}.") for module in modules) and any(_list_imports(source))
    return core and ADAPTOR not in modules and not source.is_of("megatron", beside=False) and _is_script(source)


def _is_script(source: Source) -> bool:
    return any(
        isinstance(statement, ast.If)
        and isinstance(statement.test, ast.Compare)
        and getattr(statement.test.left, "id", "") == "__name__"
        for statement in source.tree.body
    )


def _list_imports(source: Source) -> Iterator[ast.stmt]:
    """Yield the imports of Megatron's at the top of a file: the adaptor stands before the first."""
    for statement in source.tree.body:
        modules = list_modules(statement) if isinstance(statement, (ast.Import, ast.ImportFrom)) else ()
        if any(module.split(".")[0] == "megatron" for module in modules):
            yield statement


def _import_adaptor(source: Source, node: ast.stmt) -> Edit:
    """Return the edit that puts the line under `import torch` where that comes first, else before Megatron's."""
    line = f"import {ADAPTOR}"
    for statement in source.tree.body:
        if statement is node:
            break
        if isinstance(statement, ast.Import) and [name.name for name in statement.names] == ["torch"]:
            end = source.line_starts[(statement.end_lineno or statement.lineno) - 1]
            end += len(source.read_line(statement.end_lineno or statement.lineno).rstrip("\r\n"))
            if ";" not in source.text[source.span_of(statement)[1] : end]:
                return Edit(end, end, source.line_end + line)
    start, _ = source.span_of(node)
    return Edit(start, start, line + (source.line_end if start == source.line_starts[node.lineno - 1] else "; "))
