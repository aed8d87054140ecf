"""The corpus of profiles: how it is listed, drawn, fetched and judged."""

from __future__ import annotations

import hashlib
import io
import re
import subprocess
import tarfile
from pathlib import Path

import pytest

from tools.profiles.__main__ import main
from tools.profiles.catalogue import ProfileFile, PublicProfile, draw_halves, read_profiles
from tools.profiles.fetching import fetch_profiles, read_from_mirror

PERMISSIVE = {"MIT", "BSD-3-Clause", "Apache-2.0", "MulanPSL-2.0"}


def test_the_list_is_whole() -> None:
    profiles = read_profiles()
    assert len(profiles) >= 60
    assert len({profile.name for profile in profiles}) == len(profiles)
    for profile in profiles:
        assert re.fullmatch(r"[\w.-]+/[\w.-]+", profile.repository)
        assert re.fullmatch(r"[0-9a-f]{40}", profile.commit)
        assert profile.licence in PERMISSIVE
        for file in profile.files:
            assert re.fullmatch(r"[0-9a-f]{64}", file.sha256) and file.bytes > 0


def test_the_halves_are_the_draw() -> None:
    profiles = read_profiles()
    drawn = draw_halves([(profile.name, profile.group, profile.known) for profile in profiles])
    assert {profile.name: profile.half for profile in profiles} == drawn
    assert abs(len(read_profiles(half="working")) - len(read_profiles(half="held"))) <= 2


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
