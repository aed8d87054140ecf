"""A launch plugin: stand-ins for data, pretrained weights and loggers that are not on this machine.

A rehearsal computes no values, so that what a training reads matters by its shapes alone. What is absent is made up,
and each stand-in is written down (stand_ins.jsonl of the launch's folder) with the line that asked for it:

    dataset   a data set of torchvision whose shapes are known (MNIST: 60000 of 28 x 28): nothing is guessed
    folder    a folder of images that is not there: pictures of one size, so many classes; guessed
    weights   weights that torch.hub would download: the model keeps those it was built with
    file      a text, tokens or a folder of pictures that the launch was told to make (configuration `files`); guessed
    pictures  pictures in a folder that a pattern names and that is not there (configuration `pictures`); guessed
    download  a text that the program downloads itself; guessed
    logger    a package that only tells others of a run (wandb): it does nothing
    compiler  torch.compile with its default backend, which has no NPU: functions run as they are written
    parallel  torch.nn.DataParallel, which has no NPUs: the model takes the whole batch on one card
    terminal  a terminal of 24 lines of 80 letters, for a program that asks how large its own is

But for the last three only what failed is replaced: data that is there is read. Runs in the user's process by path and
imports nothing of the workbook.
"""

from __future__ import annotations

import builtins
import contextlib
import fcntl
import functools
import glob
import gzip
import inspect
import io
import json
import os
import random
import struct
import sys
import sysconfig
import termios
import urllib.request
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import torch

#: This file's frames stand between the program and torch; whose line it is must not change by that.
PASSES_THROUGH = True
#: Libraries that a program's line stands behind, wherever they lie.
LIBRARIES = ("torch", "torch_npu", "torchvision", "importlib")
#: Packages that tell others of a run, and do nothing to it.
LOGGERS = frozenset(
    {
        "wandb",
        "tensorboardX",
        "tensorboard_logger",
        "visdom",
        "swanlab",
        "mlflow",
        "comet_ml",
        "neptune",
        "clearml",
        "aim",
    }
)


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
}
#: Classes that read a folder of pictures, and what is made up where that is not there.
FOLDERS = ("DatasetFolder", "ImageFolder")
FOLDER = Known(10_000, 10_000, (500, 375), 1000, True)
#: Pictures of a folder that is read by the program's own code, and their size.
FOUND, PICTURE = 64, (256, 256)
#: How often a program may ask for input that nobody gives, and is told that there is none.
READS_OF_INPUT = 1000
#: Questions for files that are kept.
MOST_QUESTIONS = 200
#: Names of single pictures end so.
PHOTOGRAPHS = (".jpg", ".jpeg", ".png", ".bmp", ".ppm")
#: Texts without a suffix.
PLAIN = ("enwik8", "text8")
#: The words of a made-up text and how many different ones there are; tokens of a made-up list and the largest.
WORDS, DIFFERENT, TOKENS, LARGEST = 400_000, 10_000, 1_000_000, 255


class Notes:
    """What stood in for what, each once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._told: set[tuple[str, str]] = set()

    def add(self, kind: str, name: str, guessed: bool, **facts: object) -> None:
        """Write down a stand-in with the line of the program that asked for it."""
        if (kind, name) in self._told:
            return
        self._told.add((kind, name))
        file, line = find_caller()
        entry = {"kind": kind, "name": name, "guessed": guessed, "file": file, "line": line, **facts}
        with _open(self._path, "a", encoding="utf-8") as out:
            out.write(json.dumps(entry) + "\n")


_open = builtins.open
#: Where stand-ins may lie: the launch's folder with the copy of the program's, and where that copy runs.
_own_folders: list[Path] = []


def attach(observer: Any, config: dict[str, Any]) -> None:
    """Stand in for what the program does not find from now on."""
    notes = Notes(Path(observer.out) / "stand_ins.jsonl")
    sys.meta_path.insert(0, AfterImport({"torchvision.datasets": functools.partial(patch_datasets, notes)}))
    sys.meta_path.append(Loggers(notes))
    patch_weights(notes)
    patch_compiler(notes)
    patch_data_parallel(notes)
    give_terminal()
    aside = Path(observer.out) / "stand_ins"
    _own_folders.extend((Path(observer.out).resolve(), Path.cwd().resolve()))
    make_files(notes, config.get("files", ()), aside)
    patch_downloads(notes)
    watch_questions(Path(observer.out) / "asked.jsonl")
    if config.get("pictures"):
        patch_glob(notes, aside)


def find_caller() -> tuple[str, int]:
    """Return the innermost line that is no library's; empty and 0 where there is none."""
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        named = frame.f_globals.get("__name__", "").split(".")[0]
        own = not frame.f_globals.get("PASSES_THROUGH") and named not in LIBRARIES
        if own and not is_library(file):
            return file, frame.f_lineno
        frame = frame.f_back  # type: ignore[assignment]
    return "", 0


