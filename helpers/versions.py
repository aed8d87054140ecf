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


class NotAVersion(ValueError):
    """The text is not a version number."""


@lru_cache(4096)
def parse(text: str) -> tuple[tuple[int, ...], int, tuple[int, ...], int, int]:
    """A key that sorts: (numbers, stage, numbers of the stage, preview, number of the preview).

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
        _padded(numbers[""]),
        STAGES[stage],
        tuple(numbers[stage]) if stage else (),
        PREVIEWS[preview],
        next(iter(numbers[preview]), 0) if preview else 0,
    )


def _padded(numbers: list[int]) -> tuple[int, ...]:
    """`8.3.RC1` is a candidate of `8.3.0`."""
    return tuple(numbers + [0] * (3 - len(numbers)))


def base(text: str) -> str:
    """The first three numbers: torch's own version behind `2.7.1.post8`."""
    return ".".join(str(number) for number in parse(text)[0][:3])


def within(text: str, listed: str) -> bool:
    """Whether a version belongs to what a list names: `8.5` covers 8.5.0 and 8.5.2, `25.3.RC1` only itself."""
    if re.fullmatch(r"\d+\.\d+", listed):
        return parse(text)[0][:2] == parse(listed)[0][:2]
    return parse(text) == parse(listed)


@cache
def compatibility() -> dict[str, Any]:
    """The lists and their sources."""
    file = Path(__file__).with_name("compatibility.json")
    data: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
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


def together(torch: str, torch_npu: str, cann: str) -> Together:
    """A pair (`cann` may be empty) with the newest driver that CANN names for it, and the Python versions that both
    architectures have wheels for."""
    listed = compatibility()["drivers"] if cann else []
    rows = [row for row in listed if within(cann, row["cann"]) and row["level"] == "paired"]
    paired = sorted((name for row in rows for name in row["driver"]), key=parse)
    wheels = [made["python"] for made in (wheel(torch_npu, arch) for arch in ("aarch64", "x86_64")) if made]
    python = tuple(name for name in wheels[0] if all(name in each for each in wheels)) if len(wheels) == 2 else ()
    line = compatibility()["lines"].get(base(torch), {})
    driver = paired[-1] if paired else ""
    return Together(torch, torch_npu, cann, driver, python, line.get("state", ""), line.get("until", ""))


def recommended() -> Together:
    """What the vendor recommends to whoever starts today."""
    row = compatibility()["recommended"]
    return together(row["torch"], row["torch_npu"], row["cann"])


def newest_of_each_line() -> list[Together]:
    """For each torch that a torch_npu was paired with, the newest torch_npu and its newest CANN; by torch."""
    best: dict[str, dict[str, str]] = {}
    for pair in compatibility()["pairs"]:
        kept = best.get(base(pair["torch"]))
        rank = parse(pair["cann"]), parse(pair["torch_npu"])
        if kept is None or rank > (parse(kept["cann"]), parse(kept["torch_npu"])):
            best[base(pair["torch"])] = pair
    pairs = sorted(best.values(), key=lambda pair: parse(pair["torch"]))
    return [together(pair["torch"], pair["torch_npu"], pair["cann"]) for pair in pairs]


def unpaired() -> list[Together]:
    """What is published ahead of a CANN that the vendor pairs with it (`cann` is empty); by torch."""
    return [together(base(name), name, "") for name in sorted(compatibility()["early"]["torch_npu"], key=parse)]


def pair_torch(torch: str, torch_npu: str) -> str:
    """`matches` or `wrong`: torch_npu's wheels require torch of exactly their own first three numbers."""
    return "matches" if base(torch) == base(torch_npu) else "wrong"


