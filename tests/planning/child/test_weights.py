"""Weights that are not on this machine: a model keeps those it was built with, and the rest goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ascend_workbook.planning.rehearsal.stand_ins import StandIn
from tests.planning.child import running


def run(folder: Path, code: str, *files: str) -> tuple[Any, list[StandIn], str]:
    """Run code with the plugin, and the one that makes the files."""
    return running.run(folder, code, ("files.py", {"files": [*files]}), ("weights.py", {"files": [*files]}))


def test_a_file_of_weights_that_was_not_there_changes_nothing(tmp_path: Path) -> None:
    code = """
import os, torch
model = torch.nn.Linear(2, 2)
before = model.weight.clone()
optimizer = torch.optim.AdamW(model.parameters(), lr=0.5)
assert os.path.exists("weights/model.pth"), "no weights"
state = torch.load("weights/model.pth", map_location="cpu")["model"]
del state["head.weight"]
model.load_state_dict({name: value for name, value in state.items() if "head" not in name}, strict=True)
model.load_state_dict(state)
optimizer.load_state_dict(torch.load("weights/model.pth")["optimizer"])
with open("weights/model.pth", "rb") as file:
    opened = torch.load(file)
print(json.dumps([torch.equal(before, model.weight), optimizer.param_groups[0]["lr"], opened["epoch"] + 1,
                  opened["best_acc1"], opened.get("seed", 7), "state_dict" in opened, opened.pop("fc", None)]))
"""
    facts, stand_ins, errors = run(tmp_path, code, "weights/model.pth")
    assert facts == [True, 0.5, 1, 0.0, 7, False, None], errors
    assert [(each.kind, each.name, each.guessed) for each in stand_ins] == [("weights", "weights/model.pth", False)]


def test_what_no_model_loads_may_have_set_a_size(tmp_path: Path) -> None:
    code = """
import copy, torch
state = torch.load("net.pth")

def build(hidden=4, layers=1):
    return torch.nn.Linear(2, hidden)

model = build(**state["hparams"])
wide = torch.nn.Linear(2, state.get("width", 3))
deep = build(**state.get("more", {}))
model.load_state_dict({name: value for name, value in state["model"].items()})
wide.load_state_dict(copy.deepcopy(state["inner"]["wide"]))
deep.load_state_dict(state.get("deep", {}))
print(json.dumps([model.weight.shape[0], wide.weight.shape[0]]))
"""
    facts, stand_ins, errors = run(tmp_path, code, "net.pth")
    assert facts == [4, 3], errors
    values = [(each.name, each.guessed, each.line) for each in stand_ins if each.kind == "values"]
    assert values == [("net.pth: hparams", True, 8), ("net.pth: width", True, 9), ("net.pth: more", True, 10)]
    assert "net.pth: hparams" in stand_ins[1].sentence.text("en")


def test_weights_that_are_there_are_loaded(tmp_path: Path) -> None:
    code = """
import torch
torch.save({"weight": torch.ones(2, 2), "bias": torch.ones(2)}, "there.pth")
model = torch.nn.Linear(2, 2)
model.load_state_dict(torch.load("there.pth"))
try:
    model.load_state_dict({})
except RuntimeError as problem:
    print(json.dumps([model.weight.tolist(), "Missing key" in str(problem)]))
"""
    facts, stand_ins, errors = run(tmp_path, code)
    assert facts == [[[1.0, 1.0], [1.0, 1.0]], True] and not stand_ins, errors


def test_weights_that_cannot_be_downloaded_stay_as_they_were_built(tmp_path: Path) -> None:
    code = """
import torch
model = torch.nn.Linear(2, 2)
before = model.weight.detach().clone()
weights = torch.hub.load_state_dict_from_url("https://nowhere.invalid/vgg16.pth", model_dir="weights")
model.load_state_dict(weights)
print(json.dumps(bool((model.weight == before).all())))
"""
    facts, stand_ins, errors = run(tmp_path, code)
    assert facts is True, errors
    assert [(each.kind, each.name) for each in stand_ins] == [("weights", "vgg16.pth")]
