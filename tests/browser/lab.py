"""A JupyterLab of its own: own folders, free port, token, nothing fetched; ended with its kernels whatever happens."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from tests.conftest import PINNED, ROOT

SECONDS = 180
#: A kernel of a reader: it draws boxes, and figures go into the notebook.
READER = ("ASCEND_WORKBOOK_HEADLESS", "MPLBACKEND", "ASCEND_WORKBOOK_LANG")
#: Every cell is drawn, so that a picture holds the whole notebook.
SETTINGS: dict[str, dict[str, Any]] = {
    "@jupyterlab/notebook-extension/tracker": {"windowingMode": "none"},
    "@jupyterlab/apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/docmanager-extension/plugin": {"autosave": False},
}
PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Lab:
    """A running server: its address, token and the folder whose notebooks it shows."""

    address: str
    token: str
    folder: Path

    def url(self, notebook: str) -> str:
        """The page of one notebook, alone, in a workspace that nobody has used."""
        return f"{self.address}/doc/workspaces/{secrets.token_hex(4)}/tree/{notebook}?reset&token={self.token}"

    def ask(self, path: str, method: str = "GET") -> Any:
        """The answer of the server's REST API, None where it is empty."""
        request = urllib.request.Request(
            f"{self.address}/api/{path}", method=method, headers={"Authorization": f"token {self.token}"}
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            body = answer.read()
        return json.loads(body) if body else None

    def end_kernels(self) -> None:
        for session in self.ask("sessions"):
            self.ask(f"sessions/{session['id']}", "DELETE")


@contextlib.contextmanager
def started(folder: Path, own: Path) -> Iterator[Lab]:
    """A server for the notebooks of `folder`; `own`: a new folder for its settings, workspaces and log."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    lab = Lab(f"http://127.0.0.1:{port}", secrets.token_hex(16), folder)
    for name, content in SETTINGS.items():
        file = own / "settings" / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(content), encoding="utf-8")
    log = own / "server.log"
    with log.open("wb") as stream:
        process = subprocess.Popen(
            command(lab, port, own),
            env=environment(lab, own),
            cwd=folder,
            stdout=stream,
            stderr=stream,
            start_new_session=True,
            preexec_fn=_die_with_parent,
        )
    try:
        _wait(lab, process, log)
        yield lab
    finally:
        end(process)


def command(lab: Lab, port: int, own: Path) -> list[str]:
    options = {
        "ServerApp.port": port,
        "ServerApp.port_retries": 0,
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.root_dir": lab.folder,
        "ServerApp.allow_root": True,
        "ServerApp.open_browser": False,
        "LabApp.expose_app_in_browser": True,
        "LabApp.user_settings_dir": own / "settings",
        "LabApp.workspaces_dir": own / "workspaces",
        "LabApp.news_url": None,
        "LabApp.check_for_updates_class": "jupyterlab.NeverCheckForUpdate",
    }
    return [sys.executable, "-m", "jupyterlab", *(f"--{name}={value}" for name, value in options.items())]


def environment(lab: Lab, own: Path) -> dict[str, str]:
    """What the server and its kernels see: the tests' pinned threads, but a reader at the screen."""
    paths = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH", ""))))
    env = {**os.environ, **PINNED, "PYTHONPATH": paths, "JUPYTER_TOKEN": lab.token, "LANG": "C.UTF-8"}
    for name in ("CONFIG", "DATA", "RUNTIME"):
        env[f"JUPYTER_{name}_DIR"] = str(own / name.lower())
    env["IPYTHONDIR"] = str(own / "ipython")
    return {name: value for name, value in env.items() if name not in READER}


def end(process: subprocess.Popen[bytes]) -> None:
    """Ends the server, its kernels, and what those have started."""
    family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
    for one in reversed(family):
        with contextlib.suppress(psutil.NoSuchProcess):
            one.kill()
    process.wait(20)


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def _wait(lab: Lab, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + SECONDS
    while time.monotonic() < until and process.poll() is None:
        try:
            lab.ask("status")
            return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.2)
    raise RuntimeError(f"JupyterLab did not answer within {SECONDS} s: {log.read_text(errors='replace')[-2000:]}")
