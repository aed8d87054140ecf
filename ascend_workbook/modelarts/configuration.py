"""The job as ModelArts' API takes it: POST /v2/{project_id}/training-jobs.

Source: https://support.huaweicloud.com/intl/en-us/api-modelarts/CreateTrainingJob.html. Nothing is sent: the result is
a file to post, or the table to copy into the console. It holds no credentials, the job gets them from its agency.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ascend_workbook.environment.system import PROJECT
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Column, Listing, Report, Table
from ascend_workbook.findings.sentence import Scalar
from ascend_workbook.redaction import SECRET_NAME
from ascend_workbook.redaction.exits import redact

STAGE = "batch"
BOOT_FILE = "modelarts_job.py"
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
#: A job takes no more variables of its own, and none of the platform's names but the choice of the start.
MOST_VARIABLES, PLATFORM, ALLOWED = 100, ("MA_",), ("MA_RUN_METHOD",)
#: Chinese logs, and children whose output is not kept back in buffers.
USUAL = {"PYTHONUNBUFFERED": "1", "PYTHONIOENCODING": "utf-8"}
COLUMNS = (Column("modelarts_field"), Column("value"))


@dataclass(frozen=True)
class JobRequest:
    """What the caller decides. Addresses are `obs://bucket/folder/`; `image` is an address in SWR, or empty with
    `engine_id`, a preset image's. `command` runs a verb of the workbook once, `script` a training script by torchrun.
    """

    name: str
    code: str
    out: str
    flavor: str
    data: str = ""
    logs: str = ""
    image: str = ""
    engine_id: str = ""
    command: str = "run --name job -p device npu"
    script: str = ""
    nodes: int = 1
    pool: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)


def describe_job(request: JobRequest) -> Report:
    """Describe the job as JSON under a table of its fields; start nothing. Raises WorkbookError `modelarts.name`,
    `modelarts.address`, `modelarts.image`, `modelarts.nodes`, `modelarts.variable`, `modelarts.secret`,
    `modelarts.secret_value`, `modelarts.secret_words`, `modelarts.words`, `modelarts.script_place`."""
    request_body = make_body(request)
    text = json.dumps(request_body, indent=2, ensure_ascii=False) + "\n"
    args: dict[str, Scalar] = {"boot": request_body["algorithm"]["boot_file"], "nodes": request.nodes}
    finding = Finding("RUN410", Status.GOOD, "RUN410.job", args, weight=100)
    rows = tuple((name, value) for name, value in _flatten("", request_body))
    table, listing = Table(COLUMNS, rows), Listing("modelarts_body", text, "json")
    return Report(STAGE, "modelarts_job", (finding,), table, listing=listing, facts={"request": request_body})


def make_body(request: JobRequest) -> dict[str, Any]:
    """Make the request's body."""
    _check_request(request)
    code = _obs_path(request.code)
    work = {"script": request.script} if request.script else {"command": request.command}
    algorithm: dict[str, object] = {
        "code_dir": code,
        "boot_file": code + BOOT_FILE,
        "engine": {"image_url": request.image} if request.image else {"engine_id": request.engine_id},
        "parameters": [{"name": name, "value": value} for name, value in work.items()],
        "inputs": [_make_channel("data_url", request.data)] if request.data else [],
        "outputs": [_make_channel("train_url", request.out)],
        "environments": {**USUAL, **request.environment},
    }
    resource: dict[str, object] = {"flavor_id": request.flavor, "node_count": request.nodes}
    if request.pool:
        resource["pool_id"] = request.pool
    spec: dict[str, object] = {"resource": resource}
    if request.logs:
        spec["log_export_path"] = {"obs_url": _obs_path(request.logs)}
    return {"kind": "job", "metadata": {"name": request.name}, "algorithm": algorithm, "spec": spec}


def _check_request(request: JobRequest) -> None:
    if not NAME.fullmatch(request.name):
        raise WorkbookError("modelarts.name", name=request.name)
    if bool(request.image) == bool(request.engine_id):
        raise WorkbookError("modelarts.image")
    if request.nodes < 1:
        raise WorkbookError("modelarts.nodes", nodes=request.nodes)
    if len(request.environment) + len(USUAL) > MOST_VARIABLES:
        raise WorkbookError("modelarts.variable", name=str(len(request.environment)), most=MOST_VARIABLES)
    for name, value in request.environment.items():
        if not VARIABLE.fullmatch(name) or (name.startswith(PLATFORM) and name not in ALLOWED):
            raise WorkbookError("modelarts.variable", name=name, most=MOST_VARIABLES)
        if SECRET_NAME.search(name):
            raise WorkbookError("modelarts.secret", name=name)
        texts = (value, json.dumps({name: value}, ensure_ascii=False))
        if any(redact(text) != text for text in texts):  # the file of the request would have *** in its place
            raise WorkbookError("modelarts.secret_value", name=name)
    text = request.script or request.command
    if redact(text) != text:
        raise WorkbookError("modelarts.secret_words", text=redact(text))
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise WorkbookError("modelarts.words", text=text, error=str(error)) from error
    if not words or (request.script and (words[0].startswith("/") or ".." in words[0].split("/"))):
        raise WorkbookError("modelarts.script_place", path=words[0] if words else "")
    if not (PROJECT / BOOT_FILE).is_file():
        raise WorkbookError("modelarts.no_boot", path=str(PROJECT / BOOT_FILE))


def _obs_path(place: str) -> str:
    """Return the path as the API has it: `/bucket/folder/`."""
    match = re.fullmatch(r"obs://([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])((?:/[^/\s]+)*)/?", place, re.ASCII)
    if not match or ".." in place.split("/"):
        raise WorkbookError("modelarts.address", place=place)
    return f"/{match[1]}{match[2]}/"


def _make_channel(name: str, place: str) -> dict[str, object]:
    return {"name": name, "remote": {"obs": {"obs_url": _obs_path(place)}}}


def _flatten(name: str, value: Any) -> list[tuple[str, Scalar]]:
    """Flatten a value to rows of the table: the fields by their path."""
    if isinstance(value, dict):
        parts = [_flatten(f"{name}.{key}" if name else key, item) for key, item in value.items()]
    elif isinstance(value, list):
        parts = [_flatten(f"{name}[{at}]", item) for at, item in enumerate(value)]
    else:
        return [(name, value)]
    return [row for part in parts for row in part]
