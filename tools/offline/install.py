"""Sets the workbook up on a machine without a network, out of the archive that this file is the __main__ of.

    python3 ascend-workbook-offline-<version>-cp311-x86_64.zip [--into FOLDER] [--check] [--extract-only]

Nothing is written before Python, processor and C library fit. Each file is held against the size and sha256 of the
manifest while it is written, into a folder that gets its name last. Then set-up runs with pip's index switched off.
Syntax and library of Python 3.6: an older Python must be told what is wrong, not shown a SyntaxError.
"""

import argparse
import hashlib
import json
import os
import platform
import shutil
import stat
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any, Dict, List, Optional  # noqa: F401, UP035 - Python 3.6 has no other

FORMAT = 1
MANIFEST = "manifest.json"
OWN = (MANIFEST, "__main__.py")
LARGEST_MANIFEST = 16 << 20
#: What set-up writes besides (an environment, torch unpacked), over the size of the archive's files.
ROOM = 5


class Refused(Exception):
    """What is wrong, and the next step."""


def main(archive, arguments):
    # type: (Path, List[str]) -> int
    parser = argparse.ArgumentParser(prog="python3 " + archive.name, description="Set up without a network.")
    parser.add_argument("--into", default="ascend-workbook", metavar="FOLDER", help="default: ascend-workbook")
    parser.add_argument("--check", action="store_true", help="hold every file against the manifest, write nothing")
    parser.add_argument("--extract-only", action="store_true", help="do not set up")
    args = parser.parse_args(arguments)
    try:
        with zipfile.ZipFile(str(archive)) as stream:
            manifest = read_manifest(stream)
            must_fit(manifest)
            if args.check:
                hold_against(stream, manifest, None)
                print("offline: {} files are as they were packed".format(len(manifest["files"])))
                return 0
            into = extract_files(stream, manifest, Path(args.into).absolute())
        return 0 if args.extract_only else set_up(into)
    except Refused as why:
        print("offline: {}\noffline: next step: {}".format(*why.args), file=sys.stderr)
    except (zipfile.BadZipFile, EOFError) as error:
        again = "Copy the archive again and compare it with its .sha256."
        print(f"offline: {archive.name} is damaged ({error})\noffline: next step: {again}", file=sys.stderr)
    except OSError as error:
        print(f"offline: {error}", file=sys.stderr)
    return 2


def read_manifest(stream):
    # type: (zipfile.ZipFile) -> Dict[str, Any]
    """Return the manifest, held against the archive's own list of files."""
    damaged = "Copy the archive again and compare it with its .sha256."
    try:
        known = stream.getinfo(MANIFEST)
    except KeyError:
        raise Refused("the archive has no manifest", damaged) from None
    if known.file_size > LARGEST_MANIFEST:
        raise Refused("the manifest is too large to be one", damaged)
    manifest = json.loads(stream.read(MANIFEST).decode("utf-8"))  # type: Dict[str, Any]
    if manifest.get("format") != FORMAT:
        raise Refused("the archive has format {!r}".format(manifest.get("format")), "Make it anew.")
    names = [info.filename for info in stream.infolist()]
    if len(names) != len(set(names)) or set(names) != set(manifest["files"]) | set(OWN):
        raise Refused("the archive holds other files than its manifest lists", damaged)
    for info in stream.infolist():
        must_be_plain(info)
    return manifest


def must_be_plain(info):
    # type: (zipfile.ZipInfo) -> None
    """Require a relative name without a way up, of a regular file."""
    parts = info.filename.split("/")
    bad = not info.filename or info.filename.startswith("/") or "\\" in info.filename or ":" in parts[0]
    if bad or any(part in ("", ".", "..") for part in parts):
        raise Refused(f"the archive names a file outside its folder: {info.filename!r}", "Do not use it.")
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        raise Refused(f"the archive holds something that is no file: {info.filename!r}", "Do not use it.")


