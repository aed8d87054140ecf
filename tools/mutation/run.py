"""Plants faults in a copy of the tree, one after the other, and runs the tests that run its line."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

from tools.mutation.equivalent import EQUIVALENT
from tools.mutation.operators import ANY_LINE, Mutant, list_mutants
from tools.mutation.parts import Part, list_files

SERVER = Path(__file__).with_name("server.py")
LEFT_OUT = (
    ".git",
    ".venv",
    "build",
    "runs",
    "__pycache__",
    ".*_cache",
    ".hypothesis",
    ".ipynb_checkpoints",
    "*.egg-info",
)
KILLED, SURVIVED, TIMEOUT, EXCUSED = "killed", "survived", "timeout", "equivalent"
#: Seconds for a fault: so many, and so many times what its tests take; those beyond MOST seconds are not run.
LEAST_S, TIMES, MOST_S, RECORDING_S = 60.0, 5.0, 60.0, 3000.0
#: One thread and one hash seed, as the tests have them, from the moment that torch is imported; no plugin of pytest's.
PINNED = {
    "PYTHONHASHSEED": "0",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "ATEN_CPU_CAPABILITY": "default",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
}


@dataclass(frozen=True)
class Outcome:
    """What became of one fault: the test that saw it, and how long that took."""

    part: str
    mutant: Mutant
    line: int
    change: tuple[str, str]
    kind: str
    test: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class Recording:
    """How long each test takes, and file -> line -> the tests that run it."""

    seconds: dict[str, float]
    lines: dict[str, dict[str, list[str]]]

    def choose_tests(self, mutant: Mutant) -> list[str]:
        """List the tests that run the fault's statement: those named after its file first, then the quickest files."""
        first, last = mutant.lines
        tests: set[str] = set()
        for line, names in self.lines.get(mutant.path, {}).items():
            if mutant.lines == ANY_LINE or first <= int(line) <= last:
                tests.update(self._expand_names(names))
        files: dict[str, list[str]] = {}
        for test in self.seconds:  # in their order
            if test in tests:
                files.setdefault(test.partition("::")[0], []).append(test)
        stem = Path(mutant.path).stem
        cost = {file: sum(self.seconds[test] for test in names) for file, names in files.items()}
        chosen: list[str] = []
        total = 0.0
        for file in sorted(files, key=lambda file: (Path(file).stem != f"test_{stem}", cost[file])):
            for test in files[file]:
                total += self.seconds[test]
                if not chosen or total <= MOST_S:
                    chosen.append(test)
        return chosen

    def _expand_names(self, names: Iterable[str]) -> Iterator[str]:
        """Yield tests; a file that a fixture of a wider scope ran for gives all of its tests."""
        for name in names:
            if name.endswith("::"):
                yield from (test for test in self.seconds if test.startswith(name))
            elif name:
                yield name


#: Asks the server to do a job, and returns its answer.
Ask = Callable[[Mapping[str, object]], dict[str, Any]]


class TestsFailed(Exception):
    """The tests fail without any fault."""


def sample_mutants(part: Part, root: Path, count: int, seed: int) -> list[Mutant]:
    """Draw faults of a part until so many are not excused: the same ones for the same seed."""
    sources = {path: (root / path).read_bytes() for path in part.list_sources(root)}
    everything = [mutant for path, source in sources.items() for mutant in list_mutants(path, source)]
    random.Random(f"{seed}:{part.name}").shuffle(everything)
    chosen: list[Mutant] = []
    for mutant in everything:
        if not count:
            break
        if mutant.is_sound(sources[mutant.path]):
            chosen.append(mutant)
            count -= not is_excused(mutant, root)
    return chosen


def is_excused(mutant: Mutant, root: Path) -> bool:
    """Return whether the fault stands in the list of those that change nothing."""
    return (mutant.path, *mutant.lines_changed((root / mutant.path).read_bytes())) in EQUIVALENT


def try_mutants(part: Part, root: Path, mutants: Iterable[Mutant], place: Path) -> Iterator[Outcome]:
    """Yield what becomes of each fault. Raises TestsFailed where the tests fail without any."""
    with start_server(root, place, part.preload) as ask:
        recording = _record_part(part, root, place, ask)
        for mutant in mutants:
            source = (root / mutant.path).read_bytes()
            who = (part.name, mutant, mutant.line_of_fault(source), mutant.lines_changed(source))
            if is_excused(mutant, root):
                yield Outcome(*who, EXCUSED)
                continue
            tests = recording.choose_tests(mutant)
            if not tests:
                yield Outcome(*who, SURVIVED, "no test runs this line")
                continue
            limit = LEAST_S + TIMES * sum(recording.seconds[test] for test in tests)
            files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
            text = mutant.apply_fault(source).decode()
            answer = ask({"path": mutant.path, "text": text, "tests": tests, "files": files, "limit": limit})
            kind = TIMEOUT if answer["code"] is None else KILLED if answer["code"] else SURVIVED
            yield Outcome(*who, kind, answer.get("failed") or "", answer["seconds"])


@contextmanager
def start_server(root: Path, place: Path, preload: Iterable[str] = ()) -> Iterator[Ask]:
    """Copy the tree and start what runs tests in it; gives the function that asks it."""
    tree = place / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(root, tree, symlinks=True, ignore=shutil.ignore_patterns(*LEFT_OUT))
    beside = place / "shared"
    if (root.parent / "shared").exists() and not beside.exists():
        beside.symlink_to((root.parent / "shared").resolve())
    environment = {**os.environ, **PINNED, "PYTHONPATH": str(tree.resolve())}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    process = subprocess.Popen(
        [sys.executable, str(SERVER), *preload],
        cwd=tree,
        env=environment,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )

    def ask_server(job: Mapping[str, object]) -> dict[str, Any]:
        assert process.stdin and process.stdout
        print(json.dumps(job), file=process.stdin, flush=True)
        line = process.stdout.readline()
        if not line:
            raise TestsFailed(f"the process that runs the tests ended by itself with {process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    try:
        yield ask_server
    finally:
        process.kill()
        process.communicate()
        shutil.rmtree(tree, ignore_errors=True)


def _record_part(part: Part, root: Path, place: Path, ask: Ask) -> Recording:
    """Run the part's tests without a fault, or take what the last run of the same code and tests recorded."""
    cached = place / f"{part.name}-{_compute_digest(part, root)}.json"
    if cached.is_file():
        return Recording(**json.loads(cached.read_text(encoding="utf-8")))
    answer = ask({"record": part.list_sources(root), "files": list(part.tests), "limit": RECORDING_S})
    if answer["code"] != 0:
        log = (place / "log.txt").read_text(encoding="utf-8", errors="replace")
        raise TestsFailed(f"the tests of {part.name} fail without a fault:\n{log[-4000:]}")
    content = {"seconds": answer["seconds_of"], "lines": answer["lines"]}
    for old in place.glob(f"{part.name}-*.json"):
        old.unlink()
    cached.write_text(json.dumps(content), encoding="utf-8")
    return Recording(**content)


def _compute_digest(part: Part, root: Path) -> str:
    """Return what names the state of the code and its tests: every Python file beside and below them."""
    folders = {Path(place).parts[0] for place in (*part.sources, *part.tests)}
    digest = hashlib.sha256()
    for file in list_files(root, tuple(sorted(folders))):
        digest.update(f"{file}\0".encode() + (root / file).read_bytes())
    return digest.hexdigest()[:16]
