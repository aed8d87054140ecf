"""torch.compile: the default backend, inductor, generates Triton code and does not work under transfer_to_npu.

It raises at the first call (get_gpu_type.cache_clear, torch_npu/_inductor/utils.py). `backend="eager"` runs
everywhere and compiles nothing: right values, no gain.
"""

from __future__ import annotations

import ast

from ascend_workbook.findings.finding import Edit
from ascend_workbook.migration.reading.calls import append_argument, find_argument, string_value, within_string
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import ASCEND, MANUAL, MEASURED, REWRITE, Findings, Known, finding_at

CODE = "MIG111"
TOKENS = ("compile", "torch_compile", "_dynamo", "inductor")
NEEDS = ("torch", "torch_compile")  # the second: a Trainer's switch, where torch need not be named
#: re.compile is everywhere; a name alone is torch's only where it is imported.
PATTERN = (
    r"(?<!\bre)\. compile\b (?:[](),=:;#\r\n]|(?:if|else|or|and)\b|\Z)"
    r"|(?:\bimport|[,(]) compile\b|torch_compile|_dynamo\b[^\n]*\boptimize\b|\boptimize (?:\(|as\b)|['\"]inductor['\"]"
)
KNOWN = Known(MEASURED, ASCEND + "torch_npu/_inductor/utils.py", inferred=("backend",))
HERE = {"eager", "aot_eager"}


def check(source: Source) -> Findings:
    for call in source.names.calls_by_name.get("torch.compile", ()):
        yield from _judge_compile(source, call)
    functions, classes = source.nodes_of_type(ast.FunctionDef), source.nodes_of_type(ast.ClassDef)
    for decorated in (*functions, *classes, *source.nodes_of_type(ast.AsyncFunctionDef)):
        decorators: list[ast.expr] = getattr(decorated, "decorator_list", [])
        for decorator in decorators:
            if source.names.resolve_name(decorator) == "torch.compile":
                _, end = source.span_of(decorator)
                yield finding_at(source, decorator, "MIG111.inductor", REWRITE, (Edit(end, end, '(backend="eager")'),))
    yield from _other_ways(source)


def _other_ways(source: Source) -> Findings:
    """Handed on under another name, Dynamo's own entry, Module.compile(), and the Trainer's switch."""
    for node, name in source.names.named_nodes:
        above = source.names.parent_of(node)
        passed = isinstance(above, (ast.Assign, ast.IfExp)) or (isinstance(above, ast.Call) and node in above.args)
        if name == "torch.compile" and passed:
            yield finding_at(source, node, "MIG111.backend", MANUAL)
    for constant, text in source.strings:
        if text == "inductor" and _is_given(source, constant):
            yield finding_at(source, constant, "MIG111.backend", MANUAL)
    dynamo = source.names.calls_by_name.get("torch._dynamo.optimize", ())
    switched = source.names.calls_by_keyword.get("torch_compile", ())
    modules = source.names.calls_by_method.get("compile", ())
    ways = [call for call in dynamo if string_value(find_argument(call, 0, "backend")) not in HERE]
    ways += [call for call in switched if getattr(find_argument(call, 99, "torch_compile"), "value", None) is True]
    ways += [call for call in modules if not source.names.resolve_call(call) and _is_module_compile(call)]
    for call in dict.fromkeys(ways):
        yield finding_at(source, call, "MIG111.backend", MANUAL)


def _is_given(source: Source, node: ast.AST) -> bool:
    """A default, an option's value or an assignment, on its way to a compile call elsewhere."""
    above = source.names.parent_of(node)
    if isinstance(above, ast.keyword):
        return above.arg in ("default", "const", "torch_compile_backend", "dynamo_backend")
    return isinstance(above, (ast.arguments, ast.Assign, ast.AnnAssign))


def _is_module_compile(call: ast.Call) -> bool:
    """`model.compile()`, with torch.compile's own options or none; Keras names an optimizer and a loss."""
    keywords = {pair.arg for pair in call.keywords}
    own = keywords <= {"mode", "fullgraph", "dynamic", "backend", "options", "disable"} and not call.args
    return own and string_value(find_argument(call, 99, "backend")) not in HERE


def _judge_compile(source: Source, call: ast.Call) -> Findings:
    backend = find_argument(call, 99, "backend")
    name = string_value(backend)
    if name in HERE:
        return
    if name == "inductor":
        assert isinstance(backend, ast.Constant)
        yield finding_at(source, call, "MIG111.inductor", REWRITE, within_string(source, backend, "inductor", "eager"))
    elif backend is not None:
        values = source.names.bound_values(backend) if isinstance(backend, ast.Name) else []
        if not values or not all(isinstance(value, ast.Constant) and value.value in HERE for value in values):
            yield finding_at(source, call, "MIG111.backend", MANUAL)
    else:
        may_name_one = any(pair.arg is None for pair in call.keywords)  # `**options`
        edits = () if may_name_one else append_argument(source, call, 'backend="eager"')
        yield finding_at(source, call, "MIG111.inductor", REWRITE, edits)