# Data sets


class AfterImport(MetaPathFinder, Loader):
    """Calls something once a module has been imported."""

    def __init__(self, calls: dict[str, Callable[[ModuleType], None]]) -> None:
        self._calls = calls
        self._loaders: dict[str, Loader] = {}

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> Any:
        if name not in self._calls:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            self._loaders[name] = spec.loader
            spec.loader = self
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loaders[spec.name].create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loaders[module.__name__].exec_module(module)
        self._calls[module.__name__](module)


def patch_datasets(notes: Notes, module: ModuleType) -> None:
    """Let the data sets of torchvision.datasets make up what they do not find."""
    for name in (*KNOWN, *FOLDERS):
        if hasattr(module, name):
            patch_dataset(notes, getattr(module, name))


def patch_dataset(notes: Notes, cls: Any) -> None:
    """Let a class, and those that are made of it, make up examples that are not found; of a folder where it is not."""
    if "__init__" not in vars(cls):
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
        notes.add("folder" if folder else "dataset", root if folder else name, folder, **what)

    cls.__init__ = init


def _keeper_of(cls: Any) -> Any:
    """Return the class of torchvision that only keeps root and transforms."""
    return next(base for base in cls.__mro__ if base.__name__ == "VisionDataset")


def is_training(values: dict[str, Any]) -> bool:
    """Return whether the part to train on is asked for."""
    if isinstance(values.get("train"), bool):
        return bool(values["train"])
    split = values.get("split", values.get("background", "train"))
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

    def give_example(self: Any, index: int) -> tuple[Any, Any]:
        image, target = picture.copy(), index % classes
        return self.transforms(image, target) if self.transforms is not None else (image, target)

    methods = {"__len__": lambda self: count, "__getitem__": give_example}
    self.__class__ = type(type(self).__name__, (type(self),), methods)


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


# Weights


class Unloaded(OrderedDict):  # type: ignore[type-arg]
    """Weights that were not there to be loaded."""


