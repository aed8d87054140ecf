"""Builds the folder that looks like a CANN install: aside, then renamed into place, one build at a time."""

from __future__ import annotations

import ast
import fcntl
import json
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ascend_simulator.libraries.compiling import make_libraries
from ascend_simulator.libraries.headers import fetch_cann_headers
from ascend_simulator.libraries.plan import (
    CANN_VERSION,
    GRAPH_ENGINE,
    MSPROF,
    NATIVE,
    OFFLINE_MODELS,
    PYACL,
    REFERENCES,
    SHAPES_ONLY,
    Plan,
    find_torch_npu,
    make_plan,
    read_stamp,
)
from ascend_simulator.libraries.stubs import list_wrappers
from ascend_simulator.real_cann import SIGNS


def default_location() -> Path:
    """Return `$ASCEND_WORKBOOK_SIMULATOR`, else share/ascend-workbook/simulator of this Python's environment."""
    folder = os.environ.get("ASCEND_WORKBOOK_SIMULATOR")
    return Path(folder).expanduser() if folder else Path(sys.prefix) / "share" / "ascend-workbook" / "simulator"


def build(location: Path | None = None, *, force: bool = False) -> bool:
    """Build the folder if it is not there or out of date, and return whether it was built now.

    Raises SimulatorError: no compiler, no torch or torch_npu, no headers of CANN, or the compiler's own first error.
    """
    location = (location or default_location()).resolve()
    fetch_cann_headers(find_torch_npu(location).root, location)
    plan = make_plan(location)
    with one_build_at_a_time(location):
        clear_away(location)
        if force:
            shutil.rmtree(objects_of(location), ignore_errors=True)
        elif read_stamp(location) == plan.make_stamp():
            return False
        aside = location.with_name(f".{location.name}.new")
        fill_folder(aside, plan, location)
        if location.exists():
            location.rename(location.with_name(f".{location.name}.old"))
        aside.rename(location)
        clear_away(location)  # what set-up put into python/ moves over
    return True


def objects_of(location: Path) -> Path:
    """Return where compiled sources are kept for the next build."""
    return location.with_name(f".{location.name}.objects")


