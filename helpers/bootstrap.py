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
#: As helpers/cann.py looks for it; a test holds the two together.
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
    parser.add_argument("--pair", default="", metavar="VERSION",
                        help="where there is CANN and no torch: torch and torch_npu of this version")  # fmt: skip
    args = parser.parse_args()
    if sys.version_info < (3, 9):  # noqa: UP036 - started by whatever Python the user has
        return stop(f"Python {sys.version.split()[0]} is too old.", "Start make with PYTHON=python3.10 or newer.")
    venv = Path(args.venv).resolve()
    try:
        os.environ.update(mirror_settings(os.environ.get(MIRROR, "")))
        set_up(make_venv(venv), venv, dev=args.dev, pair=args.pair)
    except subprocess.CalledProcessError as error:
        return stop(f"failed: {' '.join(map(str, error.cmd))}", "Read the lines above, then start it again.")
    except SetupError as error:
        return stop(*error.args)
    return 0


class SetupError(Exception):
    """What went wrong and the next step."""


def mirror_settings(told: str) -> dict[str, str]:
    """What pip's processes inherit for the mirror: nothing without one. Never an address with a password in it."""
    if not told:
        return {}
    address = MIRRORS.get(told, told)
    known = f"Give {MIRROR} one of {', '.join(MIRRORS)}, or an address that begins with https://."
    if not address.startswith(("https://", "file://")):
        raise SetupError(f"{MIRROR}={told!r} is no mirror.", known)
    if "@" in address.split("/")[2]:
        raise SetupError(f"{MIRROR} holds a user or password, which children and logs would see.",
                         "Keep them in ~/.netrc (mode 600), which pip reads, and give the address alone.")  # fmt: skip
    say(f"mirror: {address}")
    return {"PIP_INDEX_URL": address}


def set_up(python: Path, venv: Path, *, dev: bool, pair: str = "") -> None:
    """Every step, each skipped when its inputs have not changed."""
    stamp = venv / "setup-stamp.json"
    files = ["requirements.txt", "requirements-torch.txt", "pyproject.toml"] + (["requirements-dev.txt"] if dev else [])
    done = json.loads(stamp.read_text()) if stamp.is_file() else {}
    wanted = {name: hashlib.sha256((ROOT / name).read_bytes()).hexdigest() for name in files}
    if not wanted.items() <= done.items():
        if pair and has_cann() and not has_torch(python):
            install_pair(python, pair)
        install_torch(python)
        install_packages(python, dev=dev)
        stamp.write_text(json.dumps({**done, **wanted}))
    build_native(python)
    if not has_cann():
        build_simulator(python, venv)


def has_cann() -> bool:
    """A CANN in a usual place, or where the environment points to, that is not the simulator."""
    told = os.environ.get("ASCEND_HOME_PATH", "")
    if told and Path(told).is_absolute() and Path(told).is_dir():
        version = Path(told, "version.cfg")
        return not version.is_file() or "simulated=true" not in version.read_text(errors="replace")
    return any(Path(root).expanduser().is_dir() for root in CANN_ROOTS)


def make_venv(venv: Path) -> Path:
    """The environment's Python; system packages stay visible only where they hold a torch worth keeping."""
    python = venv / "bin" / "python"
    if not (venv / "bin" / "pip").exists():  # pip comes last: without it the environment was not finished
        say(f"making {venv}")
        keep = has_torch(Path(sys.executable))
        run([sys.executable, "-m", "venv", *(["--system-site-packages"] if keep else []), str(venv)])
        if keep and sys.prefix != sys.base_prefix:
            show_parent(python)
    return python


def show_parent(python: Path) -> None:
    """Makes the packages of the environment this was started in visible: venv itself shows only the base Python's."""
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    folder = subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    Path(folder, "parent_environment.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")


def has_torch(python: Path) -> bool:
    return installed_version(python, "torch") is not None


def installed_version(python: Path, package: str) -> str | None:
    """The version pip sees, without importing: importing torch may fail for want of CANN."""
    code = f"import importlib.metadata as m; print(m.version({package!r}))"
    done = subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def pinned(package: str) -> str:
    """The line of requirements-torch.txt for a package."""
    lines = (ROOT / "requirements-torch.txt").read_text(encoding="utf-8").splitlines()
    return next(line.strip() for line in lines if line.startswith(f"{package}=="))


def install_torch(python: Path, wanted: str = "") -> None:
    """A CPU build of torch from pip's own links, else a mirror's, else PyTorch's CPU index; never a CUDA build."""
    if has_torch(python):
        say(f"keeping torch {installed_version(python, 'torch')}")
        return
    wanted = wanted or pinned("torch")
    answers = []
    for place, source in torch_sources():
        brings, answer = resolve(python, [wanted, *source])
        answers.append(f"{place} ({answer})")
        if brings and not any(name.lower().startswith(CUDA_PREFIXES) for name in brings):
            say(f"installing {wanted} (CPU build)")
            pip(python, [wanted, *source])
            return
    raise SetupError(
        f"no CPU build of {wanted} is in {', '.join(answers)}.",
        "Install one yourself (pip install a CPU wheel of torch) and run make setup again; a CUDA build was not taken.",
    )


