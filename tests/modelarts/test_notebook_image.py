"""A notebook opened in the imitated image: alone or in a checkout, with another torch than ours, a full disk, a proxy;
and the commands of docs/modelarts-notebook.md."""

from __future__ import annotations

import re
import shlex
import shutil
import socketserver
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

from ascend_workbook.modelarts import imitation
from tests.conftest import ROOT
from tests.modelarts import image
from tests.notebooks.test_sources import build

PAGE = ROOT / "docs" / "modelarts-notebook.md"
PAGES = sorted((ROOT / "docs").glob("modelarts-notebook*.md"))
ONE = "01_environment.ipynb"
#: What the set-up cell does once it has read the notebook that it stands in.
FIRST = f"lang = 'en'\nexec({build.finder()!r}, {{}})\n{build.SET_UP.splitlines()[-1]}"


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """One that ma-user may enter: pytest's own are closed to others."""
    made = Path(tempfile.mkdtemp(prefix="notebook-image-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture(scope="module")
def repository(folder: Path, other: image.Image) -> Path:
    """A checkout that the image's user may read and clone."""
    made = image.clone(folder / "repository" / "ascend-workbook")
    if shutil.which("git"):
        names = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
        for words in (["init", "-q"], ["add", "-A"], [*names, "commit", "-qm", "one"]):
            subprocess.run(["git", *words], cwd=made, check=True)
    if other.who.user is not None:
        subprocess.run(["chown", "-R", f"{imitation.USER}:{imitation.GROUP}", str(made)], check=True)
    return made


@pytest.fixture(scope="module")
def packed(folder: Path, repository: Path) -> Path:
    """The workbook as a .zip with one folder in it."""
    packed = Path(shutil.make_archive(str(folder / "ascend-workbook"), "zip", repository.parent))
    packed.chmod(0o644)
    return packed


@pytest.fixture(scope="module")
def other(folder: Path) -> image.Image:
    """The image, with the pair's metadata of another torch, and without two packages of ours."""
    made = image.make(folder / "other")
    for name, version in (("ipywidgets", "8.1.9"), ("msgspec", "0.20.0")):
        image.wheel(made.wheels, name, version)
    return made


@pytest.fixture
def found(repository: Path) -> dict[str, str]:
    """Where the workbook is, so that it need not be fetched."""
    return {"ASCEND_WORKBOOK_HOME": str(repository)}


def untouched(other: image.Image) -> bool:
    """Nothing came, nothing went."""
    here = {path.name.partition("-")[0] for path in other.layout.site.glob("*.dist-info") if not path.is_symlink()}
    return here == set(image.PAIR) and other.versions() == image.PAIR and not list(other.work.iterdir())


def test_without_a_source_nothing_is_touched(other: image.Image) -> None:
    done = other.python(FIRST)
    assert done.returncode and "git clone URL" in done.stdout and untouched(other)


def test_a_package_that_needs_another_torch_is_refused(other: image.Image, found: dict[str, str]) -> None:
    wheels = other.layout.root / "wheels-of-another"
    wheels.mkdir()
    image.wheel(wheels, "ipywidgets", "8.1.9", ["torch>=2.9"])
    for name, version in (("msgspec", "0.20.0"), ("torch", "2.13.0")):
        image.wheel(wheels, name, version)
    done = other.python(FIRST, {**found, "PIP_FIND_LINKS": str(wheels)})
    assert done.returncode and "while all that is installed stays" in done.stdout and untouched(other), done.stdout


def test_the_kernel_without_an_engine_is_the_wrong_one(other: image.Image, found: dict[str, str]) -> None:
    done = other.run([str(other.base), "-c", FIRST], extra=found)
    assert done.returncode and "it is the wrong kernel" in done.stdout and "PyTorch-2.x" in done.stdout, done.stdout
    assert not list(other.base.parents[1].rglob("msgspec*"))


def test_a_disk_that_is_nearly_full_is_told_before_pip_begins(other: image.Image, found: dict[str, str]) -> None:
    """TMPDIR on a tmpfs of 8 MiB: really short of room."""
    if other.who.user is None:
        pytest.skip("mounting and becoming another user take root")
    small = other.layout.root / "small"
    small.mkdir()
    mount = ["unshare", "-m", "sh", "-c", f'mount -t tmpfs -o size=8m,mode=777 tmpfs "{small}" && exec "$@"', "_"]
    words = [*mount, *other.who.make_command([str(other.layout.python), "-c", FIRST])]
    done = subprocess.run(
        words,
        cwd=other.work,
        env=other.environment({**found, "TMPDIR": str(small)}),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if "mount:" in done.stdout:
        pytest.skip("a tmpfs cannot be mounted here")
    assert done.returncode and "MiB free, and the packages need" in done.stdout and str(small) in done.stdout
    assert untouched(other)


class Proxy(socketserver.StreamRequestHandler):
    """Writes down what it is asked for, and refuses."""

    asked: list[str] = []

    def handle(self) -> None:
        self.asked.append(self.rfile.readline().decode("ascii", "replace").strip())
        self.wfile.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")


def test_pip_goes_through_the_proxy_and_its_refusal_is_told(other: image.Image, found: dict[str, str]) -> None:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Proxy) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_address[1]}"
        index = {"PIP_NO_INDEX": "0", "PIP_FIND_LINKS": "", "PIP_INDEX_URL": "https://pypi.example.com/simple"}
        done = other.python(FIRST, {**found, **index, "http_proxy": address, "https_proxy": address})
        server.shutdown()
    assert any(line.startswith("CONNECT pypi.example.com:443 HTTP/1.") for line in Proxy.asked)
    assert done.returncode and "set http_proxy and https_proxy" in done.stdout and untouched(other), done.stdout


def test_one_file_alone_fetches_the_rest_and_keeps_the_pair(other: image.Image, packed: Path) -> None:
    """The last of these: afterwards the packages are there."""
    done = other.python(FIRST, {"ASCEND_WORKBOOK_SOURCE": str(packed)})
    assert done.returncode == 0 and "added: ipywidgets 8.1.9, msgspec 0.20.0" in done.stdout, done.stdout
    assert other.versions() == image.PAIR and not imitation.was_sudo_called(other.layout)
    assert (other.work / "ascend-workbook" / "ascend-workbook" / "ascend_workbook").is_dir()
    again = other.python(FIRST)
    assert again.returncode == 0 and again.stdout == "", again.stdout


def blocks(page: Path) -> list[str]:
    """Lines of the page's blocks of commands, up to the part on no network, which test_no_network.py runs."""
    text, _, _ = page.read_text(encoding="utf-8").partition("\n## 8. ")
    return [line for block in re.findall(r"```bash\n(.*?)```", text, re.S) for line in block.splitlines()]


def run_page(made: image.Image, repository: Path, limit_s: float, without: tuple[str, ...] = ()) -> str:
    """The page's commands from its beginning, in one shell; what they wrote."""
    left_out = ("# not tried", *without)
    lines = [line for line in blocks(PAGE) if not any(one in line for one in left_out)]
    assert len(lines) >= 11
    script = "set -e -o pipefail\n" + "".join(f"echo '$' {shlex.quote(line)}\n{line}\n" for line in lines)
    done = made.run(["bash", "-c", script], extra={"ASCEND_WORKBOOK_SOURCE": f"file://{repository}"}, limit_s=limit_s)
    assert done.returncode == 0, done.stdout[-4000:]
    return done.stdout


@pytest.mark.skipif(not shutil.which("git"), reason="there is no git")
def test_the_pages_short_commands_run(folder: Path, repository: Path, packed: Path) -> None:
    """Those that train nothing, compute nothing and install nothing; the workbook comes from the .zip."""
    assert all(len(blocks(page)) == len(blocks(PAGE)) >= 15 for page in PAGES)
    made = image.make(folder / "short", absent=(), pair={})
    shutil.copy(packed, made.work)
    said = run_page(made, repository, 120, ("git clone", "papermill", "ascend_workbook check", "results.zip"))
    assert "PyTorch-2.7.1" in said and re.search(r"^torch +2\.", said, re.M)
    assert (made.work / "ascend-workbook" / "notebooks").is_dir()


@pytest.mark.full
def test_the_page_runs_from_its_beginning_to_its_end(folder: Path, repository: Path, packed: Path) -> None:
    made = image.make(folder / "long", absent=("msgspec",), pair={})
    image.wheel(made.wheels, "msgspec", "0.20.0")
    shutil.copy(packed, made.work)
    assert "added: msgspec 0.20.0" in run_page(made, repository, 600, ("zipfile -e",))
    ran = nbformat.read(made.work / "ascend-workbook" / "01.ipynb", 4)
    assert all(cell.execution_count for cell in ran.cells if cell.cell_type == "code")
    assert (made.work / "results.zip").stat().st_size > 10_000


@pytest.mark.full
def test_notebook_one_alone_runs_headless_as_ma_user(folder: Path, packed: Path) -> None:
    """The one file in the folder that is kept, the image's kernel, papermill; the workbook comes from the .zip."""
    made = image.make(folder / "alone", absent=(), pair={})
    shutil.copy(ROOT / "notebooks" / "zh" / ONE, made.work)
    words = [str(made.layout.python), "-m", "papermill", "-k", image.KERNEL, ONE, "out.ipynb"]
    done = made.run(words, extra={"ASCEND_WORKBOOK_SOURCE": str(packed)}, limit_s=600)
    assert done.returncode == 0, done.stdout[-4000:]
    results = made.work / "ascend-workbook" / "ascend-workbook" / "runs" / "notebook" / "environment"
    page = results.parent / "index.html"
    assert page.is_file() and (results / "report.json").is_file()
    if made.who.user is not None:
        assert page.stat().st_uid == imitation.USER
