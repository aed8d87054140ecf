"""There is no CUDA, cuDNN or NCCL under a torch for NPUs: their versions are None, and who splits or adds raises."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ascend_workbook.findings.finding import Edit
from ascend_workbook.migration.loop.curing import is_tested, last_name, look_at_error, replace_node
from ascend_workbook.migration.loop.failure import Failure
from ascend_workbook.migration.reading.source import Source

SOURCE = "https://docs.pytorch.org/docs/stable/torch.html"
MESSAGES = ("NoneType", "_nccl_version", "expected string or bytes-like object", "_cuda_getCompiledVersion")
HOLDS_EVERYWHERE = True
CALLS = {"torch.backends.cudnn.version": "0", "torch.cuda.nccl.version": ""}
NUMBER = "torch.version.cuda"
#: What takes a version as text, and raises at None.
READERS = (
    *("int", "float", "tuple", "list", "len", "parse", "Version", "parse_version", "LooseVersion", "StrictVersion"),
    *("match", "fullmatch", "search", "findall", "split", "sub"),
)


def knows(failure: Failure) -> bool:
    if not any(message in failure.message for message in MESSAGES):
        return False
    named = (
        name
        for source, node in look_at_error(failure).find_nodes(ast.Attribute, ast.Name)
        for name in (source.names.resolve_name(node),)
    )
    return any(name in CALLS or name == NUMBER for name in named)


def propose(failure: Failure) -> Iterator[tuple[Source, list[Edit]]]:
    for source in failure.walk_sources("version"):
        edits = []
        for node, name in source.names.named_nodes:
            above = source.names.parent_of(node)
            if not isinstance(node.ctx, ast.Load):
                continue
            if name == NUMBER and _wants_text(above) and not _is_guarded(source, node) and not is_tested(source, node):
                edits.append(replace_node(source, node, f'({source.text_of(node)} or "0.0")'))
            elif name in CALLS and isinstance(above, ast.Call) and above.func is node:
                text = f"({source.text_of(above)} or 0)" if CALLS[name] else "(0, 0)"
                if not is_tested(source, above):
                    edits.append(replace_node(source, above, text))
        yield source, edits


def _wants_text(above: ast.AST | None) -> bool:
    """Who is given the version raises where it is None, or keeps it: what is shown, or handed to others, stays None."""
    if isinstance(above, ast.Call):
        return last_name(above.func) in READERS
    return isinstance(
        above, (ast.Attribute, ast.Subscript, ast.BinOp, ast.Starred, ast.Assign, ast.AnnAssign, ast.Return)
    )


def _is_guarded(source: Source, node: ast.AST) -> bool:
    """`x is not None and x.split()`: what stands behind is not reached."""
    return any(isinstance(above, ast.BoolOp) for above in source.names.nodes_above(node))
