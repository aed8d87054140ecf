"""Replays in this process: the child's own code, without a start of Python and torch for every comparison."""

from __future__ import annotations

import importlib.util
import io
import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from typing import Any

import torch

from ascend_workbook.precision.divergence import replay


@contextmanager
def in_this_process() -> Iterator[None]:
    """On an NPU it stays a child: this process need not see one."""
    spec = importlib.util.spec_from_file_location("_replay_child", replay.CHILD)
    assert spec and spec.loader
    child = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(child)
    asked = replay.ask_child

    def ask(job: dict[str, Any], python: str = sys.executable, tier: str = "cpu") -> Any:
        if tier.startswith("npu"):
            return asked(job, python, tier)
        with tempfile.TemporaryDirectory() as folder, torch.random.fork_rng():
            question, answer = Path(folder, "job.json"), Path(folder, "answer.json")
            question.write_text(json.dumps(job), encoding="utf-8")
            try:
                with redirect_stderr(io.StringIO()):
                    child.main(str(question), str(answer))
            except Exception as error:  # noqa: BLE001 - as the child's last line tells it
                return {}, f"{type(error).__name__}: {error}"
            return json.loads(answer.read_text(encoding="utf-8")), ""

    replay.ask_child = ask
    try:
        yield
    finally:
        replay.ask_child = asked
