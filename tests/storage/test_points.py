"""A transfer cut off at each thing that it writes or sends: what has a name is whole, the next start ends it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.storage.transfer import manifest
from ascend_workbook.storage.verb import check
from tests.faults.points import DISKS, FAULTS, KILLS, Attack, attack_points
from tests.storage import test_transfer
from tests.storage.conftest import HURRIED, Service
from tests.storage.test_transfer import content, made, up

PART = 1 << 20
FILES = {"a/one": b"1", "a/two": content(5000), "big": content(2 * PART + 9, 1), "empty": b"", "x": content(300_000, 2)}
OPTIONS = ("--part-mib", "1", "--workers", "2")


def tree(root: Path) -> dict[str, bytes]:
    """Files that have their names; beside them may lie a manifest that was being written, which nothing takes."""
    return {name: data for name, data in test_transfer.tree(root).items() if not name.startswith(".transfer.json.")}


def send(service: Service) -> Attack:
    def check_held(here: Path) -> None:
        checked = check(f"{service.place}/{here.name}", patience=HURRIED)
        assert not checked.wrong and checked.files.keys() == FILES.keys() and not checked.beside
        assert not list(service.requests.unfinished_uploads(f"{here.name}/"))

    def check_between(here: Path) -> None:
        """Each object is whole; with a manifest all are."""
        held = [key.partition("/")[2] for key in service.held() if key.startswith(f"{here.name}/")]
        for name in held:
            if name != manifest.NAME:
                data = (
                    service.requests.read_object(f"{here.name}/{name}", 0, len(FILES[name]) or 1)
                    if FILES[name]
                    else b""
                )
                assert data == FILES[name], name
        if manifest.NAME in held:
            check_held(here)

    words = ("ascend-workbook", "storage", "upload", "{here}/in", f"{service.place}/{{name}}", *OPTIONS)
    env = {"FAULTS_SENDS": "1"}
    return Attack(
        words, lambda here: made(here / "in", FILES) and None, check_held, check_between, ("in/**/*",), env=env
    )


def fetch(service: Service) -> Attack:
    up(made(Path(service.folder) / service.bucket, FILES), f"{service.place}/r")
    shutil.rmtree(Path(service.folder) / service.bucket)

    def check_fetched(here: Path) -> None:
        assert tree(here / "out") == FILES and not check(str(here / "out")).wrong

    def check_between(here: Path) -> None:
        for name, data in tree(here / "out").items():
            assert name.endswith(".part") or data == FILES[name], name
        if (here / "out" / manifest.NAME).exists():
            check_fetched(here)
        elif (here / "out").exists() and any((here / "out").iterdir()):
            with pytest.raises(WorkbookError, match="manifest|complete|nothing|empty"):
                check(str(here / "out"))

    words = ("ascend-workbook", "storage", "download", f"{service.place}/r", "{here}/out", *OPTIONS)
    return Attack(words, lambda here: None, check_fetched, check_between)


ATTACKS: dict[str, Callable[[Service], Attack]] = {"upload": send, "download": fetch}


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "fault"),  # an upload writes nothing here: `test_faults.py` has the answers of a service
    [*(("upload", fault) for fault in KILLS), *(("download", fault) for fault in FAULTS[1:])],
)
def test_cut_off(service: Service, tmp_path: Path, name: str, fault: str) -> None:
    hits = attack_points(ATTACKS[name](service), tmp_path, fault, 10 if fault in DISKS else 20)
    print(f"{name}: {hits} points hit by {fault}")


def test_a_download_cut_off_is_fetched_to_its_end(service: Service, tmp_path: Path) -> None:
    """A few points; the others are `full`."""
    attack_points(fetch(service), tmp_path, KILLS[0], 3)