@contextmanager
def one_build_at_a_time(location: Path) -> Iterator[None]:
    location.parent.mkdir(parents=True, exist_ok=True)
    with (location.parent / f".{location.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def clear_away(location: Path) -> None:
    """Removes what a build left beside the folder, also one that was stopped; an old folder gives its python/ back."""
    old = location.with_name(f".{location.name}.old")
    if old.exists() and not location.exists():
        old.rename(location)
    if (old / "python").exists() and not (location / "python").exists():
        (old / "python").rename(location / "python")
    for name in ("old", "new"):
        shutil.rmtree(location.with_name(f".{location.name}.{name}"), ignore_errors=True)


def fill_folder(out: Path, plan: Plan, location: Path) -> None:
    """Fill the folder: libraries, then the files that make it look like a CANN install, and the stamp last."""
    for name in ("lib64", "opp", "runtime", "compiler"):
        (out / name).mkdir(parents=True)
    make_libraries(plan, objects_of(location), out / "lib64")
    # operators.txt is what the native kernels read at start-up: names, and "checked" behind those that check their
    # data types themselves
    shutil.copytree(REFERENCES, out / "references", ignore=shutil.ignore_patterns("__pycache__"))
    known = names_with_dtypes(REFERENCES)
    lines = [f"{name} checked\n" if name in known else f"{name}\n" for name in names_of_references(REFERENCES)]
    (out / "references" / "operators.txt").write_text("".join(lines), encoding="utf-8")
    for folder in (SHAPES_ONLY, GRAPH_ENGINE):
        shutil.copytree(folder, out / folder.name, ignore=shutil.ignore_patterns("__pycache__"))
    # off python/, which a build moves over from the one before
    for folder, name in ((PYACL, "acl"), (OFFLINE_MODELS, OFFLINE_MODELS.name)):
        shutil.copytree(folder, out / "modules" / name, ignore=shutil.ignore_patterns("__pycache__"))
    (out / "bin").mkdir()
    for source, name in (("npu_smi.py", "npu-smi"), ("atc.py", "atc")):
        shutil.copyfile(NATIVE / source, out / "bin" / name)
        (out / "bin" / name).chmod(0o755)
    copy_msprof(out)
    write_cann_files(out, plan, location)
    (out / "stamp.json").write_text(json.dumps(plan.make_stamp(), indent=1) + "\n", encoding="utf-8")


def copy_msprof(out: Path) -> None:
    """The profiler's parser, where torch_npu looks for it: beside tools/profiler/bin, to which the msprof of PATH leads
    (torch_npu/profiler/analysis/prof_view/cann_parse/_cann_export.py)."""
    tools = out / "tools" / "profiler"
    parser = tools / "profiler_tool" / "analysis" / "msprof"
    shutil.copytree(MSPROF, parser, ignore=shutil.ignore_patterns("__pycache__"))
    (tools / "bin").mkdir()
    command = tools / "bin" / "msprof"
    shutil.copyfile(NATIVE / "msprof.sh", command)
    command.chmod(0o755)
    (out / "bin" / "msprof").symlink_to(Path("..", "tools", "profiler", "bin", "msprof"))


def write_cann_files(out: Path, plan: Plan, location: Path) -> None:
    """Write set_env.sh, version.cfg, two tables of limits, and the file in which torch_npu looks for CANN's version."""
    script = (NATIVE / "set_env.sh.in").read_text(encoding="utf-8")
    script = script.replace("@LOCATION@", str(location).replace("'", "'\\''"))  # inside single quotes of any shell
    (out / "set_env.sh").write_text(script, encoding="utf-8")
    for name in ("dtypes.txt", "traits.txt"):
        shutil.copyfile(NATIVE / "kernels" / name, out / name)
    checks = "".join(f"{name}\n" for name in list_wrappers(plan.torch_npu))
    (out / "device_checks.txt").write_text(checks, encoding="utf-8")
    cfg = f"simulated=true\nversion={CANN_VERSION}\ntorch={plan.torch.version}\ntorch_npu={plan.torch_npu.version}\n"
    (out / "version.cfg").write_text(cfg, encoding="utf-8")
    (out / "real_signs.txt").write_text("".join(f"{sign}\n" for sign in SIGNS), encoding="utf-8")
    info = out / f"{platform.machine()}-linux" / "ascend_toolkit_install.info"
    info.parent.mkdir()
    info.write_text(f"package_name=simulated\nversion={CANN_VERSION}\nsimulated=true\n", encoding="utf-8")


def names_of_references(folder: Path) -> list[str]:
    """Return the first argument of each `@reference("npu::...")` or `("aten::...")` in the folder's modules, sorted."""
    return sorted({name for path in folder.glob("*.py") for name in _names_in(path.read_text(encoding="utf-8"))})


def names_with_dtypes(folder: Path) -> set[str]:
    """Return the operators of torch_npu whose reference checks data types: `@reference("npu::...", dtypes=...)`.

    Those of aten have their lists, and CANN's documents, in native/kernels/dtypes.txt.
    """
    sources = (path.read_text(encoding="utf-8") for path in folder.glob("*.py"))
    return {name for source in sources for name in _names_in(source, "dtypes") if name.startswith("npu::")}


def _names_in(source: str, keyword: str = "") -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef):
            continue
        for decorator in node.decorator_list:
            if isinstance(decorator, ast.Call) and getattr(decorator.func, "id", "") == "reference":
                name = decorator.args[0]
                assert isinstance(name, ast.Constant) and isinstance(name.value, str), f"{node.name}: not a literal"
                if not keyword or any(argument.arg == keyword for argument in decorator.keywords):
                    yield name.value
