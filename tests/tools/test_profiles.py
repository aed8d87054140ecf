"""The corpus of profiles: how it is listed, drawn, fetched and judged."""

from __future__ import annotations

import hashlib
import io
import json
import re
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tools.profiles.__main__ import main
from tools.profiles.catalogue import UNLICENSED, ProfileFile, PublicProfile, draw_halves, read_profiles
from tools.profiles.fetching import fetch_profiles, read_from_mirror
from tools.profiles.judging import (
    Judged,
    Label,
    Said,
    analyse_profile,
    describe_case,
    judge_profiles,
    read_labels,
    read_said,
    sum_up,
)

PERMISSIVE = {"MIT", "BSD-3-Clause", "Apache-2.0", "MulanPSL-2.0"}


def test_the_list_is_whole() -> None:
    profiles = read_profiles()
    assert len(profiles) >= 60
    assert len({profile.name for profile in profiles}) == len(profiles)
    for profile in profiles:
        assert re.fullmatch(r"[\w.-]+/[\w.-]+", profile.repository)
        assert re.fullmatch(r"[0-9a-f]{40}", profile.commit)
        assert profile.licence in {*PERMISSIVE, UNLICENSED}
        for file in profile.files:
            assert re.fullmatch(r"[0-9a-f]{64}", file.sha256) and file.bytes > 0


def test_the_halves_are_the_draw() -> None:
    profiles = read_profiles()
    new = [profile for profile in profiles if not profile.known]
    assert {profile.name: profile.half for profile in new} == draw_halves([(it.name, it.group, False) for it in new])
    assert {profile.half for profile in profiles if profile.known} == {"working"}
    working = sum(profile.half == "working" for profile in new)
    assert abs(2 * working - len(new)) <= 2


def test_nothing_of_a_group_is_in_both_halves() -> None:
    halves: dict[str, set[str]] = {}
    for profile in read_profiles():
        halves.setdefault(profile.group, set()).add(profile.half)
    assert [group for group, its in halves.items() if len(its) > 1] == []


def test_what_is_known_and_its_relatives_are_in_the_working_half() -> None:
    halves = draw_halves([("a", "one", True), ("b", "one", False), *((f"c{i}", f"g{i}", False) for i in range(8))])
    assert halves["a"] == halves["b"] == "working"
    assert list(halves.values()).count("working") == 5


def test_a_group_is_not_torn() -> None:
    halves = draw_halves([(f"{group}{i}", group, False) for group in "abcdefgh" for i in range(3)])
    assert all(len({halves[f"{group}{i}"] for i in range(3)}) == 1 for group in "abcdefgh")
    assert set(halves.values()) == {"working", "held"}


def sum_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def mirror(tmp_path: Path) -> tuple[Path, str]:
    """Make a clone with a trace, a folder and an archive; return the folder of clones and the commit."""
    clone = tmp_path / "mirror" / "owner" / "name"
    (clone / "prof" / "rank0").mkdir(parents=True)
    (clone / "trace.json").write_bytes(b"trace")
    (clone / "prof" / "rank0" / "step.csv").write_bytes(b"step")
    with tarfile.open(clone / "all.tar", "w") as archive:
        entry = tarfile.TarInfo("deep/inner.json")
        entry.size = 5
        archive.addfile(entry, io.BytesIO(b"inner"))
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"]):
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
        subprocess.run(["git", *identity, *command], cwd=clone, check=True)
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=clone, check=True, capture_output=True, text=True)
    return tmp_path / "mirror", done.stdout.strip()


def profile_of(commit: str, *files: ProfileFile, root: str = "") -> PublicProfile:
    return PublicProfile("it", "owner/name", commit, "MIT", "cuda", "it", False, "held", files, root or None)


def test_fetched_by_commit(mirror: tuple[Path, str], tmp_path: Path) -> None:
    clones, commit = mirror
    trace = ProfileFile("trace.json", sum_of(b"trace"), 5)
    inner = ProfileFile("all.tar", sum_of(b"inner"), 5, "deep/inner.json")
    step = ProfileFile("prof/rank0/step.csv", sum_of(b"step"), 4)
    read = read_from_mirror(clones)
    for number, (profile, place) in enumerate(
        [
            (profile_of(commit, trace), "it/trace.json"),
            (profile_of(commit, inner), "it/inner.json"),
            (profile_of(commit, step, root="prof"), "it/rank0/step.csv"),
        ]
    ):
        folder = tmp_path / str(number)
        assert list(fetch_profiles([profile], folder, read)) == ["it: fetched"]
        assert (folder / place).is_file()
        assert profile.locate(folder) == (folder / "it" if profile.root else folder / place)
        assert list(fetch_profiles([profile], folder, read)) == ["it: there already"]


