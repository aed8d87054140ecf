"""What is not on this machine is made up in the process that trains: only what failed, and each written down."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.planning.rehearsal.stand_ins import StandIn, load_stand_ins

PLUGIN = Path(__file__).parents[3] / "ascend_workbook" / "planning" / "child" / "stand_ins.py"
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
START = f"""
import json, runpy, sys
from pathlib import Path
class Observer:
    out = Path("out")
module = runpy.run_path({str(PLUGIN)!r})
module["attach"](Observer, json.loads(sys.argv[1]))
exec(compile(Path("train.py").read_text(), "train.py", "exec"))
"""


def run(folder: Path, code: str, **config: object) -> tuple[Any, list[StandIn], str]:
    """Run code with the plugin; return what its last line printed, the stand-ins, its errors."""
    (folder / "out").mkdir(exist_ok=True)
    library = folder / "library" / "torchvision"
    library.mkdir(parents=True, exist_ok=True)
    (library / "__init__.py").write_text("")
    (library / "datasets.py").write_text(DATASETS)
    (folder / "train.py").write_text(code)
    (folder / "start.py").write_text(START)
    done = subprocess.run(
        [sys.executable, "start.py", json.dumps(config)],
        cwd=folder,
        env={"PYTHONPATH": str(folder / "library"), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    lines = done.stdout.splitlines()
    facts = json.loads(lines[-1]) if done.returncode == 0 and lines else None
    return facts, load_stand_ins(folder / "out" / "stand_ins.jsonl"), done.stderr


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


def test_a_logger_does_nothing_and_a_library_that_only_looks_is_not_answered(tmp_path: Path) -> None:
    library = tmp_path / "library" / "site-packages" / "framework"
    library.mkdir(parents=True)
    (library / "__init__.py").write_text("import importlib.util\nhas = importlib.util.find_spec('wandb') is not None")
    code = """
sys.path.append("library/site-packages")
import framework
import wandb
from tensorboard_logger import configure, Logger
wandb.init(project="x").log({"loss": 1})
with wandb.run as run:
    pass
@wandb.watch
def step():
    return 3
configure("a"); Logger("b").log_value("c", 1, 2)
print(json.dumps([framework.has, step(), len(wandb.config.names)]))
"""
    facts, stand_ins, errors = run(tmp_path, code)
    assert facts == [False, 3, 0], errors
    assert [each.name for each in stand_ins] == ["wandb", "tensorboard_logger"]


def test_other_packages_are_missed(tmp_path: Path) -> None:
    assert "No module named 'lion_pytorch'" in run(tmp_path, "import lion_pytorch")[2]


@pytest.mark.parametrize("name", ["data/input.txt", "/nowhere/input.txt"])
def test_a_text_is_made_where_a_run_before_did_not_find_it(tmp_path: Path, name: str) -> None:
    code = f"""
text = open({name!r}, encoding="utf-8").read()
print(json.dumps([len(text) > 1_000_000, len(set(text)) < 80, len(set(text.lower().replace(".", "").split())) > 9_000]))
"""
    facts, stand_ins, errors = run(tmp_path, code, files=[name])
    assert facts == [True, True, True], errors
    assert [(each.kind, each.name, each.guessed) for each in stand_ins] == [("file", name, True)]
    assert "No such file" in run(tmp_path, 'open("other.txt")')[2]


def test_nothing_is_made_in_a_folder_of_the_users(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Where no enclosure stops it: absolute paths, paths upwards, links that the copy of a program holds."""
    own = tmp_path_factory.mktemp("own")
    names = [f"{own}/input.txt", f"../{own.name}/up.txt", f"{own}/pictures", "linked/input.txt"]
    (tmp_path / "linked").symlink_to(own)
    code = f"print(json.dumps([len(open(name).read()) > 1_000_000 for name in {[names[0], names[1], names[3]]!r}]))"
    facts, stand_ins, errors = run(tmp_path, code, files=names)
    assert facts == [True, True, True], errors
    assert [each.name for each in stand_ins] == [names[0], names[1], names[3]] and not list(own.iterdir())


def test_tokens_and_packed_texts(tmp_path: Path) -> None:
    code = """
import gzip
import numpy
tokens = numpy.memmap("train.bin", dtype=numpy.uint16, mode="r")
packed = gzip.open("enwik8.gz").read()
print(json.dumps([len(tokens), int(tokens.max()), len(packed) > 95_000_000, Path("enwik8.gz").stat().st_size < 2**26]))
"""
    facts, _, errors = run(tmp_path, code, files=["train.bin", "enwik8.gz"])
    assert facts == [1_000_000, 255, True, True], errors


def test_a_pattern_finds_pictures_once_a_run_found_none(tmp_path: Path) -> None:
    code = 'import glob\nfiles = glob.glob("data/A/*.*")\nprint(json.dumps(len(files)))'
    assert run(tmp_path, code)[0] == 0
    facts, stand_ins, errors = run(tmp_path, code, pictures=True)
    assert facts == 64, errors
    assert [(each.kind, each.name) for each in stand_ins] == [("pictures", "data/A/*.*")]


@pytest.mark.parametrize(
    "line",
    [
        'requests.get("https://nowhere.invalid/verdict.txt").text',
        'urllib.request.urlopen("https://nowhere.invalid/verdict.txt").read().decode()',
        'Path(urllib.request.urlretrieve("https://nowhere.invalid/verdict.txt", "v.txt")[0]).read_text()',
    ],
)
def test_a_text_that_is_downloaded(tmp_path: Path, line: str) -> None:
    facts, stand_ins, errors = run(tmp_path, f"import requests, urllib.request\nprint(json.dumps(len({line})))")
    assert facts and facts > 1_000_000, errors
    assert [(each.kind, each.guessed) for each in stand_ins] == [("download", True)]
    other = 'import requests\nrequests.get("https://nowhere.invalid/cora.tgz")'
    assert "ConnectionError" in run(tmp_path, other)[2]


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
other = torch.compile(model, backend="eager")
same = torch.compile(model) is model
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


def test_a_picture_is_made_where_a_run_before_did_not_find_it(tmp_path: Path) -> None:
    code = """
from PIL import Image
print(json.dumps(Image.open("images/style.jpg").size))
"""
    facts, stand_ins, errors = run(tmp_path, code, files=["images/style.jpg"])
    assert facts == [256, 256], errors
    assert stand_ins[0].sentence.args == {"name": "images/style.jpg", "size": "256 x 256"}


def test_what_is_asked_for_and_not_there_is_written_down(tmp_path: Path) -> None:
    code = """
import os
os.path.exists("train.py")
os.path.isfile("data/train.txt")
Path("pictures").is_dir()
print(json.dumps(0))
"""
    assert run(tmp_path, code)[0] == 0
    asked = [json.loads(line) for line in (tmp_path / "out" / "asked.jsonl").read_text().splitlines()]
    assert [(each["name"], each["line"]) for each in asked] == [("data/train.txt", 4), ("pictures", 5)]
