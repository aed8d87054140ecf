"""A launch plugin: stand-ins for data sets and weights that are not here, and for nothing that an NPU lacks.

It takes those parts of planning/child/stand_ins.py (configuration `stand_ins`, its path) that touch neither
torch.compile nor DataParallel: what fails there on an NPU has to fail. Imports nothing of the workbook."""

from __future__ import annotations

import functools
import importlib.util
from typing import Any

import torch

PASSES_THROUGH = True
#: Modules of torchvision that have taken the function from torch.hub by its name.
TAKING = ("torchvision._internally_replaced_utils", "torchvision.models._api")


def attach(observer: Any, config: dict[str, Any]) -> None:
    """Stand in for data sets and weights that the program does not find from now on."""
    spec = importlib.util.spec_from_file_location("_migrations_stand_ins", config["stand_ins"])
    assert spec is not None and spec.loader is not None
    stand_ins = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(stand_ins)
    notes = observer.open_notes("stand_ins.jsonl")
    observer.after_import({"torchvision.datasets": functools.partial(stand_ins.patch_datasets, notes)})
    stand_ins.patch_weights(notes)
    observer.after_import(dict.fromkeys(TAKING, take_weights))
    stand_ins.give_terminal()


def take_weights(module: Any) -> None:
    """Give a module of torchvision that is imported already what torch.hub has now."""
    module.load_state_dict_from_url = torch.hub.load_state_dict_from_url
