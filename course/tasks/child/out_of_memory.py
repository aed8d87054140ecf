"""A launch plugin: the card runs out of memory once, in the loss of the step that it is told.

config: step, from 1; device, "NPU" or "CUDA", as the message names it.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F


def attach(observer: Any, config: dict[str, Any]) -> None:
    plain = F.cross_entropy
    raised: list[bool] = []

    def cross_entropy(*args: Any, **named: Any) -> Any:
        if observer.steps_done + 1 == config["step"] and not raised:
            raised.append(True)
            message = (
                f"{config['device']} out of memory. Tried to allocate 2.00 GiB ({config['device']} 0; "
                "60.97 GiB total capacity; 59.31 GiB already allocated; 1.02 GiB free)"
            )
            observer.note("course_out_of_memory", step=config["step"], message=message)
            raise getattr(torch, "OutOfMemoryError", RuntimeError)(message)
        return plain(*args, **named)

    F.cross_entropy = cross_entropy
    torch.nn.functional.cross_entropy = cross_entropy
