"""Arguments lose the folders of one machine, and nothing else."""

from __future__ import annotations

import pytest

from helpers.precision.capturing.portable import portable


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
    assert portable([given]) == [expected]


@pytest.mark.parametrize("kept", ["--lr", "0.1", "data/digits", "../x", "s3://bucket/x", "a/b=/c", "", "-d", "1e-3"])
def test_what_is_no_absolute_path_stays(kept: str) -> None:
    assert portable([kept]) == [kept]
