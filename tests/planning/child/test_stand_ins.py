"""Data sets that are not on this machine are made up in the process that trains: only what failed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.planning.rehearsal.stand_ins import StandIn
from tests.planning.child import running

#: As torchvision's classes are made: roots and transforms kept by one class, data looked for by the others.
DATASETS = """
import os
from urllib.error import URLError

class VisionDataset:
    def __init__(self, root, transforms=None, transform=None, target_transform=None):
        self.root, self.transform, self.transforms = root, transform, None

class MNIST(VisionDataset):
    def __init__(self, root, train=True, transform=None, target_transform=None, download=False):
        super().__init__(root, transform=transform, target_transform=target_transform)
        if download:
            raise URLError("no network")
        if not os.path.isdir(root):
            raise RuntimeError("Dataset not found. You can use download=True to download it")
        self.data = "the user's own"
    def __len__(self):
        return len(self.data)

class CIFAR10(MNIST):
    def __init__(self, root, train=True, transform=None, target_transform=None, download=False):
        super().__init__(root, train, transform, target_transform, download)

class CIFAR100(CIFAR10):
    pass

class Voc(VisionDataset):
    def __init__(self, root, year="2012", image_set="train", download=False, transform=None, target_transform=None):
        raise URLError("no network")

class VOCDetection(Voc):
    pass

class DatasetFolder(VisionDataset):
    def __init__(self, root, loader=None, extensions=None, transform=None, target_transform=None):
        super().__init__(root, transform=transform, target_transform=target_transform)
        names = os.listdir(root)
        if not names:
            raise FileNotFoundError("Couldn't find any class folder in " + root)
        self.samples = names
    def __len__(self):
        return len(self.samples)

class ImageFolder(DatasetFolder):
    def __init__(self, root, transform=None, target_transform=None, loader=None):
        super().__init__(root, loader, (".png",), transform=transform, target_transform=target_transform)
"""


def run(folder: Path, code: str) -> tuple[Any, list[StandIn], str]:
    """Run code with the plugin and a small torchvision."""
    library = folder / "site-packages" / "torchvision"
    library.mkdir(parents=True, exist_ok=True)
    (library / "__init__.py").write_text("")
    (library / "datasets.py").write_text(DATASETS)
    return running.run(folder, code, ("stand_ins.py", {}), library="site-packages")


def test_a_data_set_whose_shapes_are_known(tmp_path: Path) -> None:
    code = """
from torchvision import datasets
train = datasets.MNIST("data", train=True, download=True, transform=len)
test = datasets.MNIST("data", train=False)
colour = datasets.CIFAR10("data", download=True)
hundred = datasets.CIFAR100("data", train=False, download=True)
print(json.dumps([list(train.data.shape), list(test.data.shape), int(train.targets.max()), train.transform is len,
                  list(colour.data.shape), len(colour.targets), len(colour.classes),
                  len(hundred.targets), len(hundred.classes)]))
"""
    facts, stand_ins, errors = run(tmp_path, code)
    assert facts == [[60000, 28, 28], [10000, 28, 28], 9, True, [50000, 32, 32, 3], 50000, 10, 10000, 100], errors
    assert [(each.kind, each.name, each.guessed, each.line) for each in stand_ins] == [
        ("dataset", "MNIST", False, 3),
        ("dataset", "CIFAR10", False, 5),
        ("dataset", "CIFAR100", False, 6),
    ]
    assert stand_ins[0].sentence.args == {"name": "MNIST", "examples": 60000, "size": "28 x 28", "classes": 10}


def test_a_data_set_whose_beginning_is_that_of_its_base_tells_things_and_boxes(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    code = """
from torchvision import datasets
parts = [datasets.VOCDetection("data", image_set=name) for name in ("train", "val")]
image, target = parts[1][5]
thing = target["annotation"]["object"][0]
print(json.dumps([[len(part) for part in parts], list(image.size), thing["name"], sorted(thing["bndbox"])]))
"""
    facts, stand_ins, errors = run(tmp_path, code)
    assert facts == [[5717, 5823], [500, 375], "bus", ["xmax", "xmin", "ymax", "ymin"]], errors
    assert [(each.kind, each.name, each.guessed) for each in stand_ins] == [("dataset", "VOCDetection", False)]


def test_data_that_is_there_is_read(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    code = 'from torchvision import datasets\nprint(json.dumps(datasets.MNIST("data").data))'
    assert run(tmp_path, code)[:2] == ("the user's own", [])


def test_a_folder_of_pictures_is_guessed_where_it_is_not_there_alone(tmp_path: Path) -> None:
    code = """
