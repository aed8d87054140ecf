"""flash_attn is built for CUDA; its function of queries, keys and values is PyTorch's attention with axes swapped.

Only `flash_attn_func` is taken over, with the arguments that both have, where queries and keys are as long as each
other (flash_attn aligns a causal mask at the other end where they are not). Packed and varying lengths stay, for a
person to decide: torch_npu has `npu_fusion_attention` for them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ascend_workbook.findings.finding import Edit
from ascend_workbook.migration.loop.curing import replace_node
from ascend_workbook.migration.loop.failure import Failure
from ascend_workbook.migration.reading.source import Source

SOURCE = "https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html"
HOLDS_EVERYWHERE = True
MODULES = ("flash_attn", "flash_attn.flash_attn_interface")
NAME = "flash_attn_func"
TAKEN = ("q", "k", "v", "dropout_p", "softmax_scale", "causal")
FUNCTION = '''def {name}(q, k, v, dropout_p=0.0, softmax_scale=None, causal=False):
    """PyTorch's attention with the arguments of flash_attn's function."""
    from torch.nn.functional import scaled_dot_product_attention

    if causal and q.shape[1] != k.shape[1]:
        raise NotImplementedError("a causal mask of queries and keys that are not as long as each other")
    q, k, v = (each.transpose(1, 2) for each in (q, k, v))
    if q.shape[1] != k.shape[1]:
        k, v = (each.repeat_interleave(q.shape[1] // each.shape[1], dim=1) for each in (k, v))
    out = scaled_dot_product_attention(q, k, v, dropout_p=dropout_p, is_causal=causal, scale=softmax_scale)
    return out.transpose(1, 2)
'''


def knows(failure: Failure) -> bool:
    return any(f"No module named '{module}'" in failure.message for module in MODULES)


def propose(failure: Failure) -> Iterator[tuple[Source, list[Edit]]]:
    for source in failure.walk_sources("flash_attn"):
        edits = []
        for line in source.nodes_of_type(ast.ImportFrom):
            names = [(name.name, name.asname or name.name) for name in line.names]
            known = line.module in MODULES and not line.level and [name for name, _ in names] == [NAME]
            if known and _stands_alone(source, line) and _takes_all(source):
                text = FUNCTION.format(name=names[0][1]).rstrip("\n")
                edits.append(replace_node(source, line, source.line_end.join(text.split("\n"))))
        yield source, edits


def _stands_alone(source: Source, line: ast.ImportFrom) -> bool:
    """Whether nothing else stands in its line: what follows would land in the function."""
    behind = source.text[source.span_of(line)[1] :].partition("\n")[0].strip()
    return line.col_offset == 0 and (not behind or behind.startswith("#"))


def _takes_all(source: Source) -> bool:
    """Whether every call gives what the function takes."""
    calls = [call for module in MODULES for call in source.names.calls_by_name.get(f"{module}.{NAME}", ())]
    return all(pair.arg in TAKEN for call in calls for pair in call.keywords)