@pytest.mark.parametrize(
    ("file", "says"),
    [
        (ProfileFile("trace.json", sum_of(b"other"), 5), "is not what was judged"),
        (ProfileFile("absent.json", sum_of(b"trace"), 5), "has no absent.json"),
        (ProfileFile("all.tar", sum_of(b"inner"), 5, "no.json"), "the archive has no no.json"),
    ],
)
def test_what_differs_is_not_kept(file: ProfileFile, says: str, mirror: tuple[Path, str], tmp_path: Path) -> None:
    clones, commit = mirror
    lines = list(fetch_profiles([profile_of(commit, file)], tmp_path / "out", read_from_mirror(clones)))
    assert len(lines) == 1 and says in lines[0] and lines[0].startswith("it: not fetched")
    assert not (tmp_path / "out").exists()


def test_without_clones_the_command_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fetch", str(tmp_path / "out"), "--half", "held", "--from", str(tmp_path)]) == 1
    assert "no clone of" in capsys.readouterr().out


@pytest.mark.parametrize("half", ["working", "held"])
def test_every_profile_has_its_label(half: str) -> None:
    labels = read_labels(half)
    assert set(labels) == {profile.name for profile in read_profiles(half=half)}
    assert all(label.why.endswith(".") for label in labels.values())


def test_a_strange_word_is_no_label(tmp_path: Path) -> None:
    entry = {"first": ["slow"], "second": [], "where": "", "why": "."}
    (tmp_path / "labels_held.json").write_text(json.dumps({"a": entry}), encoding="utf-8")
    with pytest.raises(ValueError, match="the label of a has"):
        read_labels("held", tmp_path)


def report_of(*causes: tuple[str, str], status: str = "Note") -> dict[str, Any]:
    facts = {"causes": [{"kind": kind, "where": "train.py:3", "confidence": sure} for kind, sure in causes]}
    part = {"findings": [{"rule": "PRF316", "status": status}], "facts": facts, "parts": []}
    return {"findings": [], "facts": {}, "parts": [{"findings": [], "facts": None, "parts": []}, part]}


@pytest.mark.parametrize(
    ("report", "said"),
    [
        (report_of(("loading", "sure"), ("python", "unsure")), Said(("loading", "python"), True, "train.py:3")),
        (report_of(("loading", "unsure")), Said(("loading",), False, "train.py:3")),
        (report_of(), Said(("healthy",))),
        (report_of(status="Not looked"), Said(("untold",))),
        ({"findings": [], "parts": []}, Said(("untold",))),
    ],
)
def test_what_a_report_says(report: dict[str, Any], said: Said) -> None:
    assert read_said(report) == said


def case_of(first: str, *causes: str, sure: bool = True) -> Judged:
    return Judged("it", Label(frozenset(first.split()), frozenset(), "", ""), Said(causes, sure))


def test_right_wrong_untold() -> None:
    cases = [
        case_of("loading preprocessing", "preprocessing", "computing"),
        case_of("loading", "computing", "loading"),
        case_of("loading", "computing"),
        case_of("loading", "computing", sure=False),
        case_of("loading", "untold"),
        case_of("untold", "untold"),
        case_of("healthy", "healthy"),
        case_of("healthy", "loading"),
    ]
    assert [case.right for case in cases] == [True, False, False, False, False, True, True, False]
    assert [case.wrong for case in cases] == [False, True, True, False, False, False, False, True]
    assert [case.untold for case in cases] == [False, False, False, True, True, False, False, False]
    assert sum_up(cases) == {
        "cases": 8,
        "first right %": 37.5,
        "first or second right %": 50.0,
        "wrong with confidence %": 37.5,
        "untold %": 25.0,
        "healthy": 2,
        "false alarms": 1,
    }
    told = [describe_case(case).split()[0] for case in cases]
    assert told == ["right", "second", "WRONG", "untold", "untold", "right", "right", "WRONG"]
    assert sum_up([])["first right %"] == 0


def test_judged_where_they_lie(tmp_path: Path) -> None:
    profile = profile_of("0" * 40, ProfileFile("deep/trace.json", sum_of(b""), 1))
    labels = {"it": Label(frozenset({"loading"}), frozenset(), "", "")}
    with pytest.raises(OSError, match="fetch"):
        list(judge_profiles([profile], labels, tmp_path))
    (tmp_path / "it").mkdir()
    (tmp_path / "it" / "trace.json").write_text("{}", encoding="utf-8")
    seen: list[Path] = []

    def analyse(path: Path) -> Said:
        seen.append(path)
        return Said(("loading",))

    assert [case.right for case in judge_profiles([profile], labels, tmp_path, analyse)] == [True]
    assert seen == [tmp_path / "it" / "trace.json"]


def test_what_cannot_be_analysed_is_untold(tmp_path: Path) -> None:
    (tmp_path / "trace.json").write_text("no trace", encoding="utf-8")
    assert analyse_profile(tmp_path / "trace.json") == Said(("untold",))


def test_a_half_is_judged_by_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["judge", str(tmp_path), "--half", "held"]) == 1
    assert "is not there" in capsys.readouterr().out
