"""Makes one archive that sets the workbook up without a network, for this Python and this kind of machine.

    python -m tools.offline.bundle [--out FOLDER] [--for 3.11-aarch64 [--installed FILE]]

Inside: the files of this checkout, wheels of requirements.txt and of the pair in requirements-torch.txt (torch's CPU
build), the simulated NPU as built here (used where there is no C++ compiler), a manifest with size and sha256 of each
file, and install.py as __main__: `python3 ARCHIVE` is all that the other machine needs.

With --for it is an archive for an image that has torch, of another Python and processor than this machine's (a
ModelArts Notebook's): the checkout and the wheels that a notebook needs, without the pair and the simulator (image.py).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import helpers
from ascend_workbook.machine import simulator
from tools import bootstrap
from tools.offline import image
from tools.offline.install import FORMAT, MANIFEST
from tools.resolve import platform_options

ROOT = Path(__file__).resolve().parents[2]
#: What pip builds this project with, which an isolated build would fetch.
BUILD = ("setuptools>=64", "wheel")
#: An archive has files alone, and torch_npu asks for folders of CANN that are empty here.
KEEP = ".keep"
EPOCH = (1980, 1, 1, 0, 0, 0)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "build", help="folder of the archive (default: build)")
    parser.add_argument(
        "--for",
        dest="image",
        metavar="PYTHON-MACHINE",
        help="for an image that has torch: its Python and processor, 3.11-aarch64",
    )
    parser.add_argument(
        "--installed",
        type=Path,
        metavar="FILE",
        help="with --for: what `pip list --format=freeze` says there; wheels fit it",
    )
    args = parser.parse_args(arguments)
    try:
        os.environ.update(bootstrap.mirror_settings(os.environ.get(bootstrap.MIRROR, "")))
        with tempfile.TemporaryDirectory() as folder:
            print(make_bundle(args.out, Path(folder), args.image, args.installed))
    except bootstrap.SetupError as error:
        return bootstrap.print_stop(*error.args)
    except subprocess.CalledProcessError as error:
        return bootstrap.print_stop(
            f"failed: {' '.join(map(str, error.cmd))}", "Read the lines above, then start it again."
        )
    return 0


def make_bundle(out: Path, wheels: Path, kind: str | None, installed: Path | None) -> Path:
    """Make the archive and return its path; the wheels are brought into the given folder first."""
    if kind is not None:
        wanted = image.wanted_machine(kind)
        image.download_image_wheels(wheels, wanted, installed)
        return write_archive(out, {**list_project(), **wheels_of(wheels)}, wanted)
    if installed is not None:
        raise bootstrap.SetupError("--installed is of an image.", "Give --for too: its Python and processor.")
    download_wheels(wheels)
    return write_archive(out, {**list_project(), **wheels_of(wheels), **list_built()})


def download_wheels(wheels: Path) -> None:
    """Download torch's CPU build and what it brings, torch_npu without what it asks for, and the packages."""
    python = Path(sys.executable)
    wanted = bootstrap.find_pin("torch")
    source = cpu_source(python, wanted)
    pip = [
        str(python),
        "-m",
        "pip",
        "download",
        "--quiet",
        "--only-binary=:all:",
        "--dest",
        str(wheels),
        *platform_options(platform.machine()),
    ]
    subprocess.run([*pip, "-r", str(ROOT / "requirements.txt"), wanted, *BUILD, *source], check=True)
    subprocess.run([*pip, "--no-deps", bootstrap.find_pin("torch_npu")], check=True)
    cuda = [path.name for path in wheels.iterdir() if path.name.lower().startswith(bootstrap.CUDA_PREFIXES)]
    if cuda:
        raise bootstrap.SetupError(f"pip brought a CUDA build's packages: {cuda[:3]}", "Set a source of CPU builds.")


def cpu_source(python: Path, wanted: str) -> list[str]:
    """Return pip's options for the first source that has a CPU build."""
    for _, source in bootstrap.torch_sources():
        brings, _ = bootstrap.resolve_packages(python, [wanted, "--ignore-installed", *source])
        if brings and not any(name.lower().startswith(bootstrap.CUDA_PREFIXES) for name in brings):
            return source
    raise bootstrap.SetupError(f"no source has a CPU build of {wanted}.", "Look at `make setup`, which says why.")


def list_project() -> dict[str, Path]:
    """Return the files that git knows, by their names in the archive."""
    done = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-z"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise bootstrap.SetupError(f"{ROOT} is no git checkout.", "Clone the repository and make the archive there.")
    return {name: ROOT / name for name in done.stdout.split("\0") if (ROOT / name).is_file()}


