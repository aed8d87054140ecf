"""Rehearses public training scripts and says how many get a memory answer.

    python -m tools.rehearsals fetch FOLDER                   # the repositories, at the commits of scripts.json
    python -m tools.rehearsals run FOLDER OUT                 # the second set's working half, one script after another
    python -m tools.rehearsals run FOLDER OUT --half held     # the held half
    python -m tools.rehearsals run FOLDER OUT --set 1         # the first set, of which both halves have been looked at
    python -m tools.rehearsals run FOLDER OUT --set 3         # the third set's working half; writes its samples of data
    python -m tools.rehearsals run FOLDER OUT --set 4         # the fourth set's working half
    python -m tools.rehearsals run FOLDER OUT --set 5         # the fifth set's working half
    python -m tools.rehearsals run FOLDER OUT --set 6         # the sixth set's working half
    python -m tools.rehearsals figures OUT                    # what came of it, script by script

FOLDER holds OWNER/NAME as a clone of that repository has it; a script is run only where its checksum is that of the
list. Nothing of it is kept in this repository. OUT gets a folder and a JSON file a script: the answer or the sentence,
seconds, host memory, reads that the rehearsal listed and that a count of its own saw, files larger than 64 MiB."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.machine.launch import Plugin
from ascend_workbook.machine.simulator import simulator_location
from tools.rehearsals.packed import pack_sample

#: Its own names are replaced: every launch gets the count of reads.
rehearsals: Any = import_module("ascend_workbook.planning.rehearsal")
SCRIPTS = Path(__file__).with_name("scripts.json")
COUNTER = Path(__file__).with_name("count_reads.py")
#: Seconds for a whole rehearsal, and the size that no file may have.
LIMIT_S, LARGEST = 300, 64 << 20
FITS, OUT_OF_MEMORY, SENTENCE = "fits", "out of memory", "sentence"


def load_scripts() -> list[dict[str, Any]]:
    """Return the list, each entry with its number."""
    entries = json.loads(SCRIPTS.read_text(encoding="utf-8"))["scripts"]
    return [{**entry, "number": number} for number, entry in enumerate(entries)]


def fetch(folder: Path, source: str) -> None:
    """Fetch each repository at its commit; `source` is where from, with {repository} in it."""
    for entry in load_scripts():
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


def check_script(folder: Path, entry: dict[str, Any]) -> Path:
    """Return the script's path. Raises SystemExit where it is absent or another one."""
    path: Path = folder.absolute() / entry["repository"] / entry["path"]
    if not path.is_file():
        raise SystemExit(f"{path} is not there: {entry['repository']} at {entry['commit']}")
    if hashlib.sha256(path.read_bytes()).hexdigest() != entry["sha256"]:
        raise SystemExit(f"{path} is not the file of commit {entry['commit']}")
    return path


def rehearse_one(path: Path, entry: dict[str, Any], out: Path) -> str:
    """Rehearse one script into OUT; return the error that came in place of a report."""
    words = [*shlex.split(entry["launch"]), str(path), *shlex.split(entry["args"])]
    root = str(path).removesuffix(entry["path"]).rstrip("/")
    words = [word.replace("{repository}", root) for word in words]
    counter = Plugin(COUNTER, {"simulator": str(simulator_location())})
    ordinary, here = rehearsals.make_rehearsal, Path.cwd()
    if "folder" in entry:  # where its authors start it
        os.chdir(Path(root) / entry["folder"])
    rehearsals.make_rehearsal = lambda *args, **kwargs: replace(ordinary(*args, **kwargs), plugins=(counter,))
    try:
        report = rehearsals.rehearse(words[0], words[1:], out=out, timeout_s=LIMIT_S, cures=False)
    except WorkbookError as error:
        return str(error)
    finally:
        rehearsals.make_rehearsal = ordinary
        os.chdir(here)
    content = {"report": json.loads(report.to_json()), "verdict": report.verdict("en")}
    (out / "report.json").write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    return ""


