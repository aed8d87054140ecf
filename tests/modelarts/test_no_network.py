"""An image that reaches no index: the archive of docs/modelarts-notebook.md, part 8, made and used by its commands."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ascend_workbook.machine.packages import STARTERS, read_requirements
from tests.conftest import ROOT
from tests.modelarts import image
from tests.modelarts.test_notebook_image import FIRST, PAGE, PAGES

TAG = f"{'.'.join(map(str, sys.version_info[:2]))}-{platform.machine()}"
ARCHIVE = re.compile(r"ascend-workbook-image-[\d.]+-cp311-aarch64\.zip")
#: No index answers, and none is named.
CLOSED = {"PIP_NO_INDEX": "0", "PIP_FIND_LINKS": "", "PIP_INDEX_URL": "https://127.0.0.1:9/simple"}
pytestmark = pytest.mark.skipif(not (ROOT / ".git").exists(), reason="an archive is made of a git checkout")


def commands(page: Path) -> list[list[str]]:
    """The part's three blocks: in the image, elsewhere, in the image."""
    part = page.read_text(encoding="utf-8").partition("\n## 8. ")[2].partition("\n## ")[0]
    return [block.splitlines() for block in re.findall(r"```bash\n(.*?)```", part, re.S)]


LIST, MAKE, USE = commands(PAGE)


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """One that ma-user may enter: pytest's own are closed to others."""
    made = Path(tempfile.mkdtemp(prefix="no-network-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


@pytest.fixture(scope="module")
def made(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[image.Image, Path]:
    """The image with its list of packages, and the archive that the page's second command makes of it."""
    found = image.make(folder / "image")
    assert found.run(["bash", "-ec", LIST[0]]).returncode == 0
    listed = (found.work / "image.txt").read_text(encoding="utf-8")
    assert "torch==2.7.1" in listed.split() and "msgspec" not in listed
    links = tmp_path_factory.mktemp("links")
    for name, line in read_requirements().items():
        if name not in STARTERS or name == "papermill":
            version = (re.search(r"(?:>=|==)([\d.]+)", line) or ["", "1"])[1]
            image.wheel(links, name, version, ["torch"] if name == "mindstudio_probe" else [])
    image.wheel(links, "torch", "2.7.1")
    (line,) = MAKE
    assert line.startswith("python ")
    words = [
        sys.executable,
        *line.replace("3.11-aarch64", TAG).replace("image.txt", str(found.work / "image.txt")).split()[1:],
        "--out",
        str(folder),
    ]
    env = {**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(links), "PIP_CONFIG_FILE": os.devnull}
    done = subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    archive = Path(done.stdout.strip())
    archive.chmod(0o644)
    return found, archive


def test_both_pages_have_the_same_commands() -> None:
    assert len(PAGES) == 2 and commands(PAGES[0]) == commands(PAGES[1])


def test_the_pages_archive_serves_an_image_without_an_index(made: tuple[image.Image, Path]) -> None:
    found, archive = made
    shutil.copy(archive, found.work)
    python = found.layout.python.parent
    script = "\n".join([f'export PATH="{python}:$PATH"', *USE]).replace("~/work", str(found.work))
    done = found.run(["bash", "-ec", ARCHIVE.sub(archive.name, script)], extra=CLOSED, limit_s=120)
    assert done.returncode == 0 and "added: ipywidgets 8.1, msgspec 0.18" in done.stdout, done.stdout
    assert found.versions() == image.PAIR
    wheels = {path.name.partition("-")[0] for path in (found.work / "ascend-workbook" / "wheels").iterdir()}
    assert wheels == {"ipywidgets", "msgspec"}, "what the image has stays out, torch above all"


@pytest.mark.full
def test_the_first_cell_takes_the_archive_too(made: tuple[image.Image, Path]) -> None:
    """After the archive was unpacked by the commands before: a folder of its own."""
    found, archive = made
    alone = found.work / "alone"
    alone.mkdir()
    if found.who.user is not None:
        shutil.chown(alone, found.who.user)
    for name in ("msgspec", "ipywidgets"):
        for path in [*found.layout.site.glob(f"{name}-*.dist-info")]:
            shutil.rmtree(path)
    extra = {**CLOSED, "ASCEND_WORKBOOK_SOURCE": str(archive), "HOME": str(alone)}
    done = found.run([str(found.layout.python), "-c", FIRST], folder=alone, extra=extra)
    assert done.returncode == 0 and "added: ipywidgets 8.1, msgspec 0.18" in done.stdout, done.stdout
    assert (alone / "ascend-workbook" / "wheels").is_dir()
