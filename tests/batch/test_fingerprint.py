"""A stage's result depends on what its environment says, but not on which of the cards it is given."""

from __future__ import annotations

from pathlib import Path
from typing import Callable

import pytest

from ascend_workbook.batch.fingerprint import SOURCES, hash_parts, join_hashes
from tests.conftest import ROOT


@pytest.mark.parametrize(
    "name, before, after, same",
    [
        ("HCCL_DETERMINISTIC", "false", "true", False),
        ("PYTORCH_NPU_ALLOC_CONF", "", "expandable_segments:True", False),
        ("ASCEND_RT_VISIBLE_DEVICES", "0", "3", True),
        ("ASCEND_RT_VISIBLE_DEVICES", "0", "0,1", False),
        ("SSH_TTY", "/dev/pts/0", "/dev/pts/1", True),
    ],
)
def test_what_the_environment_says(
    notebooks: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, name: str, before: str, after: str, same: bool
) -> None:
    book = next((notebooks(environment="good") / "en").glob("*.ipynb"))
    keys = []
    for value in (before, after):
        monkeypatch.setenv(name, value)
        keys.append(join_hashes(hash_parts(book, {}, {})))
    assert (keys[0] == keys[1]) == same


@pytest.mark.parametrize("place", ["ascend_workbook/page", "ascend_simulator/native/kernels"])
def test_a_changed_style_or_table_is_changed_code(place: str) -> None:
    folder = ROOT / place
    kinds = {path.suffix for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"}
    assert len(kinds) > 2 and kinds <= {*SOURCES}
