"""The three distributions: what they import is declared, what they hold comes along, and each installs alone."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import ROOT

tomllib = pytest.importorskip("tomllib")

#: A distribution's folder, and the packages it installs.
DISTRIBUTIONS = {".": ("ascend_workbook", "helpers"), "ascend_simulator": ("ascend_simulator",), "course": ("course",)}
#: Modules whose distribution has another name.
NAMES = {"PIL": "pillow", "yaml": "pyyaml", "msprobe": "mindstudio_probe", "obs": "esdk_obs_python"}
#: The machine's own pair, which no distribution brings or replaces (requirements-torch.txt).
PAIR = {"torch", "torch_npu"}
OURS = {"ascend_workbook": "ascend_migration_workbook", "helpers": "ascend_migration_workbook"}
#: Its texts are all behind ascend_workbook/machine/simulator, which does without it.
SEAM = "ascend_simulator"
#: What lies in a package's folder and is no part of it.
BESIDE = {"pyproject.toml", "README.md"}


def read_project(folder: str) -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((ROOT / folder / "pyproject.toml").read_text(encoding="utf-8"))
    return project


def split_requirement(line: str) -> tuple[str, str]:
    """Return the name as one word and the range without blanks: `esdk-obs-python>=3,<4` -> esdk_obs_python, >=3,<4."""
    match = re.match(r"([A-Za-z0-9._-]+)(?:\[[^]]*\])?\s*([^#;]*)", line)
    assert match, line
    return re.sub("[-.]", "_", match.group(1)).lower(), match.group(2).replace(" ", "").strip()


def declared(folder: str) -> dict[str, str]:
    """Return name -> range of everything that the distribution declares, optional or not."""
    project = read_project(folder)["project"]
    lists = [project["dependencies"], *project.get("optional-dependencies", {}).values()]
    return dict(split_requirement(line) for lines in lists for line in lines)


def required(file: str) -> dict[str, str]:
    """Return name -> range of a requirements file."""
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    return dict(split_requirement(line) for line in lines if line.strip() and not line.startswith("#"))


def imported(text: str) -> Iterator[str]:
    """Yield the top names that the module imports anywhere, by import_module("name") too."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield (node.module or "").partition(".")[0]
        elif isinstance(node, ast.Call) and called_name(node) == "import_module":
            yield from (str(word.value).partition(".")[0] for word in node.args[:1] if isinstance(word, ast.Constant))


def called_name(call: ast.Call) -> str:
    return str(getattr(call.func, "id", getattr(call.func, "attr", "")))


def files_of(package: str) -> list[Path]:
    """Return the package's files as git has them, or would take them."""
    command = ["git", "ls-files", "-co", "--exclude-standard", "--", package]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return [Path(name).relative_to(package) for name in listed if (ROOT / name).is_file()]


def undeclared(folder: str) -> dict[str, list[str]]:
    """Return each third-party module that the distribution imports and does not declare, and where."""
    standard = getattr(sys, "stdlib_module_names", None)
    if standard is None:
        pytest.skip("Python before 3.10 does not list its own modules")
    known = {*declared(folder), *PAIR, *standard}
    lacking: dict[str, list[str]] = {}
    for package in DISTRIBUTIONS[folder]:
        for path in (path for path in files_of(package) if path.suffix == ".py"):
            # a reference of the simulator is copied into a package of another name
            for name in imported((ROOT / package / path).read_text(encoding="utf-8")):
                if "child" in path.parts and (ROOT / package / path).with_name(f"{name}.py").is_file():
                    continue  # a file that is started by its path finds its neighbour as a module of its own
                distribution = NAMES.get(name, OURS.get(name, name)).lower()
                if (
                    name not in (*DISTRIBUTIONS[folder], SEAM, "references", "offline_models", "")
                    and distribution not in known
                ):
                    lacking.setdefault(name, []).append(f"{package}/{path}")
    return lacking


