"""Set-up of a machine, started by file path with any Python >= 3.9 and nothing installed.

Makes a virtual environment that sees the packages of the Python it was started with, so an existing torch and
torch_npu are kept. Where there is no torch it takes a CPU build and refuses to download CUDA's gigabytes. Where
there is no CANN it puts torch_npu beside the simulator and builds that; where there is, it builds nothing.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
#: The simulated NPU as it lies in an offline archive.
PREBUILT = ROOT / "prebuilt"
#: Its links, which no archive of ours holds; a test compares them with those of a build.
LINKS = {"bin/msprof": "../tools/profiler/bin/msprof"}
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
PYPI = "https://pypi.org/simple"
#: The one setting for networks where PyPI is slow or closed: one of these names, or the address of an index.
MIRROR = "ASCEND_WORKBOOK_MIRROR"
MIRRORS = {
    "tuna": "https://pypi.tuna.tsinghua.edu.cn/simple",
    "ustc": "https://mirrors.ustc.edu.cn/pypi/simple",
    "aliyun": "https://mirrors.aliyun.com/pypi/simple",
    "huaweicloud": "https://repo.huaweicloud.com/repository/pypi/simple",
}
#: Mirrors of PyPI have CUDA's build of torch; the CPU's wheels lie in this folder of links.
MIRROR_CPU_LINKS = "https://mirrors.aliyun.com/pytorch-wheels/cpu"
#: The distributions that are set up from this folder.
PROJECTS = ("pyproject.toml", "ascend_simulator/pyproject.toml", "course/pyproject.toml")
#: As ascend_workbook/machine/cann.py looks for it; a test holds the two together.
CANN_ROOTS = (
    "/usr/local/Ascend/cann",
    "/usr/local/Ascend/ascend-toolkit/latest",
    "/usr/local/Ascend/nnae/latest",
    "~/Ascend/cann",
    "~/Ascend/ascend-toolkit/latest",
)
#: pip would bring these with a CUDA build of torch
CUDA_PREFIXES = ("nvidia-", "cuda-", "triton")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--venv", default=".venv", help="folder of the virtual environment (default: .venv)")
    parser.add_argument("--dev", action="store_true", help="install the test packages too")
    parser.add_argument(
        "--pair",
        default="",
        metavar="VERSION",
        help="where there is no torch: this release of it, and the torch_npu that goes with it",
    )
    parser.add_argument("--untried", action="store_true", help="build the simulator for a pair that was never tried")
    args = parser.parse_args()
    if sys.version_info < (3, 9):  # noqa: UP036 - started by whatever Python the user has
        return print_stop(f"Python {sys.version.split()[0]} is too old.", "Start make with PYTHON=python3.10 or newer.")
    venv = Path(args.venv).resolve()
    try:
        os.environ.update(mirror_settings(os.environ.get(MIRROR, "")))
        refuse_untried(venv, args.pair, untried=args.untried)
        set_up(make_venv(venv), venv, dev=args.dev, pair=args.pair)
    except subprocess.CalledProcessError as error:
        return print_stop(f"failed: {' '.join(map(str, error.cmd))}", "Read the lines above, then start it again.")
    except SetupError as error:
        return print_stop(*error.args)
    return 0


class SetupError(Exception):
    """What went wrong and the next step."""


def mirror_settings(chosen: str) -> dict[str, str]:
    """Return what pip's processes inherit for the mirror: nothing without one.

    Never an address with a password in it.
    """
    if not chosen:
        return {}
    address = MIRRORS.get(chosen, chosen)
    known = f"Give {MIRROR} one of {', '.join(MIRRORS)}, or an address that begins with https://."
    if not address.startswith(("https://", "file://")):
        raise SetupError(f"{MIRROR}={chosen!r} is no mirror.", known)
    if "@" in address.split("/")[2]:
        raise SetupError(
            f"{MIRROR} holds a user or password, which children and logs would see.",
            "Keep them in ~/.netrc (mode 600), which pip reads, and give the address alone.",
        )
    print_line(f"mirror: {address}")
    return {"PIP_INDEX_URL": address}


def set_up(python: Path, venv: Path, *, dev: bool, pair: str = "") -> None:
    """Run every step, each skipped when its inputs have not changed."""
    stamp = venv / "setup-stamp.json"
    projects = [name for name in PROJECTS if (ROOT / name).is_file()]
    files = ["requirements.txt", "requirements-torch.txt", *projects] + (["requirements-dev.txt"] if dev else [])
    done = json.loads(stamp.read_text()) if stamp.is_file() else {}
    wanted = {name: hashlib.sha256((ROOT / name).read_bytes()).hexdigest() for name in files}
    if not wanted.items() <= done.items():
        if pair and has_cann() and not has_torch(python):
            install_pair(python, pair)
        install_torch(python, f"torch=={pair}" if pair else "")
        install_packages(python, dev=dev)
        stamp.write_text(json.dumps({**done, **wanted}))
    build_native(python)
    if not has_cann():
        build_simulator(python, venv)


def refuse_untried(venv: Path, asked: str, *, untried: bool) -> None:
    """Refuse, before anything is made, a pair that the simulated NPU was never tried with, or one that is not there."""
    python = venv / "bin" / "python"
    here = installed_version(python if python.exists() else Path(sys.executable), "torch")
    release = (here or "").partition("+")[0]
    if asked and release and asked != release:
        raise SetupError(
            f"torch {asked} was asked for and torch {here} is here, which set-up never replaces.",
            f"Start make with a Python that has no torch: make setup PAIR={asked} VENV=.venv-{asked}",
        )
    wanted = release or asked
    if has_cann() or untried or not wanted or wanted in tried_pairs():
        return
    raise SetupError(
        f"the simulated NPU was never tried with torch {wanted}, only with {', '.join(tried_pairs())}.",
        f"Start make with a Python that has no torch (make setup PAIR={next(iter(tried_pairs()))} VENV=.venv-other), "
        "or let it be built untried: make setup UNTRIED=1",
    )


def tried_pairs() -> dict[str, dict[str, Any]]:
    """Return what ascend_simulator/pairs.json says of each torch, by its release; the pinned one alone without it."""
    path = ROOT / "ascend_simulator" / "pairs.json"
    if not path.is_file():
        release = find_pin("torch").partition("==")[2]
        return {release: {"torch": release, "torch_npu": find_pin("torch_npu").partition("==")[2]}}
    return {pair["torch"]: pair for pair in json.loads(path.read_text(encoding="utf-8"))["pairs"]}


def has_cann() -> bool:
    """Return whether a CANN is in a usual place, or where the environment points to, that is not the simulator."""
    home = os.environ.get("ASCEND_HOME_PATH", "")
    if home and Path(home).is_absolute() and Path(home).is_dir():
        version = Path(home, "version.cfg")
        return not version.is_file() or "simulated=true" not in version.read_text(errors="replace")
    return any(Path(root).expanduser().is_dir() for root in CANN_ROOTS)


def make_venv(venv: Path) -> Path:
    """Return the environment's Python; system packages stay visible only where they hold a torch worth keeping."""
    python = venv / "bin" / "python"
    if not (venv / "bin" / "pip").exists():  # pip comes last: without it the environment was not finished
        print_line(f"making {venv}")
        keep = has_torch(Path(sys.executable))
        run_command([sys.executable, "-m", "venv", *(["--system-site-packages"] if keep else []), str(venv)])
        if keep and sys.prefix != sys.base_prefix:
            show_parent(python)
    return python


