"""Runs tests in a copy of the code, each run in a fork of one process that has imported pytest and torch already.

Started by path in the copy's folder, with the names of what takes long to import. Imports nothing of ours, so that
every run imports the copy's modules anew. Reads one job as JSON from each line of stdin, answers with one line.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ARGUMENTS = ("-x", "-q", "-p", "no:cacheprovider", "--no-header", "-o", "addopts=")
POLL_S = 0.005


class Order:
    """Keeps the chosen tests alone, in the order given; notes the first that fails."""

    def __init__(self, chosen: list[str]) -> None:
        self.place = {test: number for number, test in enumerate(chosen)}
        self.failed = ""

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        items[:] = sorted(
            (item for item in items if item.nodeid in self.place), key=lambda item: self.place[item.nodeid]
        )

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed = self.failed or report.nodeid


class Recorder:
    """Records how long each test takes and which lines of the files it runs.

    What a fixture of a wider scope runs counts for every test of the file.
    """

    def __init__(self, files: list[str]) -> None:
        import coverage

        self.files = files
        self.coverage = coverage.Coverage(
            data_file=None, config_file=False, include=[str(Path(f).resolve()) for f in files]
        )
        self.seconds: dict[str, float] = {}

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        began = time.monotonic()
        self.coverage.switch_context(item.nodeid)
        yield
        self.coverage.switch_context("")
        self.seconds[item.nodeid] = time.monotonic() - began

    @pytest.hookimpl(hookwrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Iterator[None]:
        test = request._pyfuncitem.nodeid
        if fixturedef.scope != "function":
            self.coverage.switch_context(f"{test.partition('::')[0]}::")
        yield
        self.coverage.switch_context(test)

    def lines(self) -> dict[str, dict[int, list[str]]]:
        """Return file -> line -> tests."""
        data = self.coverage.get_data()
        return {file: data.contexts_by_lineno(str(Path(file).resolve())) for file in self.files}


def main() -> None:
    """Answer jobs until stdin ends."""
    sys.path[0] = str(Path.cwd())
    for name in sys.argv[1:]:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    _search_without_chance()
    answers = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        print(json.dumps(_answer_job(json.loads(line))), file=answers, flush=True)


def _search_without_chance() -> None:
    """Have hypothesis take the same examples each time, and not shrink what fails."""
    with contextlib.suppress(ImportError):
        from hypothesis import Phase, settings

        settings.register_profile(
            "faults", derandomize=True, database=None, deadline=None, phases=(Phase.explicit, Phase.generate)
        )
        settings.load_profile("faults")


def _answer_job(job: dict[str, Any]) -> dict[str, Any]:
    """Run one job, with the file `path` holding `text` if there is one; `code` is None where `limit` seconds passed."""
    path = Path(job["path"]) if job.get("path") else None
    before = path.read_bytes() if path else b""
    try:
        if path:
            path.write_text(job["text"], encoding="utf-8", newline="")
            for compiled in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):
                compiled.unlink()
        return _run_job(job)
    finally:
        if path:
            path.write_bytes(before)


def _run_job(job: dict[str, Any]) -> dict[str, Any]:
    note = Path("..", "note.json")
    note.unlink(missing_ok=True)
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        _run_fork(job, note)
    code = None
    while time.monotonic() - began < job["limit"]:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            break
        time.sleep(POLL_S)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    if code is None:
        os.waitpid(child, 0)
    answer = json.loads(note.read_text(encoding="utf-8")) if note.is_file() else {}
    return {"code": code, "seconds": time.monotonic() - began, **answer}


def _run_fork(job: dict[str, Any], note: Path) -> None:
    """Run pytest in this fork, and end it."""
    code = 3
    try:
        os.setsid()
        note = note.resolve()
        log = os.open(Path("..", "log.txt"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for stream, source in ((0, os.open(os.devnull, os.O_RDONLY)), (1, log), (2, log)):
            os.dup2(source, stream)
        recording = "record" in job
        sys.dont_write_bytecode = not recording
        if not recording:
            os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        plugin: Any = Recorder(job["record"]) if recording else Order(job["tests"])
        if recording:
            plugin.coverage.start()
        code = int(pytest.main([*ARGUMENTS, *job["files"]], plugins=[plugin]))
        if recording:
            plugin.coverage.stop()
            answer = {"seconds_of": plugin.seconds, "lines": plugin.lines()}
        else:
            answer = {"failed": plugin.failed}
        note.write_text(json.dumps(answer), encoding="utf-8")
    finally:
        os._exit(code)


if __name__ == "__main__":
    main()