from torchvision import datasets
folder = datasets.ImageFolder("/nowhere/train", transform=len)
print(json.dumps([len(folder.samples), len(folder.classes), folder.loader(folder.samples[0][0]).size]))
"""
    facts, stand_ins, errors = run(tmp_path, code)
    assert facts == [10000, 1000, [500, 375]], errors
    assert [(each.kind, each.name, each.guessed) for each in stand_ins] == [("folder", "/nowhere/train", True)]
    (tmp_path / "empty").mkdir()
    wrong = 'from torchvision import datasets\ndatasets.ImageFolder("empty")'
    assert "Couldn't find any class folder" in run(tmp_path, wrong)[2]


def test_a_wrong_argument_is_no_missing_data(tmp_path: Path) -> None:
    code = 'from torchvision import datasets\ndatasets.MNIST("data", downlod=True)'
    assert "TypeError" in run(tmp_path, code)[2]


def test_what_would_be_compiled_runs_as_it_is_written(tmp_path: Path) -> None:
    code = """
import torch
model = torch.nn.Linear(2, 2)
@torch.compile
def once(x):
    return x + 1
@torch.compile(mode="max-autotune")
def again(x):
    return once(x)
model.compile()
other = torch.compile(model, backend=lambda graph, inputs: graph)
same = torch.compile(model) is model and torch.compile(model, backend="eager") is model
print(json.dumps([same, int(again(torch.ones(()))), other is model, "optimize" in repr(again)]))
"""
    facts, stand_ins, errors = run(tmp_path, code)
    assert facts == [True, 2, False, False], errors
    assert [each.kind for each in stand_ins] == ["compiler"]


def test_a_program_that_asks_for_its_terminal_has_one_and_nobody_types(tmp_path: Path) -> None:
    code = """
size = os.popen("stty size", "r").read().split()
try:
    input()
except EOFError:
    print(json.dumps(size))
"""
    facts, stand_ins, errors = run(tmp_path, f"import os{code}")
    assert facts == ["24", "80"], errors
    assert stand_ins == []


def test_data_parallel_calls_its_model(tmp_path: Path) -> None:
    code = """
import torch
model = torch.nn.DataParallel(torch.nn.Linear(2, 2), device_ids=[0, 1])
print(json.dumps([list(model(torch.ones(4, 2)).shape), sorted(model.state_dict())]))
"""
    facts, stand_ins, errors = run(tmp_path, code)
    assert facts == [[4, 2], ["module.bias", "module.weight"]], errors
    assert [each.kind for each in stand_ins] == ["parallel"]


def test_forward_mode_gradients_where_scripting_is_switched_off(tmp_path: Path) -> None:
    code = """
import torch
torch.jit.script = lambda function, *args, **kwargs: function  # as transfer_to_npu does
one = torch.ones(2)
out, tangent = torch.func.jvp(lambda x: x * x, (one,), (one,))
torch.func.jvp(lambda x: x + x, (one,), (one,))
print(json.dumps(tangent.tolist()))
"""
    facts, stand_ins, errors = running.run(tmp_path, code, ("stand_ins.py", {"forward": True}))
    assert facts == [2.0, 2.0], errors
    assert [(each.kind, each.line, each.sentence.key) for each in stand_ins] == [
        ("forward", 5, "rehearsal.stand_in.forward")
    ]
    assert "'function' object has no attribute 'graph'" in running.run(tmp_path, code, ("stand_ins.py", {}))[2]
