"""Replays in this process: the child's own code, without a start of Python and torch for every comparison."""

from __future__ import annotations

import importlib.util
import io
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from typing import Any

import torch

from helpers.precision.divergence import replay


@contextmanager
def in_this_process() -> Iterator[None]:
    spec = importlib.util.spec_from_file_location("_replay_child", replay.CHILD)
    assert spec and spec.loader
    child = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(child)
    asked = replay.ask

    def ask(job: dict[str, Any], python: str = "", tier: str = "cpu") -> Any:
        with tempfile.TemporaryDirectory() as folder, torch.random.fork_rng():
            question, answer = Path(folder, "job.json"), Path(folder, "answer.json")
            question.write_text(json.dumps(job), encoding="utf-8")
            with redirect_stderr(io.StringIO()):
                child.main(str(question), str(answer))
            return json.loads(answer.read_text(encoding="utf-8")), ""

    replay.ask = ask
    try:
        yield
    finally:
        replay.ask = asked
