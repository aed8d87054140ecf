"""Which keys may become files."""

from __future__ import annotations

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.storage.names import Address, check_together, why_unsafe


@pytest.mark.parametrize("name", ["a", "a/b.txt", "中文/x y+&.txt", "...", "a..b", ".hidden", "-x"])
def test_plain_names_are_safe(name: str) -> None:
    assert not why_unsafe(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "/a",
        "a/",
        "a//b",
        "..",
        "a/../../evil",
        "./a",
        "a\0",
        "a\nb",
        "a\rb",
        "\u202etxt.exe",
        "\udce4",
        "x" * 256,
        "中" * 86,
        "a/" * 512 + "b",
    ],
)
def test_others_are_refused(name: str) -> None:
    assert why_unsafe(name)


def test_parts_of_an_address() -> None:
    address = Address.parse("obs://bucket/runs/night/")
    assert (address.bucket, address.key, address.prefix, address.name) == (
        "bucket",
        "runs/night",
        "runs/night/",
        "night",
    )
    assert (
        str(address.join("a/b/")) == "obs://bucket/runs/night/a/b"
        and str(Address.parse("obs://bucket")) == "obs://bucket"
    )


def test_a_file_that_is_a_folder_too_is_refused() -> None:
    with pytest.raises(WorkbookError, match="a/b is a file and, by a/b/c/d"):
        check_together(["a/b", "a/b.txt", "a/b/c/d"], "here", fold=False)
    check_together(["a/b", "a/b.txt", "a/bc/d"], "here", fold=False)


def test_capitals_matter_where_the_file_system_says_so() -> None:
    check_together(["a/Readme", "a/readme"], "here", fold=False)
    with pytest.raises(WorkbookError, match="are one file here"):
        check_together(["a/Readme", "a/readme"], "here", fold=True)
    with pytest.raises(WorkbookError, match="is a file and"):
        check_together(["A", "a/readme"], "here", fold=True)
