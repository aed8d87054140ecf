"""Names that the installed version of a library no longer has stand for those of today, and are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.planning.child import running

OLDER: tuple[str, dict[str, object]] = ("older.py", {})
TRAINER = """
from dataclasses import dataclass
@dataclass
class TrainingArguments:
    output_dir: str
    eval_strategy: str = "no"
"""


def test_names_of_numpy_and_of_python(tmp_path: Path) -> None:
    code = """
import collections, inspect
import numpy as np
from numpy import trapz
size = np.product([2, 3])
print(json.dumps([int(size), np.float is float, np.int(3.7), collections.Mapping.__module__, np.array([1.0]).sum(),
                  trapz is np.trapezoid, bool(np.isnan(np.NaN)), inspect.getargspec(len).args]))
"""
    facts, stand_ins, errors = running.run(tmp_path, code, OLDER)
    assert facts == [6, True, 3, "collections.abc", 1.0, True, True, ["obj"]], errors
    told = {each.name: (each.facts["now"], each.line) for each in stand_ins}
    assert told["numpy.product"] == ("prod", 5) and told["numpy.trapz"] == ("trapezoid", 4)
    assert {"numpy.float", "numpy.int", "numpy.NaN", "collections.Mapping", "inspect.getargspec"} <= set(told)


@pytest.mark.parametrize("line", ["import numpy\nnumpy.prodct", "import collections\ncollections.Mappings"])
def test_other_names_are_missed(tmp_path: Path, line: str) -> None:
    _, stand_ins, errors = running.run(tmp_path, line, OLDER)
    assert "AttributeError: module" in errors and stand_ins == []


def test_a_library_that_looks_for_mpi_finds_what_is_installed(tmp_path: Path) -> None:
    (tmp_path / "site-packages").mkdir()
    (tmp_path / "site-packages" / "framework.py").write_text(
        "import importlib.util\nfound = importlib.util.find_spec('mpi4py') is not None\n"
    )
    code = "import framework\nfrom mpi4py import MPI\nprint(json.dumps([framework.found, MPI.COMM_WORLD.Get_size()]))"
    facts, stand_ins, errors = running.run(tmp_path, code, OLDER, library="site-packages")
    assert facts == [False, 1], errors
    assert [(each.kind, each.line) for each in stand_ins] == [("mpi", 2)]


def test_a_library_that_only_looks_is_not_answered(tmp_path: Path) -> None:
    for folder in ("site-packages", "torch_npu"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"looks_{folder[:4]}.py").write_text(
            "import numpy\nfound = hasattr(numpy, 'float_') or hasattr(numpy, 'bool8')\n"
        )
    code = """
import sys
sys.path += ["torch_npu"]
import looks_site, looks_torc, numpy
print(json.dumps([looks_site.found, looks_torc.found, numpy.bool8 is numpy.bool_]))
"""
    facts, stand_ins, errors = running.run(tmp_path, code, ("older.py", {}), library="site-packages")
    assert facts == [False, False, True], errors
    assert [each.name for each in stand_ins] == ["numpy.bool8"]


def test_older_arguments(tmp_path: Path) -> None:
    library = tmp_path / "site-packages" / "transformers"
    library.mkdir(parents=True)
    (library / "__init__.py").write_text("")
    (library / "training_args.py").write_text(TRAINER)
    code = """
from transformers.training_args import TrainingArguments
made = TrainingArguments("out", evaluation_strategy="epoch", logging_dir="logs")
try:
    TrainingArguments("out", nonsense=1)
except TypeError as problem:
    print(json.dumps([made.output_dir, made.eval_strategy, "nonsense" in str(problem)]))
"""
    facts, stand_ins, errors = running.run(tmp_path, code, OLDER, library="site-packages")
    assert facts == ["out", "epoch", True], errors
    assert [(each.name, each.facts["now"]) for each in stand_ins] == [
        ("TrainingArguments(evaluation_strategy=)", "eval_strategy"),
        ("TrainingArguments(logging_dir=)", "-"),
    ]


def test_a_world_whose_peers_say_the_same(tmp_path: Path) -> None:
    code = """
from mpi4py import MPI
import numpy
result = numpy.zeros(2)
MPI.COMM_WORLD.Allreduce(numpy.ones(2), result)
world = MPI.COMM_WORLD
print(json.dumps([world.Get_rank(), world.size, world.bcast("seed"), world.allgather(3), result.tolist()]))
"""
    facts, stand_ins, errors = running.run(tmp_path, code, OLDER)
    assert facts == [0, 1, "seed", [3], [1.0, 1.0]], errors
    assert [(each.kind, each.line) for each in stand_ins] == [("mpi", 2)]


def test_older_arguments_of_a_dataclass_that_a_program_makes(tmp_path: Path) -> None:
    library = tmp_path / "site-packages" / "transformers"
    library.mkdir(parents=True)
    (library / "__init__.py").write_text("")
    (library / "training_args.py").write_text(TRAINER)
    code = """
from dataclasses import dataclass
from transformers.training_args import TrainingArguments
@dataclass
class Own(TrainingArguments):
    rank: int = 8
@dataclass
class Other:
    rank: int = 8
made = Own("out", evaluation_strategy="epoch", rank=4)
try:
    Other(evaluation_strategy="epoch")
except TypeError as problem:
    print(json.dumps([made.eval_strategy, made.rank, "evaluation_strategy" in str(problem)]))
"""
    facts, stand_ins, errors = running.run(tmp_path, code, OLDER, library="site-packages")
    assert facts == ["epoch", 4, True], errors
    assert [each.name for each in stand_ins] == ["Own(evaluation_strategy=)"]


def test_modules_and_arguments_that_are_gone(tmp_path: Path) -> None:
    code = """
import torch
from torch._six import inf, string_classes, container_abcs
from torchvision.models.utils import load_state_dict_from_url
optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
plan = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, verbose=True)
try:
    import torch._seven
except ModuleNotFoundError:
    print(json.dumps([inf > 1e300, isinstance("a", string_classes), container_abcs.__name__,
                      load_state_dict_from_url is torch.hub.load_state_dict_from_url, plan.step_size]))
"""
    (tmp_path / "site-packages" / "torchvision" / "models").mkdir(parents=True)
    for name in ("torchvision", "torchvision/models"):
        (tmp_path / "site-packages" / name / "__init__.py").write_text("")
    facts, stand_ins, errors = running.run(tmp_path, code, OLDER, library="site-packages")
    assert facts == [True, True, "collections.abc", True, 2], errors
    assert [each.name for each in stand_ins] == ["torch._six", "torchvision.models.utils", "StepLR(verbose=)"]