def show_parent(python: Path) -> None:
    """Show the packages of the environment this was started in: venv itself shows only the base Python's."""
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    folder = subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    Path(folder, "parent_environment.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")


def has_torch(python: Path) -> bool:
    return installed_version(python, "torch") is not None


def installed_version(python: Path, package: str) -> str | None:
    """Return the version pip sees, without importing: importing torch may fail for want of CANN."""
    code = f"import importlib.metadata as m; print(m.version({package!r}))"
    done = subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def find_pin(package: str) -> str:
    """Return the line of requirements-torch.txt for a package."""
    lines = (ROOT / "requirements-torch.txt").read_text(encoding="utf-8").splitlines()
    return next(line.strip() for line in lines if line.startswith(f"{package}=="))


def install_torch(python: Path, wanted: str = "") -> None:
    """Install a CPU build of torch: from pip's own links, a mirror's or PyTorch's CPU index; never a CUDA build."""
    if has_torch(python):
        print_line(f"keeping torch {installed_version(python, 'torch')}")
        return
    wanted = wanted or find_pin("torch")
    answers = []
    for place, source in torch_sources():
        brings, answer = resolve_packages(python, [wanted, *source])
        answers.append(f"{place} ({answer})")
        if brings and not any(name.lower().startswith(CUDA_PREFIXES) for name in brings):
            print_line(f"installing {wanted} (CPU build)")
            run_pip(python, [wanted, *source])
            return
    raise SetupError(
        f"no CPU build of {wanted} is in {', '.join(answers)}.",
        "Install one yourself (pip install a CPU wheel of torch) and run make setup again; a CUDA build was not taken.",
    )


