"""Version texts of CANN, driver and torch_npu, and what the vendor pairs with what.

`packaging` rejects `8.3.RC1.alpha002`, `8.0.T63` and `24.1.rc3.7`, so they are read here. The pairs are data
(compatibility.json beside this file, with sources): what is in no list is `not_listed`, never `wrong`.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

#: From early to final: a test build, a release candidate, the release, a post release.
STAGES = {"t": 0, "rc": 1, "": 2, "post": 3}
#: Within a stage: `8.3.RC1.alpha002` comes before `8.3.RC1`; npu-smi's `26.1.0.b061` is a beta build.
PREVIEWS = {"dev": 0, "a": 1, "alpha": 1, "b": 2, "beta": 2, "": 3}


#: A key that sorts: numbers, stage, numbers of the stage, preview, number of the preview.
Version = tuple[tuple[int, ...], int, tuple[int, ...], int, int]


class NotAVersion(ValueError):
    """The text is not a version number."""


@lru_cache(4096)
def parse_version(text: str) -> Version:
    """Return the key that sorts versions; up to three numbers are filled: `8.3.RC1` is a candidate of `8.3.0`.

    `8.3.RC1.alpha002` < `8.3.RC1` < `8.3.0`; a local part (`2.13.0+cpu`) is left out.
    Raises NotAVersion for anything else, such as the inner version `V100R001C23`.
    """
    plain = text.strip().lower().split("+")[0]
    if not re.fullmatch(r"\d+(?:[.\-_]?(?:\d+|(?:t|rc|post|dev|a|alpha|b|beta)(?![a-z])))*", plain, re.ASCII):
        raise NotAVersion(text)
    numbers: dict[str, list[int]] = {"": []}
    part = ""
    for token in re.findall(r"\d+|[a-z]+", plain):
        if token.isdigit():
            numbers[part].append(int(token))
        else:
            part = token
            numbers[part] = []
    stage = next((name for name in STAGES if name and name in numbers), "")
    preview = next((name for name in PREVIEWS if name and name in numbers), "")
    return (
        tuple(numbers[""] + [0] * (3 - len(numbers[""]))),
        STAGES[stage],
        tuple(numbers[stage]) if stage else (),
        PREVIEWS[preview],
        next(iter(numbers[preview]), 0) if preview else 0,
    )


def base_version(text: str) -> str:
    """Return the first three numbers: torch's own version behind `2.7.1.post8`."""
    return ".".join(str(number) for number in parse_version(text)[0][:3])


def is_within(text: str, listed: str) -> bool:
    """Return whether a version belongs to what a list names: `8.5` covers 8.5.0 and 8.5.2, `25.3.RC1` only itself."""
    if re.fullmatch(r"\d+\.\d+", listed):
        return parse_version(text)[0][:2] == parse_version(listed)[0][:2]
    return parse_version(text) == parse_version(listed)


@cache
def load_compatibility() -> dict[str, Any]:
    """Return the lists of versions that fit together, and their sources."""
    data: dict[str, Any] = json.loads(Path(__file__).with_name("compatibility.json").read_text(encoding="utf-8"))
    return data


@dataclass(frozen=True)
class Together:
    """Versions that belong together, by the vendor's lists. What no list names is empty; `state` is that of the line
    (development, maintenance, end_of_life, unreleased) until `until` (a date, or empty)."""

    torch: str
    torch_npu: str
    cann: str
    driver: str
    python: tuple[str, ...]
    state: str
    until: str


def versions_together(torch: str, torch_npu: str, cann: str) -> Together:
    """Return a pair (`cann` may be empty) with the newest driver that CANN names for it, and the Python versions that
    both architectures have wheels for."""
    listed = load_compatibility()["drivers"] if cann else []
    rows = [row for row in listed if is_within(cann, row["cann"]) and row["level"] == "paired"]
    paired = sorted((name for row in rows for name in row["driver"]), key=parse_version)
    arm, intel = (find_wheel(torch_npu, arch) for arch in ("aarch64", "x86_64"))
    python = tuple(name for name in arm["python"] if name in intel["python"]) if arm and intel else ()
    line = load_compatibility()["lines"].get(base_version(torch), {})
    driver = paired[-1] if paired else ""
    return Together(torch, torch_npu, cann, driver, python, line.get("state", ""), line.get("until", ""))


def recommended_versions() -> Together:
    """Return what the vendor recommends to whoever starts today."""
    row = load_compatibility()["recommended"]
    return versions_together(row["torch"], row["torch_npu"], row["cann"])


def newest_of_each_line() -> list[Together]:
    """Return for each torch that a torch_npu was paired with the newest torch_npu and its newest CANN, by torch."""
    ordered = sorted(load_compatibility()["pairs"], key=lambda pair: _rank(pair, "cann", "torch_npu"))
    best = {base_version(pair["torch"]): pair for pair in ordered}
    pairs = sorted(best.values(), key=lambda pair: parse_version(pair["torch"]))
    return [versions_together(pair["torch"], pair["torch_npu"], pair["cann"]) for pair in pairs]


