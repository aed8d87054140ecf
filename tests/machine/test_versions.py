"""Version texts sort as the vendor counts them; pairs are judged by the published lists only."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ascend_workbook.machine import versions

IN_ORDER = (
    "5.0.RC2",
    "6.3.RC3",
    "6.3.RC3.1",
    "7.0.0",
    "8.0.T63",
    "8.0.RC1",
    "8.0.RC3.alpha003",
    "8.0.RC3",
    "8.0.0",
    "8.3.RC1.alpha002",
    "8.3.RC1",
    "8.3.RC2",
    "8.5.0.alpha001",
    "8.5.0",
    "8.5.2",
    "9.0.0.beta2",
    "9.0.0",
    "9.1.0-beta.1",
    "9.1.0",
)
DRIVERS = ("24.1.rc2", "24.1.rc3", "24.1.rc3.7", "24.1.0", "25.3.rc1", "25.5.0", "26.1.0.b061", "26.1.0")
TORCH_NPU = ("2.1.0.rc1", "2.1.0", "2.1.0.post3", "2.1.0.post17.dev20251010", "2.1.0.post17", "2.13.0rc1", "2.13.0")
PREVIEWS = ("8.5.0.dev2", "8.5.0.alpha1", "8.5.0.b1", "8.5.0.beta2", "8.5.0", "8.5.0.post1")


@pytest.mark.parametrize("texts", [IN_ORDER, DRIVERS, TORCH_NPU, PREVIEWS])
def test_versions_sort(texts: tuple[str, ...]) -> None:
    keys = [versions.parse_version(text) for text in texts]
    assert keys == sorted(keys) and len(set(keys)) == len(keys)


@pytest.mark.parametrize("text", ["", "V100R001C23SPC002B210", "nightly", "8.3.RCx", "8..0", "8.0.RC1 ", "８.０"])
def test_what_is_no_version(text: str) -> None:
    if text.strip() != text:
        assert versions.parse_version(text) == versions.parse_version(text.strip())
        return
    with pytest.raises(versions.NotAVersion):
        versions.parse_version(text)


@given(st.text(max_size=30))
def test_any_text_is_a_version_or_refused(text: str) -> None:
    try:
        key = versions.parse_version(text)
    except versions.NotAVersion:
        return
    assert key[0] and key == versions.parse_version(text.upper())


@given(st.integers(1, 30), st.integers(0, 9), st.integers(1, 9), st.integers(1, 999))
def test_stages_come_in_order(major: int, minor: int, rc: int, alpha: int) -> None:
    base = f"{major}.{minor}"
    texts = [f"{base}.T{alpha}", f"{base}.RC{rc}.alpha{alpha:03}", f"{base}.RC{rc}", f"{base}.RC{rc + 1}", f"{base}.0"]
    keys = [versions.parse_version(text) for text in texts]
    assert keys == sorted(keys) and len(set(keys)) == len(keys)
    assert (
        versions.parse_version(f"{base}.0+cpu") == versions.parse_version(f"{base}.0")
        and versions.base_version(f"{base}.0") == f"{base}.0"
    )


@pytest.mark.parametrize(
    ("torch_npu", "cann", "expected"),
    [
        ("2.12.0", "9.1.0", "recommended"),
        ("2.7.1.post2", "8.5.0", "recommended"),
        ("2.12.0", "8.5.2", "compatible"),
        ("2.6.0", "8.0.RC2", "compatible"),
        ("2.12.0", "8.0.0", "outside"),
        ("2.6.0", "9.1.0", "outside"),
        ("2.4.0", "8.0.RC3", "recommended"),
        ("2.4.0", "8.3.RC1", "not_listed"),
        ("2.13.0", "9.1.0", "not_listed"),
        ("2.12.0.post3", "9.1.0", "not_listed"),
    ],
)
def test_torch_npu_and_cann(torch_npu: str, cann: str, expected: str) -> None:
    assert versions.pair_cann(torch_npu, cann) == expected


@pytest.mark.parametrize(
    ("torch", "torch_npu", "expected"),
    [
        ("2.13.0+cpu", "2.13.0", "matches"),
        ("2.7.1", "2.7.1.post8", "matches"),
        ("2.7.0", "2.7.1", "wrong"),
        ("2.13.1", "2.13.0", "wrong"),
    ],
)
def test_torch_and_torch_npu(torch: str, torch_npu: str, expected: str) -> None:
    assert versions.pair_torch(torch, torch_npu) == expected


@pytest.mark.parametrize(
    ("cann", "driver", "expected"),
    [
        ("8.5.0", "25.5.0", "recommended"),
        ("8.5.0", "25.3.rc1", "compatible"),
        ("9.1.0", "26.1.0", "recommended"),
        ("8.5.0", "24.1.rc3", "outside"),
        ("8.0.RC3", "24.1.rc3", "not_listed"),
    ],
)
def test_cann_and_driver(cann: str, driver: str, expected: str) -> None:
    assert versions.pair_driver(cann, driver) == expected


def test_wheels_and_numpy() -> None:
    assert versions.find_wheel("2.6.0", "aarch64") == {"python": ["3.9", "3.10", "3.11"], "glibc": "2.28"}
    assert versions.find_wheel("2.6.0", "riscv64") is None and versions.find_wheel("9.9.9", "x86_64") is None
    assert versions.numpy_below("8.5.0") == "2" and versions.numpy_below("9.0.0") is None


def test_the_data_can_be_read_and_names_its_sources() -> None:
    data = versions.load_compatibility()
    for pair in data["pairs"]:
        versions.parse_version(pair["torch_npu"]), versions.parse_version(pair["cann"])
        assert versions.base_version(pair["torch"]) == versions.base_version(pair["torch_npu"]), pair
        assert versions.pair_cann(pair["torch_npu"], pair["cann"]) == "recommended"
    assert len(data["pairs"]) > 50 and len(data["wheels"]) > 60
    assert all(source.startswith("https://") for source in data["sources"].values())
    assert all(row["source"].startswith("https://") for name in ("ranges", "drivers", "numpy") for row in data[name])


def test_lines_agree_with_what_check_warns_of() -> None:
    data = versions.load_compatibility()
    states = {torch: line["state"] for torch, line in data["lines"].items()}
    assert {torch for torch, state in states.items() if state == "end_of_life"} == set(data["end_of_life"])
    assert {torch for torch, state in states.items() if state == "unreleased"} == set(data["early"]["torch_npu"])
    assert {versions.base_version(pair["torch"]) for pair in data["pairs"]} <= states.keys()


def test_what_is_recommended_belongs_together() -> None:
    best = versions.recommended_versions()
    assert versions.pair_torch(best.torch, best.torch_npu) == "matches"
    assert versions.pair_cann(best.torch_npu, best.cann) == "recommended"
    assert versions.pair_driver(best.cann, best.driver) == "recommended"
    assert "3.11" in best.python and best.state == "development"


def test_the_newest_of_each_line() -> None:
    lines = versions.newest_of_each_line()
    by_torch = {line.torch: line for line in lines}
    assert [line.torch for line in lines] == sorted(by_torch, key=versions.parse_version)
    assert (by_torch["2.7.1"].torch_npu, by_torch["2.7.1"].cann) == ("2.7.1.post8", "9.1.0")
    assert by_torch["1.11.0"].state == "end_of_life" and by_torch["1.11.0"].python == ()
    assert "2.13.0" not in by_torch


def test_a_post_release_without_a_number_comes_after_its_release() -> None:
    assert versions.parse_version("2.7.1.post") > versions.parse_version("2.7.1")


def test_a_fourth_number_is_not_torchs() -> None:
    assert versions.base_version("2.7.1.4") == "2.7.1" and versions.base_version("2.7") == "2.7.0"


#: Short lists whose answers can be counted by hand.
PYTHONS = {"python": ["3.9", "3.10"], "glibc": "2.28"}
LISTS = {
    "pairs": [
        {"torch": "2.6.0", "torch_npu": "2.6.0.post2", "cann": "8.5.0"},
        {"torch": "2.6.0", "torch_npu": "2.6.0", "cann": "8.5.0"},
        {"torch": "2.5.1", "torch_npu": "2.5.1", "cann": "8.5.0"},
        {"torch": "2.8.0", "torch_npu": "2.8.0.post1", "cann": "8.5.0"},
        {"torch": "2.8.0", "torch_npu": "2.8.0", "cann": "9.0.0"},
        {"torch": "3.1.0", "torch_npu": "3.1.0", "cann": "9.0.0"},
    ],
    "wheels": [
        {"torch_npu": "2.5.1", "aarch64": PYTHONS, "x86_64": PYTHONS},
        {"torch_npu": "2.6.0", "aarch64": PYTHONS, "x86_64": {"python": ["3.10", "3.11"], "glibc": "2.17"}},
        {"torch_npu": "2.6.0.post2", "aarch64": PYTHONS},
        {"torch_npu": "2.8.0", "aarch64": {"python": ["3.10"], "glibc": "2.31"}},
        {"torch_npu": "2.8.0.post1", "aarch64": PYTHONS},
        {"torch_npu": "3.1.0", "aarch64": PYTHONS},
    ],
    "drivers": [
        {"cann": "8.5", "driver": ["25.3.rc1", "25.5.0"], "level": "paired"},
        {"cann": "8.5.0", "driver": ["26.1.0"], "level": "compatible"},
        {"cann": "9.0.0", "driver": ["27.0.0"], "level": "paired"},
    ],
    "lines": {"2.6.0": {"state": "maintenance", "until": "2026-06-30"}},
    "recommended": {"torch": "2.6.0", "torch_npu": "2.6.0", "cann": "8.5.0"},
    "early": {"torch_npu": ["2.10.0rc1", "2.9.0"]},
    "numpy": [{"cann_from": "9.0.0", "numpy_below": "3"}, {"cann_from": "8.5.0", "numpy_below": "2"}],
}


@pytest.fixture
def lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "load_compatibility", lambda: LISTS)


@pytest.mark.parametrize(
    ("torch", "cann", "python", "arch", "glibc", "expected"),
    [
        ("2.6.0", "8.5.0", "3.10.4", "aarch64", "2.28", "torch==2.6.0 torch_npu==2.6.0.post2"),  # the newest of it
        (
            "2.7.1",
            "8.5.0",
            "3.10.4",
            "aarch64",
            "2.28",
            "torch==2.6.0 torch_npu==2.6.0.post2",
        ),  # before rather than after
        ("2.4.0", "8.5.0", "3.10.4", "aarch64", "2.28", "torch==2.5.1 torch_npu==2.5.1"),  # all are after: the nearest
        ("", "8.5.0", "3.9", "aarch64", "", "torch==2.6.0 torch_npu==2.6.0.post2"),  # what is recommended
        ("3.1.0", "", "3.10", "aarch64", "2.28", "torch==3.1.0 torch_npu==3.1.0"),  # whatever the CANN
        ("3.0.0", "", "3.10", "aarch64", "2.31", "torch==2.8.0 torch_npu==2.8.0.post1"),
        ("2.8.0", "9.0.0", "3.10", "aarch64", "2.30", "torch==3.1.0 torch_npu==3.1.0"),  # 2.8.0 wants glibc 2.31
        ("2.8.0", "9.0.0", "3.10", "aarch64", "2.31", "torch==2.8.0 torch_npu==2.8.0"),
        ("2.8.0", "9.0.0", "3.10", "aarch64", "", "torch==2.8.0 torch_npu==2.8.0"),  # a C library not told
        ("2.8.0", "8.5.0", "3.10", "x86_64", "2.28", "torch==2.6.0 torch_npu==2.6.0"),
        ("2.6.0", "8.5.0", "3.12", "aarch64", "2.28", ""),
        ("2.6.0", "8.0.0", "3.10", "aarch64", "2.28", ""),
    ],
)
def test_the_nearest_pair(
    lists: None, torch: str, cann: str, python: str, arch: str, glibc: str, expected: str
) -> None:
    assert versions.nearest_pair(torch, cann, python, arch, glibc) == expected


def test_what_belongs_together(lists: None) -> None:
    whole = versions.versions_together("2.6.0", "2.6.0", "8.5.0")
    assert (whole.driver, whole.python) == ("25.5.0", ("3.10",))  # a compatible driver is no pair
    assert (whole.state, whole.until) == ("maintenance", "2026-06-30")
    part = versions.versions_together("2.8.0", "2.8.0", "")
    assert (part.driver, part.python, part.state, part.until) == ("", (), "", "")


def test_what_is_listed_for_a_version(lists: None) -> None:
    assert versions.drivers_for("8.5.0") == ["26.1.0", "25.5.0", "25.3.rc1"]
    assert versions.drivers_for("8.5.2") == ["25.5.0", "25.3.rc1"] and versions.drivers_for("7.0.0") == []
    assert versions.cann_for("2.6.0") == ["8.5.0"] and versions.cann_for("2.7.0") == []
    assert versions.torch_npu_for("8.5.0") == ["2.8.0.post1", "2.6.0.post2", "2.6.0", "2.5.1"]
    assert versions.torch_npu_for("8.5.0", "2.6.0+cpu") == ["2.6.0.post2", "2.6.0"]
    assert [versions.numpy_below(cann) for cann in ("8.0.0", "8.5.0", "8.9.0", "9.0.0")] == [None, "2", "2", "3"]
    assert [(line.torch, line.torch_npu, line.cann) for line in versions.newest_of_each_line()] == [
        ("2.5.1", "2.5.1", "8.5.0"),
        ("2.6.0", "2.6.0.post2", "8.5.0"),
        ("2.8.0", "2.8.0", "9.0.0"),  # the newest CANN before the newest torch_npu
        ("3.1.0", "3.1.0", "9.0.0"),
    ]
    assert [(early.torch, early.torch_npu) for early in versions.unpaired_versions()] == [
        ("2.9.0", "2.9.0"),
        ("2.10.0", "2.10.0rc1"),
    ]


def test_a_preview_without_a_number_is_the_first() -> None:
    first, *later = (versions.parse_version(f"8.5.0.dev{number}") for number in (0, 1, 2))
    assert versions.parse_version("8.5.0.dev") == first < later[0] < later[1]


def test_up_to_three_numbers_are_filled() -> None:
    assert [versions.parse_version(text)[0] for text in ("8", "8.5", "8.5.0.1")] == [(8, 0, 0), (8, 5, 0), (8, 5, 0, 1)]
