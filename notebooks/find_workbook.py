"""Finds the workbook near a notebook, or fetches it from where it is hosted.

Every notebook carries this text in its metadata (notebooks/build.py), and its set-up cell runs it: so it works for one
notebook that was opened alone, before anything of ours is here. Nothing but the standard library is at hand.

ASCEND_WORKBOOK_SOURCE: a git address, a .zip, or an obs:// folder. ASCEND_WORKBOOK_HOME: where it is, or goes.
"""

import importlib
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path


def find_workbook(source):
    """Put the workbook's folder on the path, unless it can be imported; fetch it from `source` where there is none."""
    if importlib.util.find_spec("ascend_workbook"):
        return
    home = Path(os.environ.get("ASCEND_WORKBOOK_HOME", "ascend-workbook")).resolve()
    near = [home, *home.glob("*"), Path.cwd(), *Path.cwd().parents, *Path.home().glob("work/*")]
    if source and not any(map(is_workbook, near)):
        fetch_workbook(source, home)
    sys.path[:0] = [str(folder) for folder in (*near, home, *home.glob("*")) if is_workbook(folder)][:1]
    if not importlib.util.find_spec("ascend_workbook"):
        told = f"设置 ASCEND_WORKBOOK_SOURCE 后重新运行 / set ASCEND_WORKBOOK_SOURCE, or: git clone URL {home}"
        raise ModuleNotFoundError(told)


def is_workbook(folder):
    return (folder / "ascend_workbook" / "cli").is_dir()


def fetch_workbook(source, home):
    """Fetch the workbook into the folder `home`: whole, or not at all."""
    part = Path(f"{home}.part", "new")
    shutil.rmtree(part.parent, ignore_errors=True)  # of a fetch that was killed
    if source.startswith("obs://"):
        importlib.import_module("moxing").file.copy_parallel(source, str(part))
    elif source.endswith(".zip"):
        shutil.unpack_archive(Path(source).expanduser(), part)
    else:
        subprocess.run(["git", "clone", "--depth=1", "--", source, str(part)], check=True)
    part.rename(home)
    part.parent.rmdir()


find_workbook(os.environ.get("ASCEND_WORKBOOK_SOURCE", ""))
