"""The list of public profiles that the analysis is judged on: where each is, its checksum, its licence, its half."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

LIST = Path(__file__).with_name("profiles.json")
HALVES = ("working", "held")
#: The seed that the halves of what nobody knew were drawn with.
SEED = 20261128
#: The licence of a repository that names none: such a profile is listed by its address, and never copied.
UNLICENSED = "none named"


@dataclass(frozen=True)
class ProfileFile:
    """One file of a profile: its path in the repository, the member of the archive there if it is in one, and what it
    must be."""

    path: str
    sha256: str
    bytes: int
    member: Optional[str] = None


@dataclass(frozen=True)
class PublicProfile:
    """One profile that somebody published: a file, or a folder of files below `root`."""

    name: str
    repository: str
    commit: str
    licence: str
    kind: str
    group: str
    known: bool
    half: str
    files: tuple[ProfileFile, ...]
    root: Optional[str] = None

    def place_file(self, file: ProfileFile, folder: Path) -> Path:
        """Return where a file of the profile lies below the folder that it is fetched into."""
        inside = file.member or file.path
        if self.root is None:
            return folder / self.name / inside.rsplit("/", 1)[-1]
        return folder / self.name / inside[inside.index(self.root) + len(self.root) :].lstrip("/")

    def locate(self, folder: Path) -> Path:
        """Return what is handed to the analysis: the file, or the folder of a profile that has several."""
        return self.place_file(self.files[0], folder) if self.root is None else folder / self.name


def read_profiles(path: Path = LIST, half: Optional[str] = None) -> list[PublicProfile]:
    """Return the profiles of the list, in its order; those of one half where it is named."""
    profiles = []
    for entry in json.loads(path.read_text(encoding="utf-8"))["profiles"]:
        if half in (None, entry["half"]):
            files = tuple(ProfileFile(**file) for file in entry["files"])
            profiles.append(PublicProfile(**{**entry, "files": files}))
    return profiles


def draw_halves(profiles: Iterable[tuple[str, str, bool]], seed: int = SEED) -> dict[str, str]:
    """Return the half of each profile, of (name, group, known). A known one is in the working half. Groups (ranks of
    one job, one model on two devices) stay together; groups nobody knows are drawn until the halves are equal."""
    entries = sorted(profiles)
    groups: dict[str, list[str]] = {}
    halves = {}
    for name, group, known in entries:
        groups.setdefault(group, []).append(name)
        if known:
            halves[name] = "working"
    unknown = [names for _, names in sorted(groups.items()) if not any(name in halves for name in names)]
    for names in groups.values():
        if any(name in halves for name in names):
            halves.update(dict.fromkeys(names, "working"))
    random.Random(seed).shuffle(unknown)
    for names in unknown:
        halves.update(
            dict.fromkeys(names, "working" if 2 * len(halves_of(halves, "working")) < len(entries) else "held")
        )
    return halves


def halves_of(halves: dict[str, str], half: str) -> Sequence[str]:
    """Return the names that are in a half."""
    return [name for name, its in halves.items() if its == half]