def wheels_of(folder: Path) -> dict[str, Path]:
    return {f"wheels/{path.name}": path for path in sorted(folder.glob("*.whl"))}


def list_built() -> dict[str, Path]:
    """Return the simulated NPU as it was built here, without torch_npu and without links (bootstrap.LINKS); nothing
    where it is not built or out of date."""
    place = simulator.simulator_location()
    if not simulator.is_built() or not simulator.is_current():
        print("offline: the simulator is not built here: the other machine needs a C++ compiler", file=sys.stderr)
        return {}
    paths = (path for path in place.rglob("*") if "__pycache__" not in path.parts)
    names = [(path.relative_to(place), path) for path in paths]
    folders = [(name, path) for name, path in names if name.parts[0] != "python"]
    empty = {
        f"prebuilt/{name.as_posix()}/{KEEP}": Path(os.devnull)
        for name, path in folders
        if path.is_dir() and not any(path.iterdir())
    }
    return {
        **empty,
        **{f"prebuilt/{name.as_posix()}": path for name, path in folders if path.is_file() and not path.is_symlink()},
    }


def write_archive(out: Path, files: dict[str, Path], wanted: Mapping[str, str] | None = None) -> Path:
    """Write the archive and, beside it, its sha256 as `sha256sum -c` reads it. Equal files make equal archives.
    `wanted` is the image that it is for; without one it is for machines like this.
    """
    machine = wanted or describe_machine()
    tag = f"cp{machine['python'].replace('.', '')}-{machine['machine']}"
    target = out / f"ascend-workbook-{'image' if wanted else 'offline'}-{helpers.__version__}-{tag}.zip"
    out.mkdir(parents=True, exist_ok=True)
    aside = target.with_name(f".{target.name}.part")
    try:
        with zipfile.ZipFile(aside, "w", allowZip64=True) as stream:
            text = json.dumps(make_manifest(files, machine), indent=1, sort_keys=True)
            put_file(stream, MANIFEST, text.encode())
            put_file(stream, "__main__.py", Path(__file__).with_name("install.py").read_bytes())
            for name, path in sorted(files.items()):
                put_file(stream, name, path.read_bytes(), executable=os.access(path, os.X_OK))
        digest = sha256_of(aside)
        aside.replace(target)
    finally:
        aside.unlink(missing_ok=True)
    target.with_suffix(".zip.sha256").write_text(f"{digest}  {target.name}\n", encoding="utf-8")
    return target


def put_file(stream: zipfile.ZipFile, name: str, data: bytes, *, executable: bool = False) -> None:
    info = zipfile.ZipInfo(name, EPOCH)
    info.external_attr = (0o100755 if executable else 0o100644) << 16
    info.compress_type = zipfile.ZIP_STORED if name.endswith(".whl") else zipfile.ZIP_DEFLATED
    stream.writestr(info, data)


def describe_machine() -> dict[str, str]:
    """Describe this machine, as install.py asks for one."""
    return {
        "implementation": platform.python_implementation(),
        "python": ".".join(map(str, sys.version_info[:2])),
        "system": platform.system(),
        "machine": platform.machine(),
    }


def make_manifest(files: dict[str, Path], wanted: Mapping[str, str]) -> dict[str, object]:
    """Return what install.py checks: for which machine, and each file's size and sha256."""
    wheels = [name.rpartition("/")[2] for name in files if name.startswith("wheels/")]
    listed = {
        name: {"bytes": path.stat().st_size, "sha256": sha256_of(path), "executable": os.access(path, os.X_OK)}
        for name, path in files.items()
    }
    fits = {**wanted, "glibc": oldest_glibc(wheels)}
    return {"format": FORMAT, "version": helpers.__version__, "for": fits, "files": listed}


def oldest_glibc(wheels: list[str]) -> str:
    """Return the oldest C library that takes all of them: of a wheel's tags the oldest, of all wheels the newest."""
    needs = [min(tags) for tags in map(list, map(_glibc_tags, wheels)) if tags]
    return ".".join(map(str, max(needs, default=(2, 17))))


def _glibc_tags(wheel: str) -> Iterator[tuple[int, int]]:
    """Yield the C libraries of a wheel's tags (PEP 600; manylinux2014 is 2.17)."""
    for major, minor in re.findall(r"manylinux_(\d+)_(\d+)_", wheel):
        yield int(major), int(minor)
    if "manylinux2014" in wheel:
        yield 2, 17


def sha256_of(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        for block in iter(lambda: stream.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


if __name__ == "__main__":
    sys.exit(main())