def patch_weights(notes: Notes) -> None:
    """Let a model keep the weights it was built with, where those to be downloaded are not to be had."""
    ordinary_fetch, ordinary_load = torch.hub.load_state_dict_from_url, torch.nn.Module.load_state_dict

    @functools.wraps(ordinary_fetch)
    def load_state_dict_from_url(url: str, *args: Any, **kwargs: Any) -> Any:
        try:
            return ordinary_fetch(url, *args, **kwargs)
        except OSError:
            notes.add("weights", url.rsplit("/", 1)[-1], guessed=False)
            return Unloaded()

    @functools.wraps(ordinary_load)
    def load_state_dict(self: Any, state_dict: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(state_dict, Unloaded):
            return torch.nn.modules.module._IncompatibleKeys([], [])
        return ordinary_load(self, state_dict, *args, **kwargs)

    torch.hub.load_state_dict_from_url = load_state_dict_from_url
    torch.nn.Module.load_state_dict = load_state_dict


# Compiler and terminal


def patch_compiler(notes: Notes) -> None:
    """Let torch.compile give back what it was given, where it would compile for a device that it does not know."""
    ordinary = torch.compile
    ordinary_in_place = torch.nn.Module.compile

    @functools.wraps(ordinary)
    def compile_nothing(model: Any = None, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("backend", "inductor") != "inductor":
            return ordinary(model, *args, **kwargs)
        notes.add("compiler", "torch.compile", guessed=False)
        return model if model is not None else lambda function: function

    @functools.wraps(ordinary_in_place)
    def compile_in_place(self: Any, *args: Any, **kwargs: Any) -> None:
        if kwargs.get("backend", "inductor") != "inductor":
            ordinary_in_place(self, *args, **kwargs)
            return
        notes.add("compiler", "torch.compile", guessed=False)

    torch.compile = compile_nothing
    torch.nn.Module.compile = compile_in_place


def patch_data_parallel(notes: Notes) -> None:
    """Let torch.nn.DataParallel call its model, as it does where there is one device."""

    def init(self: Any, module: Any, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        torch.nn.Module.__init__(self)
        self.module, self.dim, self.device_ids, self.output_device = module, dim, [], None
        notes.add("parallel", "torch.nn.DataParallel", guessed=False)

    torch.nn.DataParallel.__init__ = init


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


# Files


def make_files(notes: Notes, files: Sequence[str], aside: Path) -> None:
    """Make the files that a run before did not find; those outside of the run's own folder lie elsewhere."""
    moved: dict[str, str] = {}
    for name in files:
        path = Path(name)
        if path.exists():
            continue
        if path.suffix.lower() in PHOTOGRAPHS:
            with contextlib.suppress(OSError):
                refuse_outside(path)
                path.parent.mkdir(parents=True, exist_ok=True)
                make_picture(PICTURE).save(path)
                notes.add("picture", name, guessed=True, size=[*PICTURE])
            continue
        if not path.suffix and path.name not in PLAIN:
            with contextlib.suppress(OSError):
                notes.add("folder", name, guessed=True, **make_folder(path))
            continue
        content, facts = make_content(path)
        try:
            refuse_outside(path)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        except OSError:
            aside.mkdir(parents=True, exist_ok=True)
            other = aside / f"{len(moved)}{path.suffix}"
            other.write_bytes(content)
            moved[os.path.normpath(path)] = str(other)
        notes.add("file", name, guessed=True, **facts)
    if moved:
        redirect_files(moved)


def refuse_outside(path: Path) -> None:
    """Raise PermissionError for a path outside of the run's own folders: nothing of ours is put into a user's, even
    where no enclosure would stop it, nor behind a link."""
    if not any(folder in path.resolve().parents for folder in _own_folders):
        raise PermissionError(f"{path} is outside of the run's folders")


def make_folder(folder: Path) -> dict[str, object]:
    """Put pictures into a folder, and return what they are. Raises OSError where it is not the run's own."""
    refuse_outside(folder)
    return _draw_pictures(folder)


def _draw_pictures(folder: Path) -> dict[str, object]:
    folder.mkdir(parents=True, exist_ok=True)
    picture = make_picture(PICTURE)
    for number in range(FOUND):
        picture.save(folder / f"{number:02}.jpg")
    return {"examples": FOUND, "size": [*PICTURE], "classes": 1}


def patch_glob(notes: Notes, aside: Path) -> None:
    """Let a pattern find pictures, where the folder that it names is not there."""
    ordinary = glob.glob

    @functools.wraps(ordinary)
    def find(pattern: Any, *args: Any, **kwargs: Any) -> Any:
        files = ordinary(pattern, *args, **kwargs)
        folder = Path(os.fspath(pattern)).parent
        if files or folder.exists() or any(letter in str(folder) for letter in "*?["):
            return files
        try:
            facts = make_folder(folder)
        except OSError:
            folder = aside / str(folder).replace(os.sep, "_")
            facts = _draw_pictures(folder)
        notes.add("pictures", os.fspath(pattern), guessed=True, **facts)
        return ordinary(str(folder / Path(os.fspath(pattern)).name)) or ordinary(str(folder / "*.jpg"))

    glob.glob = find  # type: ignore[assignment]


def patch_downloads(notes: Notes) -> None:
    """Give the program a text where it downloads one itself and cannot."""

    def stand_in(url: Any, problem: OSError) -> bytes:
        name = str(getattr(url, "full_url", url))
        if not name.split("?")[0].endswith(".txt") or is_library(find_asker()):
            raise problem
        content, facts = make_content(Path("text.txt"))
        notes.add("download", name, guessed=True, **facts)
        return content

    ordinary_open, ordinary_fetch = urllib.request.urlopen, urllib.request.urlretrieve

    @functools.wraps(ordinary_open)
    def urlopen(url: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return ordinary_open(url, *args, **kwargs)
        except OSError as problem:
            return io.BytesIO(stand_in(url, problem))

    @functools.wraps(ordinary_fetch)
    def urlretrieve(url: str, filename: Any = None, *args: Any, **kwargs: Any) -> Any:
        try:
            return ordinary_fetch(url, filename, *args, **kwargs)
        except OSError as problem:
            content = stand_in(url, problem)
            target = filename or "text.txt"
            Path(target).write_bytes(content)
            return target, None

    def patch_requests(module: Any) -> None:
        ordinary_get = module.get

        @functools.wraps(ordinary_get)
        def get(url: str, *args: Any, **kwargs: Any) -> Any:
            try:
                return ordinary_get(url, *args, **kwargs)
            except OSError as problem:
                response = module.Response()
                response._content, response.status_code, response.encoding = stand_in(url, problem), 200, "utf-8"
                return response

        module.get = get

    urllib.request.urlopen, urllib.request.urlretrieve = urlopen, urlretrieve
    if "requests" in sys.modules:
        patch_requests(sys.modules["requests"])
    else:
        sys.meta_path.insert(0, AfterImport({"requests": patch_requests}))


def find_asker() -> str:
    """Return the file of the innermost frame that is not of this file."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_globals.get("PASSES_THROUGH"):
        frame = frame.f_back  # type: ignore[assignment]
    return frame.f_code.co_filename if frame is not None else ""


def redirect_files(moved: dict[str, str]) -> None:
    """Open other files than the program names."""

    def find_other(file: Any) -> Any:
        return moved.get(os.path.normpath(file), file) if isinstance(file, (str, os.PathLike)) else file

    def wrap(ordinary: Callable[..., Any]) -> Callable[..., Any]:
        return functools.wraps(ordinary)(lambda file, *args, **kwargs: ordinary(find_other(file), *args, **kwargs))

    builtins.open = io.open = wrap(builtins.open)
    for name in ("exists", "isfile", "getsize"):
        setattr(os.path, name, wrap(getattr(os.path, name)))


def watch_questions(path: Path) -> None:
    """Write down which files the program asks for and does not find: one that gives up then often names none."""
    asked: set[tuple[str, str, int]] = set()

    def wrap(ordinary: Callable[..., bool]) -> Callable[..., bool]:
        @functools.wraps(ordinary)
        def ask(name: Any, **kwargs: Any) -> bool:
            there = ordinary(name, **kwargs)
            if there or len(asked) >= MOST_QUESTIONS or not isinstance(name, (str, os.PathLike)):
                return there
            entry = (str(name), *find_caller())
            if entry not in asked and not is_library(find_asker()):
                asked.add(entry)
                with _open(path, "a", encoding="utf-8") as out:
                    out.write(json.dumps(dict(zip(("name", "file", "line"), entry))) + "\n")
            return there

        return ask

    for name in ("exists", "isfile", "isdir"):
        setattr(os.path, name, wrap(getattr(os.path, name)))
    for name in ("exists", "is_file", "is_dir"):
        setattr(Path, name, wrap(getattr(Path, name)))


def make_content(path: Path) -> tuple[bytes, dict[str, object]]:
    """Return the bytes of a file of its kind, and what they are: a text, or tokens of 16 bits."""
    if path.suffix == ".bin":
        numbers = random.Random(0)
        tokens = array("H", (numbers.randint(0, LARGEST) for _ in range(TOKENS)))
        return tokens.tobytes(), {"tokens": TOKENS, "largest": LARGEST}
    text = "\n".join(make_lines()).encode() + b"\n"
    facts: dict[str, object] = {"words": WORDS, "different": DIFFERENT}
    if path.suffix == ".gz":  # enwik8 and its like are read by the hundred million bytes
        return gzip.compress(text * 40, compresslevel=1), {"words": WORDS * 40, "different": DIFFERENT}
    return text, facts


def make_lines() -> Iterator[str]:
    """Yield lines of words; few words are frequent, and every letter of English is there."""
    numbers = random.Random(0)
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    words = ["".join(numbers.choice(letters) for _ in range(numbers.randint(2, 9))) for _ in range(DIFFERENT)]
    weights = [1 / rank for rank in range(1, DIFFERENT + 1)]
    drawn = [*words, *numbers.choices(words, weights, k=WORDS - DIFFERENT)]
    for start in range(0, WORDS, 20):
        yield " ".join(drawn[start : start + 20]).capitalize() + numbers.choice(".,;:!?")


# Loggers


class Loggers(MetaPathFinder, Loader):
    """Answers for packages that only tell others of a run, after all that is installed."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> Any:
        top = name.split(".")[0]
        if top not in LOGGERS or not is_asked_by_program():
            return None
        self._notes.add("logger", top, guessed=False)
        return ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return Silent(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        module.__path__ = []


def is_asked_by_program() -> bool:
    """Return whether the program itself imports: a library only looks whether it could use the package."""
    frame = sys._getframe(2)
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] == "importlib":
        frame = frame.f_back  # type: ignore[assignment]
    return frame is not None and not is_library(frame.f_code.co_filename)


def is_library(file: str) -> bool:
    """Return whether a file is an installed package's or Python's own."""
    return "site-packages" in file or file.startswith(("<", sysconfig.get_path("stdlib")))


class Silent(ModuleType):
    """A module of which every name is Nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing()


class Nothing:
    """Takes every call and gives nothing back."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Decorate a function with itself; anything else comes to nothing."""
        return (
            args[0]
            if len(args) == 1 and not kwargs and callable(args[0]) and not isinstance(args[0], Nothing)
            else self
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __getitem__(self, key: Any) -> Any:
        return self

    def __setitem__(self, key: Any, value: Any) -> None:
        """Keep nothing."""

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        return True

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        """Let every error pass."""

    def __str__(self) -> str:
        return ""
