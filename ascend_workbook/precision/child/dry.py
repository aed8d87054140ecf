"""What a capture will write, told before it starts. Loaded by path.

The process that is about to run the script forks; the child runs it for one step with statistics alone, then one step
without hooks, and ends. From the shapes that it saw follows how much whole tensors take. Forked before the script's
first line, it shares the imports and has touched no device."""

from __future__ import annotations

import ctypes
import io
import json
import math
import os
import shutil
import signal
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from ascend_workbook.machine.launch.child.observer import Observer
    from ascend_workbook.precision.child.capture_plugin import Config

#: The step that is counted, then one without hooks.
STEPS = 2
#: What a data_name adds to an entry of dump.json.
NAME_BYTES = 80
ALIGNED = 64
#: Until rank 0 has chosen a port for the copies' rendezvous.
WAIT_S = 60.0


def fork(observer: Observer, config: Config) -> dict[str, object] | None:
    """In the parent: what the child found, {"step_bytes", "plain_s", "statistics_s"} or {"error"}. In the child None,
    with `observer` and `config` turned to its own folder."""
    meta = observer.log.content["meta"]
    in_use = any(backend.is_initialized() for backend in (torch.cuda, getattr(torch, "npu", torch.cuda)))
    if meta.get("spawned") or (meta["transform"] != "baseline_cpu" and in_use):  # a copy cannot use its device
        return {"error": "the device was in use before the script's first line"}
    folder = Path(observer.out) / f"dry.rank{observer.rank}"
    folder.mkdir(exist_ok=True)
    config["dry_path"] = f"{config['dry_path']}.rank{observer.rank}"
    sys.stdout.flush()
    sys.stderr.flush()
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        _become_dry(observer, config, folder, parent)
        return None
    _, status = os.waitpid(pid, 0)
    try:  # from the dumps and the log that the child left; its own error where it did not come so far
        steps = json.loads((folder / observer.log.path.name).read_text(encoding="utf-8"))["steps"]
        size = sum(_dump_size(path, config["saves_tensors"]) for path in Path(config["dry_path"]).glob("step0/*"))
        if not steps or (not size and config["dumps_here"]):
            lines = (folder / "output.log").read_text(encoding="utf-8", errors="replace").split("\n")
            last = next((line.strip() for line in reversed(lines) if line.strip()), "")[:200]
            raise ValueError(last or f"it ended with status {status}")
        plain = steps[1]["time_s"] if len(steps) > 1 else None
        shutil.rmtree(folder)
        return {"step_bytes": size, "statistics_s": steps[0]["time_s"], "plain_s": plain}
    except (OSError, ValueError, KeyError) as cause:
        return {"error": str(cause) if isinstance(cause, ValueError) else repr(cause)}
    finally:
        shutil.rmtree(config["dry_path"], ignore_errors=True)


def _become_dry(observer: Observer, config: Config, folder: Path, parent: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: it ends with the process that waits for it
        if os.getppid() != parent:
            os._exit(1)
    output = os.open(str(folder / "output.log"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(output, 2)
    if observer.world_size > 1:
        # torchrun's own store would keep the addresses of these copies for the run itself
        os.environ["MASTER_PORT"] = str(_choose_port(folder.parent / "dry.port", observer.rank))
        os.environ["TORCHELASTIC_USE_AGENT_STORE"] = "False"
    observer.log.path = folder / observer.log.path.name
    observer.out, observer.limit = folder, STEPS
    content = json.loads(Path(config["config_path"]).read_text(encoding="utf-8"))
    own = {**content.pop(content["task"]), "summary_mode": "statistics"}
    content["step"] = [0] if content["step"] else []
    content.update(task="statistics", statistics=own, dump_path=config["dry_path"])
    path = folder / "msprobe.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    config["config_path"], config["dump_path"], config["iterations"] = str(path), config["dry_path"], [0]


def _choose_port(path: Path, rank: int) -> int:
    """A free port, chosen by rank 0 and told to the others in a file."""
    if rank == 0:
        with socket.socket() as sock:
            sock.bind(("127.0.0.1", 0))
            aside = path.with_name("dry.port.part")
            aside.write_text(str(sock.getsockname()[1]), encoding="utf-8")
        aside.replace(path)
    deadline = time.monotonic() + WAIT_S
    while not path.is_file():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{path}: rank 0 chose no port")
        time.sleep(0.05)
    return int(path.read_text(encoding="utf-8"))


def _dump_size(folder: Path, saves_tensors: bool) -> int:
    """Of one step on one rank: the JSON as it is, and a file for every tensor where tensors are asked for."""
    files = [path for path in folder.glob("*.json") if path.is_file()]
    stream = io.BytesIO()
    torch.save(torch.zeros(ALIGNED, dtype=torch.uint8), stream)
    overhead = len(stream.getvalue()) - ALIGNED  # what torch.save of this release writes beside a tensor's values
    beside = sum(path.stat().st_size for path in files)
    entries = [
        entry
        for path in files
        if path.name in ("dump.json", "debug.json") and saves_tensors
        for entry in _tensor_entries(json.loads(path.read_text(encoding="utf-8"))["data"])
    ]
    for entry in entries:
        dtype = getattr(torch, str(entry["dtype"]).rpartition(".")[2])
        size = math.prod(entry["shape"]) * torch.empty(0, dtype=dtype).element_size()
        beside += -(-size // ALIGNED) * ALIGNED + overhead + NAME_BYTES
    return beside


def _tensor_entries(part: object) -> Iterator[dict[str, Any]]:
    if isinstance(part, dict) and "shape" in part and "dtype" in part:
        yield part
    elif isinstance(part, (dict, list)):
        for item in part.values() if isinstance(part, dict) else part:
            yield from _tensor_entries(item)
