"""A launch plugin: in which formats the linear layers computed, and the weights were kept.

Noted at the end as `course_formats`: calls by format of the result, and formats of the parameters.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch


def attach(observer: Any, config: dict[str, Any]) -> None:
    results: Counter[str] = Counter()
    weights: set[str] = set()

    def count_formats(module: Any, inputs: Any, result: Any) -> None:
        if isinstance(module, torch.nn.Linear):
            results[_format_of(result)] += 1
            weights.add(_format_of(module.weight))

    torch.nn.modules.module.register_module_forward_hook(count_formats)
    observer.on_end(lambda status: observer.note("course_formats", results=dict(results), weights=sorted(weights)))


def _format_of(tensor: Any) -> str:
    return str(tensor.dtype).replace("torch.", "")
