"""Children that answer the same each time are asked once: which devices are here, and operators run again."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from helpers import device
from helpers.precision import capture
from helpers.precision.divergence import replay


@pytest.fixture(autouse=True, scope="session")
def devices_are_looked_for_once() -> Iterator[None]:
    """Captures look for their device in a child of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(device, "find", cache(device.find))
        patch.setattr(device, "baseline", cache(device.baseline))
        # two steps more for each capture: test_budget.py asks for them
        defaults = dict(capture.capture.__kwdefaults__ or {})
        patch.setattr(capture.capture, "__kwdefaults__", {**defaults, "estimate": False})
        yield


@pytest.fixture(autouse=True, scope="module")
def operators_are_run_again_in_this_process(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """The code of the child without its import of torch; a module with REPLAYS_IN_A_CHILD starts the child itself."""
    with pytest.MonkeyPatch.context() as patch:
        if not getattr(request.module, "REPLAYS_IN_A_CHILD", False):
            in_a_child, folder = replay.ask, tmp_path_factory.mktemp("replay")

            def ask(job: dict[str, Any], *how: Any, tier: str = "cpu") -> tuple[dict[str, Any], str]:
                return _answer(job, folder) if tier == "cpu" else in_a_child(job, *how, tier=tier)

            patch.setattr(replay, "ask", ask)
        yield


def _answer(job: dict[str, Any], folder: Path) -> tuple[dict[str, Any], str]:
    question, answer = folder / "job.json", folder / "answer.json"
    question.write_text(json.dumps(job), encoding="utf-8")
    try:
        _child().main(str(question), str(answer))
    except Exception as error:  # noqa: BLE001 - the child's last line tells it, whatever it was
        return {}, f"{type(error).__name__}: {error}"
    return json.loads(answer.read_text(encoding="utf-8")), ""


@cache
def _child() -> ModuleType:
    spec = importlib.util.spec_from_file_location("_replay_child", replay.CHILD)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
