"""What the release of torch_npu that is asked for lacks: names of torch.cuda, operators, types, mapped devices.

Silent where nobody named a release: the other rules speak of 2.13.0. data/releases.json is read from the wheels by
tools/releases. A device that transfer_to_npu of that release does not map is written as npu in the source."""

from __future__ import annotations

import ast

from ascend_workbook.findings.finding import Edit, Finding
from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.machine.versions import parse_version
from ascend_workbook.migration import release
from ascend_workbook.migration.reading.calls import is_load, string_value
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import AUTO, BY_ENTRY, DOCUMENTED, MANUAL, REWRITE, Findings, Known, finding_at
from ascend_workbook.migration.rules.device_string import DEVICE, make_device_edits

CODE = "MIG162"
WORDS = ("cuda", "npu")
TOKENS = ("torch_npu", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu")
KNOWN = Known(DOCUMENTED, "https://pypi.org/project/torch-npu/#history", versions=BY_ENTRY)


def check(source: Source) -> Findings:
    for node, name in source.names.whole_names:
        having = release.find_lacking(name) if is_load(node) or isinstance(node, ast.Attribute) else ()
        if having and name not in release.TYPES:
            yield _report(source, node, "guarded" if is_guarded(source, node, name) else "name", name, having)
        elif having:
            yield _report(source, node, "type", name, having)
    for string, text in source.strings:
        call = next((up for up in source.names.nodes_above(string) if isinstance(up, ast.Call)), None)
        name = source.names.resolve_call(call) if call is not None and DEVICE.match(text) else ""
        having = release.find_unmapped(name)
        if having:
            yield _report(source, string, "device", name, having, make_device_edits(source, string))


def _report(
    source: Source, node: ast.AST, outcome: str, name: str, having: tuple[str, ...], edits: tuple[Edit, ...] = ()
) -> Finding:
    asked = release.current_release()
    assert asked is not None
    later = [name for name in having if parse_version(name) > parse_version(asked.read)]
    since = Sentence("release.since" if later else "release.until", version=later[0] if later else having[-1])
    args = {"name": name, "release": asked.read, "since": since, "versions": f"torch_npu {asked.read}"}
    repair = {"device": REWRITE, "guarded": AUTO}.get(outcome, MANUAL)
    return finding_at(source, node, f"MIG162.{outcome}", repair, edits, **args)


def is_guarded(source: Source, node: ast.AST, name: str) -> bool:
    """Return whether a name is used only where hasattr() says that it is there, or where its lack is caught."""
    child, within = node, True  # within: not yet out of the function, which is called elsewhere
    for above in source.names.nodes_above(node):
        if isinstance(above, (ast.If, ast.IfExp)) and _asks_before(source, above, child, name):
            return True
        if isinstance(above, ast.BoolOp) and isinstance(above.op, ast.And):
            before = above.values[: above.values.index(child)] if child in above.values else []
            if any(_asks_for(source, value, name) for value in before):
                return True
        if within and isinstance(above, ast.Try) and child in above.body and any(map(_catches_lack, above.handlers)):
            return True
        within = within and not isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        child = above
    return False


def _asks_before(source: Source, branch: ast.If | ast.IfExp, child: ast.AST, name: str) -> bool:
    """Return whether `child` runs only where the branch's test found the name."""
    body, orelse = ([part] if isinstance(part, ast.expr) else part for part in (branch.body, branch.orelse))
    test = branch.test
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return child in orelse and _asks_for(source, test.operand, name)
    values = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    return child in body and any(_asks_for(source, value, name) for value in values)


def _asks_for(source: Source, test: ast.expr, name: str) -> bool:
    """Return whether a test is `hasattr(torch.cuda, "name")` of this name."""
    if not isinstance(test, ast.Call) or getattr(test.func, "id", "") != "hasattr" or len(test.args) != 2:
        return False
    return f"{source.names.resolve_name(test.args[0])}.{string_value(test.args[1])}" == name


def _catches_lack(handler: ast.ExceptHandler) -> bool:
    """Return whether a handler catches AttributeError by its name and does not raise again."""
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    raises = any(isinstance(inner, ast.Raise) for statement in handler.body for inner in ast.walk(statement))
    return not raises and any(getattr(kind, "id", "") == "AttributeError" for kind in caught)
