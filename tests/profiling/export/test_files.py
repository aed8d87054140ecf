"""Files written beside a report never lie over or in a profile."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.profiling import analyse
from tests.profiling.conftest import DATA, WITH_DEVICE

KINETO = next(name for name in WITH_DEVICE if name.endswith(".json"))


def test_a_profile_is_not_overwritten(tmp_path: Path) -> None:
    own = Path(shutil.copy(DATA / KINETO, tmp_path / "own.json"))
    before = own.read_bytes()
    for baseline in (None, DATA / KINETO):
        with pytest.raises(WorkbookError, match="over or in a profile"):
            analyse(own, files={"perfetto": str(tmp_path / "." / "own.json")}, baseline=baseline)
    with pytest.raises(WorkbookError, match="--perfetto"):
        analyse(DATA / KINETO, files={"perfetto": str(own)}, baseline=own)
    assert own.read_bytes() == before
    analyse(own, files={"perfetto": str(tmp_path / "beside.json")})
    assert (tmp_path / "beside.json").is_file()


def test_nothing_is_written_into_a_profiles_folder(tmp_path: Path) -> None:
    folder = tmp_path / "x_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    folder.mkdir(parents=True)
    for target, read in ((folder / "t.html", DATA / KINETO), (tmp_path / "t.html", tmp_path)):
        with pytest.raises(WorkbookError, match="Give a path outside"):
            analyse(read, files={"timeline": str(target)})
        assert not target.exists()
