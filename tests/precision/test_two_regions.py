"""The page docs/two-regions.md, run: two folders for two machines, a folder for the object store, copies for scp.

The GPU's side sees torch, numpy and msprobe, and neither torch_npu nor other packages of the project.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.conftest import ROOT

PAGES = [ROOT / "docs" / "two-regions.md", ROOT / "docs" / "two-regions.zh-CN.md"]
SCRIPT = Path(__file__).parent / "data" / "tiny_net.py"
#: What a machine with a GPU need not have; a few of them would be found in this environment.
ABSENT = ("torch_npu", "papermill", "nbformat", "nbclient", "jupytext", "ipywidgets", "libcst", "dask", "transformers")
BLOCK = """
import sys
class Absent:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in {absent}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent)
"""
OBSUTIL = """#!/bin/sh
# cp SOURCE TARGET -f, with a folder for obs://
test "$1" = cp && test "$4" = -f || exit 2
source=$(echo "$2" | sed "s|^obs://|$STORE/|"); target=$(echo "$3" | sed "s|^obs://|$STORE/|")
mkdir -p "$(dirname "$target")" && cp "$source" "$target"
"""
SCP = """#!/bin/sh
# FILES me@npu-host:work/, with a folder for the host
for last; do :; done
test "$last" = me@npu-host:work/ || exit 2
while test $# -gt 1; do cp "$1" "$NPU_WORK" || exit 2; shift; done
"""


def blocks(page: Path) -> list[tuple[str, str]]:
    """(side, commands) in the page's order."""
    return re.findall(r"<!-- run: (gpu|npu) -->\n```bash\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def test_both_languages_give_the_same_commands() -> None:
    assert blocks(PAGES[0]) == blocks(PAGES[1])
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    plain = [re.findall(r"```bash\n(.*?)```", text, re.DOTALL) for text in texts]
    marked = re.findall(r"<!-- (?:run|obs): \w+ -->\n```bash\n(.*?)```", texts[0], re.DOTALL)  # obs: tests/storage
    assert plain[0] == plain[1] and len(marked) > len(blocks(PAGES[0])) > 0
    told = [block.split()[:2] for block in plain[0] if block not in marked]
    assert told == [["git", "clone"], ["install", "-m"]], "what no test runs: a checkout, and a file for the keys"


@pytest.fixture(scope="module")
def regions(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """The folder with both machines after every block was run, and what each printed."""
    folder = tmp_path_factory.mktemp("regions")
    for name in ("gpu", "npu", "store", "bin", "absent"):
        (folder / name).mkdir()
    for side in ("gpu", "npu"):
        shutil.copyfile(SCRIPT, folder / side / "train.py")
    for name, text in (("obsutil", OBSUTIL), ("scp", SCP)):
        (folder / "bin" / name).write_text(text)
        (folder / "bin" / name).chmod(0o755)
    (folder / "absent" / "sitecustomize.py").write_text(BLOCK.format(absent=ABSENT))
    printed = []
    for side, commands in blocks(PAGES[0]):
        path = [str(folder / "absent")] if side == "gpu" else []
        env = {
            **os.environ,
            "PATH": f"{folder / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join([*path, str(ROOT)]),
            "STORE": str(folder / "store"),
            "NPU_WORK": str(folder / "npu"),
        }
        command = commands.replace("--device npu ", "--device npu-simulated ")
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command],
            cwd=folder / side,
            env=env,
            timeout=300,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}"
        printed.append(done.stdout)
    return folder, printed


def test_the_page_runs_from_region_to_region(regions: tuple[Path, list[str]]) -> None:
    folder, printed = regions
    assert (folder / "npu" / "gpu.zip").read_bytes() == (folder / "gpu" / "gpu.zip").read_bytes()
    told = "\n".join(printed)
    assert "no GPU took part (" in told and "steps/s" not in told, "a CPU, and too few steps for a speed"
    assert "ACC284 the baseline is a bundle" in told and "attempts so far: 1" in told
    assert all((folder / "npu" / "runs" / "train" / f"{name}.html").is_file() for name in ("compare", "curves"))
    assert (folder / "npu" / "runs" / "train" / "attempts" / "0001.json").is_file()


def test_a_bundle_is_small_and_private(regions: tuple[Path, list[str]]) -> None:
    folder, _ = regions
    bundle = folder / "gpu" / "gpu.zip"
    assert bundle.stat().st_size < 100_000
    with zipfile.ZipFile(bundle) as archive:
        text = "\n".join(archive.read(name).decode() for name in archive.namelist())
    private = [str(folder), str(ROOT), sys.prefix, os.uname().nodename, str(Path.home() / ".")]
    assert not [word for word in private if len(word) > 5 and word in text]
    assert '"bytes"' in text and "Functional.conv2d.0.forward" in text