def pair_cann(torch_npu: str, cann: str) -> str:
    """`recommended`, `compatible`, `outside` (this torch_npu is listed, with other CANNs) or `not_listed`."""
    listed = [pair for pair in compatibility()["pairs"] if parse(pair["torch_npu"]) == parse(torch_npu)]
    if not listed:
        return "not_listed"
    if any(parse(pair["cann"]) == parse(cann) for pair in listed):
        return "recommended"
    adapter = listed[0]["adapter"]  # unknown for the oldest
    ranges = [entry for entry in compatibility()["ranges"] if adapter and _covers(entry["adapter"], adapter)]
    if any(_covers(entry["cann"], cann) for entry in ranges):
        return "compatible"
    return "outside" if ranges else "not_listed"


def pair_driver(cann: str, driver: str) -> str:
    """`recommended`, `compatible`, `outside` (other drivers are listed for this CANN) or `not_listed`."""
    rows = [row for row in compatibility()["drivers"] if within(cann, row["cann"])]
    fitting = [row for row in rows if _covers(row["driver"], driver)]
    if fitting:
        return "recommended" if any(row["level"] == "paired" for row in fitting) else "compatible"
    return "outside" if rows else "not_listed"


def drivers_for(cann: str) -> list[str]:
    """The drivers listed for a CANN, newest first."""
    listed = {name for row in compatibility()["drivers"] if within(cann, row["cann"]) for name in row["driver"]}
    return sorted(listed, key=parse, reverse=True)


def cann_for(torch_npu: str) -> list[str]:
    """The CANN versions paired with this torch_npu."""
    return [pair["cann"] for pair in compatibility()["pairs"] if parse(pair["torch_npu"]) == parse(torch_npu)]


def torch_npu_for(cann: str, torch: str = "") -> list[str]:
    """The torch_npu versions paired with this CANN (and, where given, with this torch), newest first."""
    pairs = [pair for pair in compatibility()["pairs"] if parse(pair["cann"]) == parse(cann)]
    fitting = [pair["torch_npu"] for pair in pairs if not torch or base(pair["torch"]) == base(torch)]
    return sorted(fitting, key=parse, reverse=True)


def nearest(torch: str, cann: str, python: str, arch: str, glibc: str) -> str:
    """The published pair closest to what is here, as `torch==… torch_npu==…`; an empty text where none fits.

    It fits this CANN (where one is given), and wheels of it exist for this Python, architecture and C library. Among
    those the same torch, else the nearest before it, else the nearest after. Raises NotAVersion.
    """
    minor = ".".join(python.split(".")[:2])
    fitting = []
    for pair in compatibility()["pairs"]:
        made = wheel(pair["torch_npu"], arch)
        if cann and parse(pair["cann"]) != parse(cann):
            continue
        if made and minor in made["python"] and not (glibc and parse(glibc) < parse(made["glibc"])):
            fitting.append(pair)
    if not fitting:
        return ""
    wanted = parse(torch)[0] if torch else parse(compatibility()["recommended"]["torch"])[0]
    same = [pair for pair in fitting if parse(pair["torch"])[0] == wanted]
    before = [pair for pair in fitting if parse(pair["torch"])[0] < wanted]
    group = same or before
    best = max(group, key=_newest) if group else min(fitting, key=_newest)
    return f"torch=={best['torch']} torch_npu=={best['torch_npu']}"


def _newest(pair: dict[str, str]) -> Any:
    return parse(pair["torch"]), parse(pair["torch_npu"])


def wheel(torch_npu: str, arch: str) -> dict[str, Any] | None:
    """Python versions and the lowest glibc of the published wheels, or None where no wheel is listed."""
    listed = (row for row in compatibility()["wheels"] if parse(row["torch_npu"]) == parse(torch_npu))
    row: dict[str, Any] = next(listed, {})
    return row.get(arch)


def numpy_below(cann: str) -> str | None:
    """The first numpy that this CANN's Python parts do not take, or None."""
    rows = [row for row in compatibility()["numpy"] if parse(cann) >= parse(row["cann_from"])]
    below: str | None = rows[0]["numpy_below"] if rows else None
    return below


def _covers(listed: list[str], version: str) -> bool:
    return any(within(version, name) for name in listed)
