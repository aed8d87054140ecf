"""MODEL, as the user gives it: a short name, a configuration, a script, a launch script or a rehearsal's report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError, explain_os_error
from ascend_workbook.planning.strategy.model import Model, model_of_config
from ascend_workbook.planning.strategy.script import find_config, find_settings, parse_script
from ascend_workbook.planning.strategy.shell import read_launch
from ascend_workbook.planning.strategy.stated import Stated

MODELS = Path(__file__).with_name("models.json")
#: A text larger than this is no script or configuration.
LARGEST_BYTES = 8 * 2**20


@cache
def known_models() -> dict[str, Model]:
    """Return the models that have a short name, with the page that each is from."""
    models = {}
    for row in json.loads(MODELS.read_text(encoding="utf-8"))["models"]:
        for name in row["names"]:
            models[name] = model_of_config(row["config"], name, row["source"])
    return models


def read_model(text: str) -> tuple[Model, Stated]:
    """Return the model, and what else its script states. Raises WorkbookError where it cannot be read."""
    path = Path(text)
    if not path.exists():
        return _find_known(text), Stated()
    if path.is_dir():
        return _read_config(path / "config.json"), Stated()
    if path.suffix == ".py":
        return _read_script(path)
    if path.suffix in (".sh", ".bash"):
        return read_launch(path, _read_text(path))
    return _read_json(path)


def _find_known(name: str) -> Model:
    """Return the model of a short name, or of a name on Hugging Face that one of them is from."""
    models = known_models()
    folded = name.lower().replace("_", "-")
    if folded in models:
        return models[folded]
    for model in models.values():
        if f"huggingface.co/{name}/" in model.source:
            return model
    near = get_close_matches(folded, models, n=3, cutoff=0.4)
    raise WorkbookError("strategy.no_model", model=name, near=near or sorted(models)[:3])


def _read_text(path: Path) -> str:
    try:
        if path.stat().st_size > LARGEST_BYTES:
            raise WorkbookError("strategy.too_large", path=str(path), limit=LARGEST_BYTES // 2**20)
        return path.read_text(encoding="utf-8-sig")
    except OSError as cause:
        raise WorkbookError("strategy.unreadable", path=str(path), error=explain_os_error(cause)) from cause
    except UnicodeDecodeError as cause:
        raise WorkbookError("strategy.unreadable", path=str(path), error=str(cause)) from cause


def _read_object(path: Path) -> dict[str, Any]:
    text = _read_text(path)
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as cause:
        raise WorkbookError("strategy.no_json", path=str(path), error=str(cause)) from cause
    if not isinstance(content, dict):
        raise WorkbookError("strategy.no_json", path=str(path), error=type(content).__name__)
    return content


def _read_config(path: Path) -> Model:
    name = path.parent.resolve().name if path.name == "config.json" else path.stem
    return model_of_config(_read_object(path), name, str(path))


def _read_json(path: Path) -> tuple[Model, Stated]:
    """Return the model of a configuration, or the one that the report of a rehearsal names."""
    content = _read_object(path)
    facts = content.get("facts")
    if "stage" not in content or not isinstance(facts, Mapping):
        return _read_config(path), Stated()
    config, script = facts.get("model"), facts.get("script")
    if isinstance(config, Mapping):
        return model_of_config(config, str(config.get("name") or path.stem), str(path)), Stated()
    if isinstance(script, str) and Path(script).is_file():
        return read_model(script)
    raise WorkbookError("strategy.no_report_model", path=str(path))


def _read_script(path: Path) -> tuple[Model, Stated]:
    script = parse_script(path, _read_text(path))
    fields, place = find_config(script)
    stated = find_settings(script)
    if not place:
        return model_of_config(fields, path.stem, str(path)), stated
    for folder in (path.parent, Path()):
        near = folder / place
        if (near / "config.json").is_file():
            return replace(_read_config(near / "config.json"), source=f"{path} ({place})"), stated
        if near.suffix == ".json" and near.is_file():
            return replace(_read_config(near), source=f"{path} ({place})"), stated
    try:
        return _find_known(place), stated
    except WorkbookError as cause:
        raise WorkbookError("strategy.config_elsewhere", path=str(path), name=place) from cause