def run_one(folder: Path, out: Path, entry: dict[str, Any]) -> dict[str, Any]:
    """Rehearse one script and say what came of it."""
    number, work = entry["number"], out / str(entry["number"])
    path = check_script(folder, entry)
    if entry["set"] == 3:
        pack_sample(entry["repository"], (folder / entry["repository"]).absolute())
    shutil.rmtree(work, ignore_errors=True)
    started = time.monotonic()
    error = rehearse_one(path, entry, work)
    result = {"number": number, "script": f"{entry['repository']}/{entry['path']}", "args": entry["args"]}
    result |= {"label": entry["label"], "seconds": round(time.monotonic() - started, 1)}
    result |= {"answer": SENTENCE, "said": error} if error else judge(work)
    files = [file for file in work.rglob("*") if file.is_file() and not file.is_symlink()]
    result["large_files"] = [[str(file), size] for file in files if (size := file.stat().st_size) > LARGEST]
    shutil.rmtree(work / "rank0" / "work", ignore_errors=True)
    (out / f"{number}.json").write_text(json.dumps(result, indent=1, ensure_ascii=False), encoding="utf-8")
    return result


def judge(work: Path) -> dict[str, Any]:
    """Return what a rehearsal's folder says: its kind of answer, its first sentence, its reads."""
    content = json.loads((work / "report.json").read_text(encoding="utf-8"))
    report = content["report"]
    first = next(finding for finding in report["findings"] if finding["rule"] == "PLN500")
    key = first.get("key") or first.get("say") or ""
    answer = OUT_OF_MEMORY if key.endswith((".needs", ".out")) else SENTENCE
    answer = FITS if key.endswith((".fits", ".shaped", ".unsure", ".stood_in", ".moved", ".partial")) else answer
    ranks = list(report["facts"]["ranks"].values())
    reads, seen = read_reads(work)
    return {
        "answer": answer,
        "key": key,
        "said": content["verdict"],
        "findings": [finding.get("key") for finding in report["findings"]],
        "host_mib": max((rank.get("host_peak_bytes", 0) for rank in ranks), default=0) >> 20,
        "peak_mib": max((rank.get("peak_bytes", 0) for rank in ranks), default=0) / 2**20,
        "reads": sorted(reads),
        "unlisted": sorted(seen - reads),
    }


def read_reads(work: Path) -> tuple[set[str], set[str]]:
    """Return the places that the rehearsal listed, and those that the count of its own saw."""
    listed, seen = set(), set()
    for file in work.glob("rank*/reads.jsonl"):  # lines as the migrated file has them, both
        for line in file.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            listed.add(f"{Path(entry['file']).name}:{entry['line']}")
    for file in work.glob("rank*/seen.rank*.json"):
        seen |= {f"{Path(name).name}:{line}" for name, line, _ in json.loads(file.read_text(encoding="utf-8"))}
    return listed, seen


def show(results: Sequence[dict[str, Any]]) -> None:
    """Print a line a script, and the figures."""
    for result in results:
        unlisted = f" UNLISTED {result['unlisted']}" if result.get("unlisted") else ""
        large = f" LARGE {result['large_files']}" if result["large_files"] else ""
        expected = f"(expected {result['label']['expects']:8})"
        print(
            f"{result['number']:3} {result['answer']:13} {expected} {result['seconds']:6.1f} s"
            f" {result.get('host_mib', 0):5} MiB {result['script']} {result['args']}\n"
            f"      {result['said'][:300]}{unlisted}{large}"
        )
    counts = Counter(result["answer"] for result in results)
    answers = counts[FITS] + counts[OUT_OF_MEMORY]
    print(f"{answers} of {len(results)} with a memory answer ({answers / max(1, len(results)):.0%}); {dict(counts)}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    get = commands.add_parser("fetch")
    get.add_argument("folder", type=Path)
    get.add_argument("--source", default="https://github.com/{repository}.git")
    run = commands.add_parser("run")
    run.add_argument("folder", type=Path)
    run.add_argument("out", type=Path)
    run.add_argument("--set", type=int, default=2, choices=(1, 2, 3, 4, 5, 6))
    run.add_argument("--half", default="working", choices=("working", "held"))
    run.add_argument("--only", type=int, nargs="*", default=[])
    figures = commands.add_parser("figures")
    figures.add_argument("out", type=Path)
    options = parser.parse_args(arguments)
    if options.command == "fetch":
        fetch(options.folder, options.source)
    elif options.command == "figures":
        files = sorted(options.out.glob("*.json"), key=lambda file: int(file.stem))
        show([json.loads(file.read_text(encoding="utf-8")) for file in files])
    else:
        chosen = [
            entry
            for entry in load_scripts()
            if entry["set"] == options.set and (options.set == 1 or entry["half"] == options.half)
        ]
        results = []
        for entry in chosen:
            if not options.only or entry["number"] in options.only:
                results.append(run_one(options.folder, options.out.absolute(), entry))
                show(results[-1:])
                sys.stdout.flush()
        show(results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
