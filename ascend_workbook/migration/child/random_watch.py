"""A launch plugin: whether a training draws values from the device's own random generator, and from which step on.

Runs in the user's process by path and imports nothing of the workbook. Read from the generator, whose offset moves with
every draw and with nothing else, so no operator is looked at and none is slower. Keeps in the log's meta:

    "random": {"first_step": 3, "modules": ["blocks.0.drop", ...], "count": 12}

`first_step` is 0 where values were drawn before the first step, None where none were; `modules` are those of the model
that draw while they train.
"""

from __future__ import annotations

from typing import Any

import torch

SHOWN = 3


def attach(observer: Any, config: dict[str, Any]) -> None:
    """Watch the random generator of `device`, npu or cuda; elsewhere nothing is kept, as the script's generator is the
    CPU's.
    """
    name = config.get("device", "")
    if name not in ("npu", "cuda"):
        return
    draws_log: dict[str, Any] = {"first_step": None, "modules": [], "count": 0}
    observer.log.content["meta"]["random"] = draws_log
    seen: dict[int, bytes] = {}

    def note_draw(step: int) -> None:
        drawn = _has_drawn(name, seen)
        if drawn and draws_log["first_step"] is None:
            draws_log["first_step"] = step

    def note_drawing_modules(model: torch.nn.Module) -> None:
        note_draw(0)
        names = [path for path, module in model.named_modules() if _draws_at_random(module)]
        draws_log["modules"] = (draws_log["modules"] + names)[:SHOWN]
        draws_log["count"] += len(names)

    observer.on_model(note_drawing_modules)
    observer.on_step(lambda step: note_draw(step["step"]))
    observer.on_end(lambda status: note_draw(len(observer.log.content.get("steps", ())) + 1))


def _has_drawn(name: str, seen: dict[int, bytes]) -> bool:
    """Whether any device's generator has drawn since the last look, or since it was seeded."""
    module = getattr(torch, name, None)
    if module is None or not module.is_initialized():
        return False
    moved = False
    for number, generator in enumerate(module.default_generators):
        state = bytes(generator.get_state().numpy())
        offset = state[8:16]  # Philox: a seed of 8 bytes, an offset of 8
        moved = moved or (any(offset) and state != seen.get(number))
        seen[number] = state
    return moved


def _draws_at_random(module: torch.nn.Module) -> bool:
    """nn.Dropout and its kin, attention with a dropout of its own, and the drop paths of model libraries."""
    kind = type(module).__name__.lower()
    for attribute in ("p", "drop_prob", "dropout", "dropout_p", "attention_dropout"):
        chance = getattr(module, attribute, None)
        if isinstance(chance, (int, float)) and not isinstance(chance, bool) and 0 < chance <= 1:
            return "drop" in kind or "attention" in kind or isinstance(module, torch.nn.RNNBase)
    return False
