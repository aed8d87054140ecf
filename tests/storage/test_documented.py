"""The commands of docs/two-regions.md that use obs:// run, in both languages the same."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from ascend_workbook.cli.main import main
from tests.conftest import ROOT
from tests.precision.baselines.bundles import bundle_of, capture_of
from tests.storage.conftest import Service

PAGES = [ROOT / "docs" / name for name in ("two-regions.md", "two-regions.zh-CN.md")]


def blocks(page: Path) -> list[tuple[str, str]]:
    return re.findall(r"<!-- obs: (\w+) -->\n```bash\n(.*?)```", page.read_text(encoding="utf-8"), re.S)


def test_the_commands_run(service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for side in ("gpu", "npu", "any"):
        (tmp_path / side).mkdir()
    bundle_of(capture_of(tmp_path / "capture"), tmp_path / "gpu" / "gpu.zip")
    capture_of(tmp_path / "npu" / "runs" / "npu", tier="npu")
    assert blocks(PAGES[0]) == blocks(PAGES[1]) and len(blocks(PAGES[0])) == 3
    for side, commands in blocks(PAGES[0]):
        monkeypatch.chdir(tmp_path / side)
        for line in commands.splitlines():
            words = shlex.split(line.replace("my-bucket", service.bucket))
            assert words[0] == "ascend-workbook" and main(words[1:]) == 0, line
    assert (tmp_path / "any" / "captures" / "npu" / "transfer.json").is_file()