def torch_sources() -> list[tuple[str, list[str]]]:
    """Where a CPU build may be, with pip's options for it."""
    other = os.environ.get("PIP_INDEX_URL") if os.environ.get(MIRROR) else None
    found: list[tuple[str, list[str]]] = [("pip's configured links", [])]
    if other:
        found.append((MIRROR_CPU_LINKS, ["--find-links", MIRROR_CPU_LINKS]))
    return [*found, (CPU_INDEX, ["--index-url", CPU_INDEX, "--extra-index-url", other or PYPI])]


def install_pair(python: Path, version: str) -> None:
    """torch, torch_npu of the same version and what CANN's own Python imports; torch_npu's wheel would bring a torch of
    its own, so it comes without its dependencies."""
    install_torch(python, f"torch=={version}")
    pip(python, ["--no-deps", f"torch_npu=={version}"])
    modules = json.loads((ROOT / "helpers" / "compatibility.json").read_text(encoding="utf-8"))["python_modules"]
    pip(python, list(modules))


def resolve(python: Path, what: list[str]) -> tuple[list[str], str]:
    """Names of what pip would install (none where it cannot), and its last line of error or what it brings."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        command = [str(python), "-m", "pip", "install", "--quiet", "--dry-run", "--report", str(report), *what]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            return [], (done.stderr.strip().splitlines() or [f"pip exit code {done.returncode}"])[-1]
        brings = [item["metadata"]["name"] for item in json.loads(report.read_text(encoding="utf-8"))["install"]]
        return brings, f"brings {', '.join(sorted(brings)[:8])}"


def install_packages(python: Path, *, dev: bool) -> None:
    """requirements.txt and this project, with the torch that is here held fast."""
    say("installing packages" + (" and test packages" if dev else ""))
    with tempfile.TemporaryDirectory() as folder:
        held = Path(folder, "held.txt")
        names = [(name, installed_version(python, name)) for name in ("torch", "torch_npu", "torchvision")]
        held.write_text("".join(f"{name}=={version}\n" for name, version in names if version))
        files = ["-r", str(ROOT / "requirements.txt")] + (["-r", str(ROOT / "requirements-dev.txt")] if dev else [])
        pip(python, ["-c", str(held), *files])
    pip(python, ["--no-deps", "--no-build-isolation" if has_setuptools(python) else "--use-pep517", "-e", str(ROOT)])


def has_setuptools(python: Path) -> bool:
    version = installed_version(python, "setuptools")
    return version is not None and int(version.split(".")[0]) >= 64


def build_native(python: Path) -> None:
    """The compiled parts that make reading faster; without a compiler they are left out."""
    run([str(python), "-m", "helpers.native"], cwd=ROOT)


def build_simulator(python: Path, venv: Path) -> None:
    """torch_npu beside the simulator (off site-packages), the stand-in CANN, and its Jupyter kernel."""
    place = Path(os.environ.get("ASCEND_WORKBOOK_SIMULATOR") or venv / "share" / "ascend-workbook" / "simulator")
    if installed_version(python, "torch_npu") is None and not list(place.glob("python/torch_npu-*.dist-info")):
        version = (installed_version(python, "torch") or "").partition("+")[0]
        say(f"installing torch_npu {version} beside the simulator")
        pip(python, ["--no-deps", "--target", str(place / "python"), f"torch_npu=={version}"])
    if has_compiler():
        run([str(python), "-m", "helpers", "simulator", "build"], cwd=ROOT)
    elif not (place / "stamp.json").is_file():
        take_prebuilt(python, place)
    run([str(python), "-m", "helpers", "simulator", "kernel"], cwd=ROOT)


def has_compiler() -> bool:
    """As helpers/native.py looks for one; a test holds the two together."""
    return any(map(shutil.which, filter(None, (os.environ.get("CXX"), "g++", "clang++"))))


def take_prebuilt(python: Path, place: Path) -> None:
    """The simulator that an offline archive brings, built on another machine for the same torch; the stamp last."""
    if not (PREBUILT / "stamp.json").is_file():
        raise SetupError("there is no C++ compiler, which the simulated NPU is built with.",
                         "Install g++ (apt install g++, yum install gcc-c++), or name one in CXX.")  # fmt: skip
    stamp = json.loads((PREBUILT / "stamp.json").read_text(encoding="utf-8"))
    if stamp["torch"] != installed_version(python, "torch"):
        raise SetupError(f"there is no C++ compiler, and the simulator that came along is for torch {stamp['torch']}.",
                         "Install g++, or use an environment without a torch of its own.")  # fmt: skip
    say("no C++ compiler: taking the simulated NPU that came along")
    shutil.copytree(PREBUILT, place, ignore=shutil.ignore_patterns("stamp.json"), dirs_exist_ok=True)
    script = (place / "set_env.sh").read_text(encoding="utf-8")
    quoted = str(place).replace("'", "'\\''")
    script = "".join(f"_ascend_sim='{quoted}'\n" if line.startswith("_ascend_sim='/") else line
                     for line in script.splitlines(keepends=True))  # fmt: skip
    (place / "set_env.sh").write_text(script, encoding="utf-8")
    for name, target in LINKS.items():
        (place / name).unlink(missing_ok=True)
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).symlink_to(target)
    shutil.copyfile(PREBUILT / "stamp.json", place / "stamp.json")


def pip(python: Path, what: list[str]) -> None:
    run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *what])


def run(command: list[str], cwd: Path | None = None) -> None:
    subprocess.run(command, check=True, cwd=cwd)


def say(text: str) -> None:
    print(f"setup: {text}", flush=True)


def stop(what: str, next_step: str) -> int:
    print(f"setup: {what}\nsetup: next step: {next_step}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