#: Brought by a platform's own image and by no index; or a training's own, for which the simulator waits, or without
#: which a plan's strategies of it are not rehearsed; a library that is stood in for where a training has it; or asked
#: for by an option alone, and missed with one clear error.
PLATFORM = {"moxing", "safetensors", "deepspeed", "tokenizers", "transformers", "datasets", "pyarrow", "tensorboard"}
PLATFORM |= {"torch_geometric"}


@pytest.mark.parametrize("folder", DISTRIBUTIONS)
def test_what_is_imported_is_declared(folder: str) -> None:
    lacking = {name: paths for name, paths in undeclared(folder).items() if name not in PLATFORM}
    assert not lacking


def test_an_import_is_seen_wherever_it_stands() -> None:
    text = "import a.b\ndef f():\n    from c import d\n    import_module('e')\nfrom . import g\n"
    assert sorted(imported(text)) == ["a", "c", "e"]


@pytest.mark.parametrize("folder", DISTRIBUTIONS)
@pytest.mark.parametrize("file", ["requirements.txt", "requirements-dev.txt"])
def test_ranges_are_the_same_everywhere(folder: str, file: str) -> None:
    here, there = declared(folder), required(file)
    assert {name: here[name] for name in here.keys() & there.keys()} == {
        name: there[name] for name in here.keys() & there.keys()
    }
    workbook = declared(".")
    assert {name: here[name] for name in here.keys() & workbook.keys()} == {
        name: workbook[name] for name in here.keys() & workbook.keys()
    }


def test_set_up_installs_what_is_declared() -> None:
    """What only the notebooks' scripts use stands in requirements.txt alone."""
    assert required("requirements.txt").keys() - declared(".").keys() == {"scikit_learn"}


@pytest.mark.parametrize("folder", ["ascend_simulator", "course"])
def test_the_list_of_packages_is_that_of_the_folders(folder: str) -> None:
    folders = {Path(folder, path).parent for path in files_of(folder) if path.suffix == ".py"}
    apart = {Path("ascend_simulator/native")}  # npu_smi.py is copied, not imported
    assert read_project(folder)["tool"]["setuptools"]["packages"] == sorted(
        ".".join(path.parts) for path in folders - apart
    )


def copy_sources(target: Path) -> Path:
    """Copy what git has, so that no folder of a build stays in the checkout."""
    for path in files_of("."):
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, target / path)
    return target


def make_environment(folder: Path, *projects: Path) -> Path:
    """Make an empty environment with these distributions, and return its folder of commands."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    command = [str(folder / "bin" / "pip"), "install", "--quiet", *map(str, projects)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1200)
    assert done.returncode == 0, done.stderr[-2000:]
    return folder / "bin"


def installed_files(commands: Path, package: str) -> set[Path]:
    code = f"import importlib.util as u; print(u.find_spec({package!r}).submodule_search_locations[0])"
    place = run_outside(commands, [str(commands / "python"), "-c", code]).stdout.strip()
    return {path.relative_to(place) for path in Path(place).rglob("*") if path.is_file() and path.suffix != ".pyc"}


def run_outside(commands: Path, command: list[str], lang: str = "en") -> subprocess.CompletedProcess[str]:
    """Run a command in an empty folder beside the environment, without this environment's settings."""
    folder = commands.parent.with_name("work")
    folder.mkdir(exist_ok=True)
    keep = ("HOME", "PATH", "TMPDIR")
    env = {**{name: os.environ[name] for name in keep if name in os.environ}, "ASCEND_WORKBOOK_LANG": lang}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=300)
    assert "Traceback" not in done.stderr, done.stderr
    return done


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_sources(tmp_path_factory.mktemp("sources"))


