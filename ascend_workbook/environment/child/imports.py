"""Started by file path in a child: does `import torch` work here, and which CUDA does it see? One line of JSON."""

from __future__ import annotations

import gc
import json
import os
import sys
from typing import Any


def probe_torch() -> dict[str, object]:
    import torch

    answer: dict[str, Any] = {"ok": True, "torch": torch.__version__, "cuda": {"build": torch.version.cuda or ""}}
    if torch.cuda.is_available():
        capability = [".".join(map(str, torch.cuda.get_device_capability(i))) for i in range(torch.cuda.device_count())]
        answer["cuda"].update(name=torch.cuda.get_device_name(0), count=len(capability), capability=capability)
    return answer


def describe_chain(error: BaseException | None) -> list[str]:
    """Describe the error and what it came from, outermost first."""
    lines: list[str] = []
    while error is not None and len(lines) < 6:
        lines.append(f"{type(error).__name__}: {error}".strip().splitlines()[0])
        error = error.__cause__ or error.__context__
    return lines


if __name__ == "__main__":
    gc.disable()  # as in device_probe.py: the import is what this child's time goes into
    sys.path = [entry for entry in sys.path if entry != sys.path[0]]
    try:
        answer = probe_torch()
    except Exception as error:  # noqa: BLE001 - whatever breaks the import is the answer
        answer = {"ok": False, "error": f"{type(error).__name__}: {error}", "chain": describe_chain(error)}
    print(json.dumps(answer), flush=True)
    os._exit(0)
