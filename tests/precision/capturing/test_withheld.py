"""Arguments lose the folders of one machine, and nothing else."""

from __future__ import annotations

import pytest

from ascend_workbook.precision.capturing.withheld import make_portable


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("/home/user/digits", ".../digits"),
        ("/home/user/digits/", ".../digits"),
        ("--data=/home/user/数据", "--data=.../数据"),
        ("~/digits", ".../digits"),
        (r"C:\data\digits", ".../digits"),
    ],
)
def test_absolute_paths_lose_their_folders(given: str, expected: str) -> None:
    assert make_portable([given]) == [expected]


@pytest.mark.parametrize("kept", ["--lr", "0.1", "data/digits", "../x", "s3://bucket/x", "a/b=/c", "", "-d", "1e-3"])
def test_what_is_no_absolute_path_stays(kept: str) -> None:
    assert make_portable([kept]) == [kept]
