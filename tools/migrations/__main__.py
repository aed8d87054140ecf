"""Runs public training repositories small on the simulated NPU, and says how much of what fails the scan said before.

    python -m tools.migrations fetch FOLDER                # the repositories, at the commits of repositories.json
    python -m tools.migrations run FOLDER OUT              # the working half: scan, CPU, NPU under transfer_to_npu
    python -m tools.migrations run FOLDER OUT --migrate    # and `migrate` of each that trains on the CPU
    python -m tools.migrations run FOLDER OUT --held       # the held half, for a release's last run only
    python -m tools.migrations scan FOLDER OUT             # the scans alone, again
    python -m tools.migrations figures OUT                 # what came of it

FOLDER holds OWNER/NAME as a clone of that repository has it; nothing of it is kept here. Data, models and trackers that
are not on this machine are stood in for, nothing that a device lacks is. What is in OUT already is not run again."""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ascend_workbook.migration.repair import class_of
from ascend_workbook.migration.scan import scan
from ascend_workbook.migration.verdict import UNREAD
from tools.migrations.figures import describe_end, gather, show
from tools.migrations.runs import CPU, NPU, migrate_script, run_script

HERE = Path(__file__).parent
WORKING, HELD = "working", "held"


def load_entries(half: str) -> list[dict[str, Any]]:
    """Return the entries of a half in an order drawn by the list's seed, so that those that were run are a sample."""
    content = json.loads((HERE / "repositories.json").read_text(encoding="utf-8"))
    entries = [entry for entry in content["repositories"] if entry["half"] == half]
    random.Random(content["seed"]).shuffle(entries)
    return entries


def load_labels() -> list[dict[str, Any]]:
    """Return the labelled lines."""
    lines: list[dict[str, Any]] = json.loads((HERE / "labels.json").read_text(encoding="utf-8"))["lines"]
    return lines


def fetch(folder: Path, source: str) -> None:
    """Fetch each repository at its commit; `source` is where from, with {repository} in it."""
    for entry in (*load_entries(WORKING), *load_entries(HELD)):
        target = folder / entry["repository"]
        if target.is_dir():
            continue
        target.mkdir(parents=True)
        url = source.format(repository=entry["repository"])
        for words in (
            ["init", "-q"],
            ["fetch", "-q", "--depth=1", url, entry["commit"]],
            ["checkout", "-q", "FETCH_HEAD"],
        ):
            subprocess.run(["git", "-C", str(target), *words], check=True)


def check_script(folder: Path, entry: dict[str, Any]) -> None:
    """Raise SystemExit where the entry script is absent or another one."""
    path = folder / entry["repository"] / entry["path"]
    if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != entry["sha256"]:
        raise SystemExit(f"{path} is not the file of commit {entry['commit']} of {entry['repository']}")


def scan_repository(folder: Path, entry: dict[str, Any]) -> dict[str, Any]:
    """Return the class and rule of each place that the scan speaks of, and the files that it could not read."""
    report = scan(folder / entry["repository"])
    own = [(finding, finding.place) for finding in report.findings if finding.place and class_of(finding)]
    places = sorted({(place.path, place.line, class_of(finding), finding.rule) for finding, place in own})
    unread = [str(finding.args["path"]) for finding in report.findings if finding.key == UNREAD]
    return {"places": places, "unread": unread}


def run_entry(folder: Path, out: Path, entry: dict[str, Any], *, migrating: bool) -> None:
    """Scan an entry, then run it on the CPU, on the NPU as it stands and, if asked, as `migrate` makes it."""
    check_script(folder, entry)
    name = entry["repository"].replace("/", "+")
    keep(out, f"{name}.scan", lambda: scan_repository(folder, entry))
    cpu = keep(out, f"{name}.{CPU}", lambda: run_with_missing(entry, folder, out, CPU, []))
    missing = cpu.get("missing", [])
    if cpu.get("ok"):
        npu = keep(out, f"{name}.{NPU}", lambda: run_with_missing(entry, folder, out, NPU, missing))
        print(f"{name}: {'trains as it stands' if npu.get('ok') else describe_end(npu)}", flush=True)
    else:
        print(f"{name}: not on the CPU: {describe_end(cpu)}", flush=True)
    if cpu.get("ok") and migrating:
        migrated = keep(out, f"{name}.migrate", lambda: migrate_script(entry, folder, out, missing))
        print(f"{name}: migrate: {migrated['verdict']}", flush=True)


def scan_again(folder: Path, out: Path, entry: dict[str, Any]) -> None:
    """Scan an entry, in the place of an earlier scan."""
    check_script(folder, entry)
    name = f"{entry['repository'].replace('/', '+')}.scan"
    (out / "results" / f"{name}.json").unlink(missing_ok=True)
    keep(out, name, lambda: scan_repository(folder, entry))


def run_with_missing(
    entry: dict[str, Any], folder: Path, out: Path, tier: str, missing: Sequence[str]
) -> dict[str, Any]:
    """Run an entry and note which files stood in."""
    stood_in = list(missing)
    return {**run_script(entry, folder, out, tier, stood_in), "missing": stood_in}


def keep(out: Path, name: str, make: Any) -> dict[str, Any]:
    """Return a result that is in OUT; where it is not, make and keep it."""
    path = out / "results" / f"{name}.json"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(make(), indent=1, ensure_ascii=False), encoding="utf-8")
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    get = commands.add_parser("fetch")
    get.add_argument("folder", type=Path)
    get.add_argument("--source", default="https://github.com/{repository}.git")
    for command in ("run", "scan", "figures"):
        added = commands.add_parser(command)
        if command != "figures":
            added.add_argument("folder", type=Path)
        added.add_argument("out", type=Path)
        added.add_argument("--held", action="store_true")
        added.add_argument("--migrate", action="store_true")
        added.add_argument("--only", nargs="*", default=[])
    options = parser.parse_args(arguments)
    if options.command == "fetch":
        fetch(options.folder, options.source)
        return 0
    entries = load_entries(HELD if options.held else WORKING)
    if options.command == "figures":
        show(gather(entries, load_labels(), options.out))
        return 0
    for entry in entries:
        if options.only and entry["repository"] not in options.only:
            continue
        if options.command == "scan":
            scan_again(options.folder, options.out, entry)
        else:
            run_entry(options.folder, options.out.absolute(), entry, migrating=options.migrate)
    return 0


if __name__ == "__main__":
    sys.exit(main())
