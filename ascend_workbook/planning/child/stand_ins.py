"""A launch plugin: stand-ins for data sets that are not here, and for what an NPU lacks.

A rehearsal computes no values, so that what a training reads matters by its shapes alone. What is absent is made up,
and each stand-in is written down (stand_ins.jsonl of the launch's folder) with the line that asked for it:

    dataset   a data set of torchvision whose shapes are known (MNIST: 60000 of 28 x 28): nothing is guessed
    folder    a folder of images that is not there: pictures of one size, so many classes; guessed
    compiler  torch.compile with its default compiler, which has no NPU, or with none: functions run as they are written
    parallel  torch.nn.DataParallel, which has no NPUs: the model takes the whole batch on one card
    forward   torch.jit.script, which transfer_to_npu switches off, for torch's own formulas of forward-mode gradients
              (configuration `forward`: a run before failed for it)
    terminal  a terminal of 24 lines of 80 letters, for a program that asks how large its own is

Of data only what failed is replaced: data that is there is read. Runs in the user's process by path and imports
nothing of the workbook. Files stand in by files.py, weights by weights.py, packages by loggers.py, the Hugging Face hub
by hub.py.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import inspect
import os
import struct
import termios
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import torch

#: This file's frames stand between the program and torch; whose line it is must not change by that.
PASSES_THROUGH = True


class Known(NamedTuple):
    """A data set: examples to train and to test on, the shape of one (width and height of a file), classes."""

    train: int
    test: int
    size: tuple[int, ...]
    classes: int
    from_files: bool = False


#: Data sets of torchvision whose shapes are known; sizes of pictures in files are usual ones.
KNOWN = {
    "MNIST": Known(60_000, 10_000, (28, 28), 10),
    "FashionMNIST": Known(60_000, 10_000, (28, 28), 10),
    "KMNIST": Known(60_000, 10_000, (28, 28), 10),
    "CIFAR10": Known(50_000, 10_000, (32, 32, 3), 10),
    "CIFAR100": Known(50_000, 10_000, (32, 32, 3), 100),
    "SVHN": Known(73_257, 26_032, (3, 32, 32), 10),
    "STL10": Known(5_000, 8_000, (3, 96, 96), 10),
    "ImageNet": Known(1_281_167, 50_000, (500, 375), 1000, True),
    "Places365": Known(1_803_460, 36_500, (256, 256), 365, True),
    "Food101": Known(75_750, 25_250, (512, 512), 101, True),
    "Flowers102": Known(1_020, 6_149, (500, 625), 102, True),
    "OxfordIIITPet": Known(3_680, 3_669, (500, 375), 37, True),
    "StanfordCars": Known(8_144, 8_041, (700, 480), 196, True),
    "Caltech101": Known(8_677, 8_677, (300, 200), 101, True),
    "Caltech256": Known(30_607, 30_607, (300, 200), 257, True),
    "LSUN": Known(3_033_042, 300, (341, 256), 1, True),
    "Omniglot": Known(19_280, 13_180, (105, 105), 964, True),
    "EuroSAT": Known(27_000, 27_000, (64, 64), 10, True),
    "DTD": Known(1_880, 1_880, (500, 500), 47, True),
    "FGVCAircraft": Known(3_334, 3_333, (1024, 768), 100, True),
    "GTSRB": Known(26_640, 12_630, (64, 64), 43, True),
    "PCAM": Known(262_144, 32_768, (96, 96), 2, True),
    "Imagenette": Known(9_469, 3_925, (500, 375), 10, True),
    "CelebA": Known(162_770, 19_962, (178, 218), 40, True),
    "VOCDetection": Known(5_717, 5_823, (500, 375), 20, True),
    "VOCSegmentation": Known(1_464, 1_449, (500, 375), 21, True),
}
#: What Pascal VOC marks.
VOC = (
    *("aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow", "diningtable", "dog"),
    *("horse", "motorbike", "person", "pottedplant", "sheep", "sofa", "train", "tvmonitor"),
)
#: Classes that read a folder of pictures, and what is made up where that is not there.
FOLDERS = ("DatasetFolder", "ImageFolder")
FOLDER = Known(10_000, 10_000, (500, 375), 1000, True)
#: Compilers of torch.compile that have no NPU, or run functions as they are written; migrating names the second.
AS_WRITTEN = ("inductor", "eager", "aot_eager")
#: How often a program may ask for input that nobody gives, and is told that there is none.
READS_OF_INPUT = 1000


def attach(observer: Any, config: dict[str, Any]) -> None:
    """Stand in for what the program does not find from now on."""
    notes = observer.open_notes("stand_ins.jsonl")
    observer.after_import({"torchvision.datasets": functools.partial(patch_datasets, notes)})
    patch_compiler(notes)
    patch_data_parallel(notes)
    if config.get("forward"):
        load_forward_mode(notes)
    give_terminal()


# Data sets


def patch_datasets(notes: Any, module: ModuleType) -> None:
    """Let the data sets of torchvision.datasets make up what they do not find."""
    for name in (*KNOWN, *FOLDERS):
        if hasattr(module, name):
            patch_dataset(notes, getattr(module, name))


def patch_dataset(notes: Any, cls: Any) -> None:
    """Let a class, and those that are made of it, make up examples that are not found; of a folder where it is not."""
    if "__init__" not in vars(cls) and any(base.__name__ in (*KNOWN, *FOLDERS) for base in cls.__mro__[1:]):
        return
    ordinary = cls.__init__
    signature = inspect.signature(ordinary)

    @functools.wraps(ordinary)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        name = next(base.__name__ for base in type(self).__mro__ if base.__name__ in KNOWN or base.__name__ in FOLDERS)
        folder = name in FOLDERS
        try:
            ordinary(self, *args, **kwargs)
            return
        except (OSError, RuntimeError) as problem:
            bound = signature.bind(self, *args, **kwargs)
            bound.apply_defaults()
            values = {**bound.arguments, **bound.arguments.pop("kwargs", {})}
            root = os.fspath(values.get("root") or "")
            if isinstance(problem, torch.OutOfMemoryError) or folder and Path(root).is_dir():
                raise
        _keeper_of(cls).__init__(
            self, root, transform=values.get("transform"), target_transform=values.get("target_transform")
        )
        facts = FOLDER if folder else KNOWN[name]
        (fill_folder if folder else FILLS[name])(facts, self, values)
        what = {"examples": len(self), "size": [*facts.size], "classes": facts.classes}
        notes.add("folder" if folder else "dataset", root if folder else name, guessed=folder, **what)

    cls.__init__ = init


def _keeper_of(cls: Any) -> Any:
    """Return the class of torchvision that only keeps root and transforms."""
    return next(base for base in cls.__mro__ if base.__name__ == "VisionDataset")


def is_training(values: dict[str, Any]) -> bool:
    """Return whether the part to train on is asked for."""
    if isinstance(values.get("train"), bool):
        return bool(values["train"])
    split = values.get("split", values.get("image_set", values.get("background", "train")))
    return split is True or not (split is False or str(split).lower() in ("test", "val", "valid"))


def count_examples(facts: Known, values: dict[str, Any]) -> int:
    """Return how many examples the part has that is asked for."""
    return facts.train if is_training(values) else facts.test


def fill_digits(facts: Known, self: Any, values: dict[str, Any]) -> None:
    """Give grey pictures of the right number and size."""
    count = count_examples(facts, values)
    self.train = is_training(values)
    self.data = draw_examples(count, facts.size)
    self.targets = torch.arange(count) % facts.classes


def fill_pictures(facts: Known, self: Any, values: dict[str, Any]) -> None:
    """Give colour pictures as CIFAR keeps them."""
    count = count_examples(facts, values)
    self.train = is_training(values)
    self.data = draw_examples(count, facts.size).numpy()
    self.targets = [number % facts.classes for number in range(count)]
    name_classes(facts, self)


def fill_planes(facts: Known, self: Any, values: dict[str, Any]) -> None:
    """Give colour pictures, the colours first, as SVHN keeps them."""
    count = count_examples(facts, values)
    self.split = values.get("split")
    self.data = draw_examples(count, facts.size).numpy()
    self.labels = (torch.arange(count) % facts.classes).numpy()


def fill_folder(facts: Known, self: Any, values: dict[str, Any]) -> None:
    """Give a folder of pictures: all the same one, of many classes."""
    picture = make_picture((facts.size[0], facts.size[1]))
    self.loader = lambda path: picture.copy()
    self.extensions = values.get("extensions")
    name_classes(facts, self)
    numbers = [(number, number % facts.classes) for number in range(facts.train)]
    self.samples = [(f"{values['root']}/{self.classes[kind]}/{number}.jpeg", kind) for number, kind in numbers]
    self.targets = [kind for _, kind in numbers]
    self.imgs = self.samples


def fill_files(facts: Known, self: Any, values: dict[str, Any]) -> None:
    """Give pictures with their classes, by number."""
    count, classes = count_examples(facts, values), facts.classes
    name_classes(facts, self)
    picture = make_picture((facts.size[0], facts.size[1]), "L" if "Omniglot" in str(type(self)) else "RGB")
    make_target: Callable[[int], Any] = TARGETS.get(type(self).__name__, int)

    def give_example(self: Any, index: int) -> tuple[Any, Any]:
        image, target = picture.copy(), make_target(index % classes)
        return self.transforms(image, target) if self.transforms is not None else (image, target)

    methods = {"__len__": lambda self: count, "__getitem__": give_example}
    self.__class__ = type(type(self).__name__, (type(self),), methods)


def mark_things(kind: int) -> dict[str, Any]:
    """Return what a file of Pascal VOC says of a picture with one thing."""
    size = dict(zip(("width", "height", "depth"), ("500", "375", "3")))
    box = dict(zip(("xmin", "ymin", "xmax", "ymax"), ("100", "80", "300", "280")))
    thing = {"name": VOC[kind % len(VOC)], "pose": "Frontal", "truncated": "0", "difficult": "0", "bndbox": box}
    return {"annotation": {"folder": "VOC2012", "filename": "0.jpg", "size": size, "segmented": "0", "object": [thing]}}


#: What is told of an example, where it is no class.
TARGETS: dict[str, Callable[[int], Any]] = {
    "VOCDetection": mark_things,
    "VOCSegmentation": lambda kind: make_picture((500, 375), "L"),
    "CelebA": lambda kind: torch.arange(40) % 2,
}


def name_classes(facts: Known, self: Any) -> None:
    """Give the classes names."""
    self.classes = [f"class{number:04}" for number in range(facts.classes)]
    self.class_to_idx = {name: number for number, name in enumerate(self.classes)}


#: How the examples of a data set are made up.
FILLS: dict[str, Callable[[Known, Any, dict[str, Any]], None]] = {
    **dict.fromkeys(("MNIST", "FashionMNIST", "KMNIST"), fill_digits),
    **dict.fromkeys(("CIFAR10", "CIFAR100"), fill_pictures),
    **dict.fromkeys(("SVHN", "STL10"), fill_planes),
    **dict.fromkeys((name for name, facts in KNOWN.items() if facts.from_files), fill_files),
}


def draw_examples(count: int, size: Sequence[int]) -> torch.Tensor:
    """Return one example by chance as often as is asked, at no cost; the program's own numbers are not touched."""
    example = torch.randint(0, 256, (1, *size), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    return example.expand(count, *size)


def make_picture(size: tuple[int, int], mode: str = "RGB") -> Any:
    """Return a picture of a size, as pillow has it."""
    from PIL import Image

    return Image.new(mode, size)


# Compiler and terminal


def patch_compiler(notes: Any) -> None:
    """Let torch.compile give back what it was given, where it would compile for a device that it does not know."""
    ordinary = torch.compile
    ordinary_in_place = torch.nn.Module.compile

    @functools.wraps(ordinary)
    def compile_nothing(model: Any = None, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("backend", "inductor") not in AS_WRITTEN:
            return ordinary(model, *args, **kwargs)
        notes.add("compiler", "torch.compile", guessed=False)
        return model if model is not None else lambda function: function

    @functools.wraps(ordinary_in_place)
    def compile_in_place(self: Any, *args: Any, **kwargs: Any) -> None:
        if kwargs.get("backend", "inductor") not in AS_WRITTEN:
            ordinary_in_place(self, *args, **kwargs)
            return
        notes.add("compiler", "torch.compile", guessed=False)

    torch.compile = compile_nothing
    torch.nn.Module.compile = compile_in_place


def patch_data_parallel(notes: Any) -> None:
    """Let torch.nn.DataParallel call its model, as it does where there is one device."""

    def init(self: Any, module: Any, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        torch.nn.Module.__init__(self)
        self.module, self.dim, self.device_ids, self.output_device = module, dim, [], None
        notes.add("parallel", "torch.nn.DataParallel", guessed=False)

    torch.nn.DataParallel.__init__ = init


def load_forward_mode(notes: Any) -> None:
    """Load torch's formulas of forward-mode gradients (torch.func.jvp), which are compiled by torch.jit.script, before
    transfer_to_npu switches that off."""
    module: Any = torch.autograd.forward_ad
    ordinary = module._maybe_load_decompositions
    ordinary()

    @functools.wraps(ordinary)
    def load() -> None:
        notes.add("forward", "torch.jit.script", guessed=False)

    module._maybe_load_decompositions = load


def give_terminal() -> None:
    """Make a terminal the standard input where that is none: `stty size` answers, and who reads finds its end."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        if os.isatty(0):
            return
        master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        os.write(master, b"\x04" * READS_OF_INPUT)
        os.dup2(slave, 0)
        os.close(slave)