def unpaired_versions() -> list[Together]:
    """Return what is published ahead of a CANN that the vendor pairs with it (`cann` is empty), by torch."""
    return [
        versions_together(base_version(name), name, "")
        for name in sorted(load_compatibility()["early"]["torch_npu"], key=parse_version)
    ]


def pair_torch(torch: str, torch_npu: str) -> str:
    """Return `matches` or `wrong`: torch_npu's wheels require torch of exactly their own first three numbers."""
    return "matches" if base_version(torch) == base_version(torch_npu) else "wrong"


def pair_cann(torch_npu: str, cann: str) -> str:
    """Return `recommended`, `compatible`, `outside` (this torch_npu is listed, with other CANNs) or `not_listed`."""
    listed = _rows_of("pairs", "torch_npu", torch_npu)
    if not listed:
        return "not_listed"
    if any(parse_version(pair["cann"]) == parse_version(cann) for pair in listed):
        return "recommended"
    adapter = listed[0]["adapter"]  # unknown for the oldest
    ranges = [entry for entry in load_compatibility()["ranges"] if adapter and _list_covers(entry["adapter"], adapter)]
    if any(_list_covers(entry["cann"], cann) for entry in ranges):
        return "compatible"
    return "outside" if ranges else "not_listed"


def pair_driver(cann: str, driver: str) -> str:
    """Return `recommended`, `compatible`, `outside` (other drivers are listed for this CANN) or `not_listed`."""
    rows = [row for row in load_compatibility()["drivers"] if is_within(cann, row["cann"])]
    fitting = [row for row in rows if _list_covers(row["driver"], driver)]
    if fitting:
        return "recommended" if any(row["level"] == "paired" for row in fitting) else "compatible"
    return "outside" if rows else "not_listed"


def drivers_for(cann: str) -> list[str]:
    """Return the drivers listed for a CANN, newest first."""
    listed = {name for row in load_compatibility()["drivers"] if is_within(cann, row["cann"]) for name in row["driver"]}
    return sorted(listed, key=lambda name: (parse_version(name), name), reverse=True)


def cann_for(torch_npu: str) -> list[str]:
    """Return the CANN versions paired with this torch_npu."""
    return [pair["cann"] for pair in _rows_of("pairs", "torch_npu", torch_npu)]


def torch_npu_for(cann: str, torch: str = "") -> list[str]:
    """Return the torch_npu versions paired with this CANN (and, where given, with this torch), newest first."""
    pairs = _rows_of("pairs", "cann", cann)
    fitting = [pair["torch_npu"] for pair in pairs if not torch or base_version(pair["torch"]) == base_version(torch)]
    return sorted(fitting, key=parse_version, reverse=True)


def nearest_pair(torch: str, cann: str, python: str, arch: str, glibc: str) -> str:
    """Return the published pair closest to what is here, as `torch==… torch_npu==…`; an empty text where none fits.

    It fits this CANN (where one is given), and wheels of it exist for this Python, architecture and C library. Among
    those the same torch, else the nearest before it, else the nearest after. Raises NotAVersion.
    """
    minor = ".".join(python.split(".")[:2])
    fitting = []
    for pair in _rows_of("pairs", "cann", cann) if cann else load_compatibility()["pairs"]:
        published = find_wheel(pair["torch_npu"], arch)
        old = glibc and published and parse_version(glibc) < parse_version(published["glibc"])
        if published and minor in published["python"] and not old:
            fitting.append(pair)
    if not fitting:
        return ""
    wanted = parse_version(torch or load_compatibility()["recommended"]["torch"])[0]
    same = [pair for pair in fitting if parse_version(pair["torch"])[0] == wanted]
    before = [pair for pair in fitting if parse_version(pair["torch"])[0] < wanted]
    nearest, group = (max, same or before) if same or before else (min, fitting)
    best = nearest(group, key=lambda pair: _rank(pair, "torch", "torch_npu"))
    return f"torch=={best['torch']} torch_npu=={best['torch_npu']}"


def find_wheel(torch_npu: str, arch: str) -> dict[str, Any] | None:
    """Return Python versions and the lowest glibc of the published wheels, or None where no wheel is listed."""
    return next((row.get(arch) for row in _rows_of("wheels", "torch_npu", torch_npu)), None)


def _rows_of(name: str, column: str, version: str) -> list[dict[str, Any]]:
    """Return the rows of a list that have this version in a column."""
    return [row for row in load_compatibility()[name] if parse_version(row[column]) == parse_version(version)]


def _rank(pair: dict[str, str], *columns: str) -> list[Version]:
    return [parse_version(pair[column]) for column in columns]


def numpy_below(cann: str) -> str | None:
    """Return the first numpy that this CANN's Python parts do not take, or None."""
    rows = [row for row in load_compatibility()["numpy"] if parse_version(cann) >= parse_version(row["cann_from"])]
    below: str | None = rows[0]["numpy_below"] if rows else None
    return below


def _list_covers(listed: list[str], version: str) -> bool:
    return any(is_within(version, name) for name in listed)
