"""Runs many small scripts, each in a fork of one process that has imported torch: `python forks.py JOBS.json`.

A job is {"script", "args", "cwd", "output", "spec"}. With a spec it runs as the launcher's child does, from the same
entry, so that all is installed anew in each; without one as Python would run it. At most two run at a time.
"""

from __future__ import annotations

import importlib.util
import json
import os
import runpy
import sys
import traceback
from pathlib import Path

CHILD = Path(__file__).resolve().parents[4] / "ascend_workbook" / "machine" / "launch" / "child"
SIDE_BY_SIDE = 2


def run_job(job: dict[str, object]) -> None:
    sink = os.open(str(job["output"]), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(sink, 1)
    os.dup2(sink, 2)
    os.chdir(str(job["cwd"]))
    os.environ.update(job.get("environment", {}))  # type: ignore[call-overload]
    del sys.path[0]
    if job["spec"] is None:
        sys.argv = [str(job["script"]), *job["args"]]  # type: ignore[misc]
        sys.path.insert(0, str(Path(str(job["script"])).parent))
        runpy.run_path(str(job["script"]), run_name="__main__")
        return
    spec = importlib.util.spec_from_file_location(
        "_workbook_child", CHILD / "__init__.py", submodule_search_locations=[str(CHILD)]
    )
    assert spec is not None and spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules["_workbook_child"] = package
    spec.loader.exec_module(package)
    importlib.import_module("_workbook_child.session").main(job["spec"], job["args"])


def fork_job(job: dict[str, object]) -> int:
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        run_job(job)
        code = 0
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    except BaseException:  # noqa: BLE001 - the parent goes on
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def main(path: str) -> None:
    import torch._dynamo
    import torch.utils.checkpoint
    import torch.utils.data  # noqa: F401

    waiting, running = json.loads(Path(path).read_text(encoding="utf-8")), 0
    while waiting or running:
        while waiting and running < SIDE_BY_SIDE:
            fork_job(waiting.pop(0))
            running += 1
        os.wait()
        running -= 1


if __name__ == "__main__":
    main(sys.argv[1])