@pytest.fixture(scope="module")
def workbook(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    commands = make_environment(tmp_path_factory.mktemp("workbook") / "venv", sources)
    work = commands.parent.with_name("work")
    work.mkdir()
    (work / "train.py").write_text("import torch\n\nprint(torch.ones(2).cuda())\n", encoding="utf-8")
    for side, extra in (("first", 0.0), ("second", 1.0)):
        (work / side).mkdir()
        np.save(work / side / "layer.npy", np.arange(8, dtype="float32") + np.float32(extra))
    return commands


#: Words behind `ascend-workbook`, the exit code, and what is printed in English and Chinese.
ALONE = (
    (["--help"], 0, "usage: ascend-workbook", "用法：ascend-workbook"),
    (["scan", "train.py"], 0, "MIG103", "MIG103"),
    (["check", "--no-compute"], 1, "torch is not installed in this Python", "此 Python 未安装 torch"),
    (["analyse", str(ROOT / "tests" / "data" / "profiling" / "new_ascend_pt")], 0, "Conv2D", "Conv2D"),
    (["compare", "first", "second"], 1, "layer.npy", "layer.npy"),
    (["simulator", "--help"], 0, "ASCEND_WORKBOOK_SIM_DEVICES", "ASCEND_WORKBOOK_SIM_DEVICES"),
    (["simulator", "build"], 2, "no package ascend_simulator", "没有软件包 ascend_simulator"),
    (["simulator", "status"], 2, "no package ascend_simulator", "没有软件包 ascend_simulator"),
    (["simulator", "operators"], 2, "no package ascend_simulator", "没有软件包 ascend_simulator"),
    (["simulator", "coverage"], 2, "no package ascend_simulator", "没有软件包 ascend_simulator"),
    (["simulator", "kernel"], 2, "no package ascend_simulator", "没有软件包 ascend_simulator"),
    (["simulator", "env"], 2, "no package ascend_simulator", "没有软件包 ascend_simulator"),
    (["simulator", "run", "--devices", "99", "--", "x"], 2, "no package ascend_sim", "没有软件包 ascend_sim"),
    (["course", "list"], 2, "no command `course`", "没有命令 `course`"),
)


@pytest.mark.full
@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize(("words", "code", "english", "chinese"), ALONE)
def test_the_workbook_runs_alone(
    words: list[str], code: int, english: str, chinese: str, lang: str, workbook: Path
) -> None:
    done = run_outside(workbook, [str(workbook / "ascend-workbook"), *words], lang)
    assert done.returncode == code, done.stdout + done.stderr
    assert (english if lang == "en" else chinese) in done.stdout + done.stderr


@pytest.mark.full
def test_the_workbooks_files_come_along(workbook: Path) -> None:
    for package in DISTRIBUTIONS["."]:
        assert installed_files(workbook, package) == set(files_of(package))


@pytest.mark.full
def test_the_simulator_installs_alone(sources: Path, tmp_path: Path) -> None:
    commands = make_environment(tmp_path / "venv", sources / "ascend_simulator")
    assert installed_files(commands, "ascend_simulator") == {
        path for path in files_of("ascend_simulator") if path.name not in BESIDE
    }
    own = str(commands / "ascend-simulator")
    status = run_outside(commands, [own, "status"])
    assert (status.returncode, status.stdout.strip().rpartition(": ")[2]) == (1, "not built")
    assert run_outside(commands, [own, "status", "--lang", "zh"]).stdout.strip().endswith("尚未构建")
    build = run_outside(commands, [own, "build"])
    assert build.returncode == 2 and "has no package torch" in build.stderr
    assert run_outside(commands, [own, "run", "--", "true"]).returncode == 2
    assert run_outside(commands, [own, "env"]).returncode == 2


@pytest.mark.full
def test_the_course_adds_its_verb(sources: Path, tmp_path: Path) -> None:
    commands = make_environment(tmp_path / "venv", sources, sources / "course")
    data = {path for path in files_of("course") if path not in {Path(name) for name in BESIDE}}
    assert installed_files(commands, "course") == data
    listed = run_outside(commands, [str(commands / "ascend-workbook"), "course", "list"], "zh")
    assert listed.returncode == 0 and "未完成" in listed.stdout