def must_fit(manifest):
    # type: (Dict[str, Any]) -> None
    """Require the Python, processor and C library of the wheels, which are of one kind of each."""
    wanted = manifest["for"]
    here = {
        "implementation": platform.python_implementation(),
        "python": ".".join(map(str, sys.version_info[:2])),
        "system": platform.system(),
        "machine": platform.machine(),
    }
    differ = [name for name in here if here[name] != wanted[name]]
    if differ:
        differences = ", ".join(f"{name} {here[name]} (the archive: {wanted[name]})" for name in differ)
        step = "Start it with python{} on {} {}, or make an archive for this machine: `make offline-bundle` on one "
        step += "with the same Python and processor."
        raise Refused(
            "this machine has " + differences, step.format(wanted["python"], wanted["system"], wanted["machine"])
        )
    glibc = platform.libc_ver()[1]
    if glibc and version_numbers(glibc) < version_numbers(wanted["glibc"]):
        raise Refused(
            "this machine has glibc {}, the wheels need {}".format(glibc, wanted["glibc"]),
            "Use a newer system, or an archive made with older wheels.",
        )


def version_numbers(version):
    # type: (str) -> List[int]
    return [int(part) for part in version.split(".")[:2]]


def extract_files(stream, manifest, into):
    # type: (zipfile.ZipFile, Dict[str, Any], Path) -> Path
    """Extract all files aside, then give the folder its name: half of it is never taken for the whole."""
    if into.exists() and any(into.iterdir()):
        raise Refused(f"{into} is there already", "Give another --into, or remove it.")
    needed = ROOM * sum(file["bytes"] for file in manifest["files"].values())
    into.parent.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(str(into.parent)).free
    if free < needed:
        raise Refused(
            f"{into.parent} has {free >> 20} MiB free, about {needed >> 20} are needed", "Give another --into."
        )
    aside = into.with_name("." + into.name + ".part")
    shutil.rmtree(str(aside), ignore_errors=True)
    try:
        hold_against(stream, manifest, aside)
        if into.exists():
            into.rmdir()
        aside.rename(into)
    finally:
        shutil.rmtree(str(aside), ignore_errors=True)
    print("offline: {} files in {}".format(len(manifest["files"]), into), flush=True)
    return into


def hold_against(stream, manifest, folder):
    # type: (zipfile.ZipFile, Dict[str, Any], Optional[Path]) -> None
    """Check every file's size and sha256, and write the file itself below the folder where one is given."""
    for name in sorted(manifest["files"]):
        listed = manifest["files"][name]
        target = None
        if folder is not None:
            target = folder.joinpath(*name.split("/"))
            target.parent.mkdir(parents=True, exist_ok=True)
        digest, size = hashlib.sha256(), 0
        with stream.open(name) as source, Path(target or os.devnull).open("wb") as out:
            for block in iter(lambda: source.read(1 << 20), b""):
                size += len(block)
                if size > listed["bytes"]:
                    break
                digest.update(block)
                out.write(block)
        if size != listed["bytes"] or digest.hexdigest() != listed["sha256"]:
            raise Refused(f"{name} is not what was packed", "Copy the archive again and compare it with its .sha256.")
        if target is not None:
            target.chmod(0o755 if listed.get("executable") else 0o644)


def set_up(into):
    # type: (Path) -> int
    """Run the project's own set-up; pip finds the wheels and asks no index, whatever its settings say."""
    env = {name: value for name, value in os.environ.items() if not name.upper().startswith("PIP_")}
    env.pop("ASCEND_WORKBOOK_MIRROR", None)
    env.update(PIP_NO_INDEX="1", PIP_FIND_LINKS=(into / "wheels").as_uri(), PIP_CONFIG_FILE=os.devnull)
    code = subprocess.call(
        [sys.executable, str(into / "tools" / "bootstrap.py"), "--venv", ".venv"], cwd=str(into), env=env
    )
    if code == 0:
        print(f"offline: ready. cd {into} && make run")
    return 2 if code else 0


if __name__ == "__main__":
    sys.exit(main(Path(__file__).absolute().parent, sys.argv[1:]))