def torch_sources() -> list[tuple[str, list[str]]]:
    """Return where a CPU build may be, with pip's options for it."""
    other = os.environ.get("PIP_INDEX_URL") if os.environ.get(MIRROR) else None
    sources: list[tuple[str, list[str]]] = [("pip's configured links", [])]
    if other:
        sources.append((MIRROR_CPU_LINKS, ["--find-links", MIRROR_CPU_LINKS]))
    return [*sources, (CPU_INDEX, ["--index-url", CPU_INDEX, "--extra-index-url", other or PYPI])]


def install_pair(python: Path, version: str) -> None:
    """torch, torch_npu of the same version and what CANN's own Python imports; torch_npu's wheel would bring a torch of
    its own, so it comes without its dependencies."""
    install_torch(python, f"torch=={version}")
    run_pip(python, ["--no-deps", f"torch_npu=={version}"])
    compatibility = ROOT / "ascend_workbook" / "machine" / "compatibility.json"
    run_pip(python, list(json.loads(compatibility.read_text(encoding="utf-8"))["python_modules"]))


def resolve_packages(python: Path, what: list[str]) -> tuple[list[str], str]:
    """Return what pip would install (nothing where it cannot), and a line that says so or is its last error."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        command = [str(python), "-m", "pip", "install", "--quiet", "--dry-run", "--report", str(report), *what]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            return [], (done.stderr.strip().splitlines() or [f"pip exit code {done.returncode}"])[-1]
        brings = [item["metadata"]["name"] for item in json.loads(report.read_text(encoding="utf-8"))["install"]]
        return brings, f"brings {', '.join(sorted(brings)[:8])}"


def install_packages(python: Path, *, dev: bool) -> None:
    """Install requirements.txt and this project, with the torch that is here held fast."""
    print_line("installing packages" + (" and test packages" if dev else ""))
    with tempfile.TemporaryDirectory() as folder:
        held = Path(folder, "held.txt")
        names = [(name, installed_version(python, name)) for name in ("torch", "torch_npu", "torchvision")]
        release = (installed_version(python, "torch") or "").partition("+")[0]
        beside = tried_pairs().get(release, {}).get("beside", [])
        lines = [*(f"{name}=={version}" for name, version in names if version), *beside]
        held.write_text("".join(f"{line}\n" for line in lines))
        files = ["-r", str(ROOT / "requirements.txt")] + (["-r", str(ROOT / "requirements-dev.txt")] if dev else [])
        run_pip(python, ["-c", str(held), *files])
    isolation = "--no-build-isolation" if has_setuptools(python) else "--use-pep517"
    for name in PROJECTS:
        if (ROOT / name).is_file():  # a job's code directory has no course
            run_pip(python, ["--no-deps", isolation, "-e", str((ROOT / name).parent)])


def has_setuptools(python: Path) -> bool:
    version = installed_version(python, "setuptools")
    return version is not None and int(version.split(".")[0]) >= 64


def build_native(python: Path) -> None:
    """Build the compiled parts that make reading faster; without a compiler they are left out."""
    run_command([str(python), "-m", "ascend_workbook.machine.native"], cwd=ROOT)


def build_simulator(python: Path, venv: Path) -> None:
    """Build torch_npu beside the simulator (off site-packages), the stand-in CANN, and its Jupyter kernel."""
    place = Path(os.environ.get("ASCEND_WORKBOOK_SIMULATOR") or venv / "share" / "ascend-workbook" / "simulator")
    if installed_version(python, "torch_npu") is None and not list(place.glob("python/torch_npu-*.dist-info")):
        release = (installed_version(python, "torch") or "").partition("+")[0]
        version = tried_pairs().get(release, {}).get("torch_npu", release)
        print_line(f"installing torch_npu {version} beside the simulator")
        run_pip(python, ["--no-deps", "--target", str(place / "python"), f"torch_npu=={version}"])
    if has_compiler():
        run_command([str(python), "-m", "ascend_workbook", "simulator", "build"], cwd=ROOT)
    elif not (place / "stamp.json").is_file():
        take_prebuilt(python, place)
    run_command([str(python), "-m", "ascend_workbook", "simulator", "kernel"], cwd=ROOT)


def has_compiler() -> bool:
    """Look for a compiler as ascend_workbook/machine/native.py does; a test holds the two together."""
    return any(map(shutil.which, filter(None, (os.environ.get("CXX"), "g++", "clang++"))))


def take_prebuilt(python: Path, place: Path) -> None:
    """Take the simulator of an offline archive, built elsewhere for the same torch; copy the stamp last."""
    if not (PREBUILT / "stamp.json").is_file():
        raise SetupError(
            "there is no C++ compiler, which the simulated NPU is built with.",
            "Install g++ (apt install g++, yum install gcc-c++), or name one in CXX.",
        )
    stamp = json.loads((PREBUILT / "stamp.json").read_text(encoding="utf-8"))
    if stamp["torch"] != installed_version(python, "torch"):
        raise SetupError(
            f"there is no C++ compiler, and the simulator that came along is for torch {stamp['torch']}.",
            "Install g++, or use an environment without a torch of its own.",
        )
    print_line("no C++ compiler: taking the simulated NPU that came along")
    shutil.copytree(PREBUILT, place, ignore=shutil.ignore_patterns("stamp.json"), dirs_exist_ok=True)
    script = (place / "set_env.sh").read_text(encoding="utf-8")
    quoted = str(place).replace("'", "'\\''")
    script = "".join(
        f"_ascend_sim='{quoted}'\n" if line.startswith("_ascend_sim='/") else line
        for line in script.splitlines(keepends=True)
    )
    (place / "set_env.sh").write_text(script, encoding="utf-8")
    for name, target in LINKS.items():
        (place / name).unlink(missing_ok=True)
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).symlink_to(target)
    shutil.copyfile(PREBUILT / "stamp.json", place / "stamp.json")


def run_pip(python: Path, what: list[str]) -> None:
    run_command([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *what])


def run_command(command: list[str], cwd: Path | None = None) -> None:
    subprocess.run(command, check=True, cwd=cwd)


def print_line(text: str) -> None:
    print(f"setup: {text}", flush=True)


def print_stop(what: str, next_step: str) -> int:
    print(f"setup: {what}\nsetup: next step: {next_step}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
