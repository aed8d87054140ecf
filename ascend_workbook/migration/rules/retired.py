"""Names from older Ascend tutorials that no longer exist, with what they are today; from data/retired.json."""

from __future__ import annotations

import ast

from ascend_workbook.findings.finding import Finding
from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.migration import api_map
from ascend_workbook.migration.reading.calls import list_modules
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import DOCUMENTED, MANUAL, TODAY, Findings, Known, finding_at

CODE = "MIG129"
RETIRED = api_map.load_map("retired")["names"]
TOKENS = {name.rpartition(".")[2] for name in RETIRED} | {name.split(".")[0] for name in RETIRED if "." not in name}
PATTERN = rf"\b(?:{'|'.join(sorted({name.split('.')[0] for name in RETIRED}))})\b"
KNOWN = Known(DOCUMENTED, "https://pypi.org/project/mindstudio-probe/", versions=TODAY, hours={"gone": 0.25})


def check(source: Source) -> Findings:
    for node in source.imports:
        for name in dict.fromkeys(filter(None, map(_find_retired_name, list_modules(node)))):
            yield _report_gone_name(source, node, name)
    for reference, name in source.names.named_nodes:
        if isinstance(reference, ast.Attribute) and name in RETIRED:
            yield _report_gone_name(source, reference, name)
    for key, text in source.strings:
        if text in RETIRED and RETIRED[text].get("kind") == "variable" and _is_key(source, key):
            yield _report_gone_name(source, key, text)


def _report_gone_name(source: Source, node: ast.AST, name: str) -> Finding:
    use = Sentence(f"migration.use.{RETIRED[name]['use']}")
    return finding_at(source, node, "MIG129.gone", MANUAL, name=name, use=use)


def _find_retired_name(name: str) -> str:
    """The name itself or the retired module that it is in."""
    parts = name.split(".")
    leading = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
    return next((part for part in leading if RETIRED.get(part, {}).get("kind") in ("name", "module")), "")


def _is_key(source: Source, node: ast.Constant) -> bool:
    """`os.environ["X"]`, `os.getenv("X")`."""
    above = source.names.parent_of(node)
    if isinstance(above, ast.Subscript):
        return source.names.resolve_name(above.value) == "os.environ"
    return source.names.resolve_call(above).startswith("os.") if isinstance(above, ast.Call) else False
