"""Layers and optimizers of apex and bitsandbytes that have their like in PyTorch.

apex's `FusedLayerNorm` is `torch.nn.LayerNorm`, its `FusedAdam` with the default (`adam_w_mode`) AdamW; an optimizer
of bitsandbytes keeps its state in 8 bits, PyTorch's in 32, which is more memory and no less exact. What a library
takes where nothing is given is written out where PyTorch takes another value. Automatic mixed precision (`apex.amp`),
quantized layers and what PyTorch has no like of stay, for a person to decide.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from ascend_workbook.findings.finding import Edit
from ascend_workbook.migration.loop.curing import keyword_of, replace_node
from ascend_workbook.migration.loop.failure import Failure
from ascend_workbook.migration.reading.calls import append_argument
from ascend_workbook.migration.reading.source import Source

SOURCE = "https://nvidia.github.io/apex/"
HOLDS_EVERYWHERE = True


class Like(NamedTuple):
    """`keywords` mean the same in both, `positions` too; `default` is what the library takes and PyTorch does not."""

    name: str
    keywords: tuple[str, ...]
    positions: int
    default: str = ""


LAYER = Like("torch.nn.LayerNorm", ("normalized_shape", "eps", "elementwise_affine"), 3)
ADAM = Like("torch.optim.AdamW", ("params", "lr", "betas", "eps", "weight_decay"), 2, "weight_decay=0.0")
LIKE = {
    "apex.normalization.FusedLayerNorm": LAYER,
    "apex.normalization.fused_layer_norm.FusedLayerNorm": LAYER,
    "apex.normalization.FusedRMSNorm": Like("torch.nn.RMSNorm", LAYER.keywords, 1, "eps=1e-5"),
    "apex.optimizers.FusedAdam": ADAM,
    "apex.optimizers.fused_adam.FusedAdam": ADAM,
    "apex.optimizers.FusedSGD": Like(
        "torch.optim.SGD", ("params", "lr", "momentum", "dampening", "weight_decay", "nesterov"), 6
    ),
    "apex.parallel.convert_syncbn_model": Like(
        "torch.nn.SyncBatchNorm.convert_sync_batchnorm", ("module", "process_group"), 2
    ),
    **{
        f"bitsandbytes.optim.{prefix}{name}{bits}": Like(f"torch.optim.{name}", ADAM.keywords, 5)
        for name in ("Adam", "AdamW")
        for prefix in ("", "Paged")
        for bits in ("", "8bit", "32bit")
    },
}
LIBRARIES = ("apex", "bitsandbytes")
MESSAGE = re.compile(r"No module named '(apex|bitsandbytes)['.]")


def knows(failure: Failure) -> bool:
    return bool(MESSAGE.search(failure.message))


def propose(failure: Failure) -> Iterator[tuple[Source, list[Edit]]]:
    for source in failure.walk_sources(*LIBRARIES):
        yield source, _replace_uses(source)


def _replace_uses(source: Source) -> list[Edit]:
    """All of a file's uses, or none: a name that stays needs its import."""
    edits: list[Edit] = []
    for line in source.imports:
        if isinstance(line, ast.Import):
            if any(name.name.split(".")[0] in LIBRARIES for name in line.names):
                if len(line.names) > 1 or not _all_known(source) or _is_tried(source, line):
                    return []
                edits.append(_import_torch(source, line))
        elif (line.module or "").split(".")[0] in LIBRARIES and not line.level:
            if any(f"{line.module}.{name.name}" not in LIKE for name in line.names) or _is_tried(source, line):
                return []
            edits.append(_import_torch(source, line))
    for node, name in source.names.named_nodes:
        if name in LIKE and isinstance(node.ctx, ast.Load):
            call = source.names.parent_of(node)
            if not isinstance(call, ast.Call) or call.func is not node or not _means_the_same(call, LIKE[name]):
                return []
            edits += [replace_node(source, node, LIKE[name].name), *_write_default(source, call, LIKE[name].default)]
    return edits


def _is_tried(source: Source, line: ast.stmt) -> bool:
    """Whether the script does without: an import that worked would say that the library is there."""
    return any(isinstance(above, ast.Try) for above in source.names.nodes_above(line))


def _import_torch(source: Source, line: ast.Import | ast.ImportFrom) -> Edit:
    """`import torch` in a line's place; nothing in it where torch is imported above already."""
    above = (other for other in source.tree.body if isinstance(other, ast.Import) and other.lineno < line.lineno)
    known = any(name.name == "torch" and name.asname is None for other in above for name in other.names)
    start, end = source.span_of(line)
    behind = source.text[end:].split("\n", 1)[0]
    if known and not isinstance(source.names.enclosing_function(line), ast.Module):
        return replace_node(source, line, "pass")  # an import would make torch local to all of the function
    if not known or line not in source.tree.body or line.col_offset or behind.strip():
        return replace_node(source, line, "import torch")
    return Edit(start, min(end + len(behind) + 1, len(source.text)), "")


def _all_known(source: Source) -> bool:
    """Whether every name of the libraries, with what is called of it, has its like."""
    for node, name in source.names.named_nodes:
        if name.split(".")[0] not in LIBRARIES or isinstance(source.names.parent_of(node), ast.Attribute):
            continue
        if name not in LIKE:
            return False
    return True


def _means_the_same(call: ast.Call, like: Like) -> bool:
    starred = any(isinstance(value, ast.Starred) for value in call.args)
    known = all(pair.arg in like.keywords for pair in call.keywords)
    return known and not starred and len(call.args) <= like.positions


def _write_default(source: Source, call: ast.Call, default: str) -> tuple[Edit, ...]:
    if not default or keyword_of(call, default.partition("=")[0]) is not None:
        return ()
    return append_argument(source, call, default)
