"""Started by file path in a child: what one tier's device is, as one line of JSON. Imports nothing of ours."""

from __future__ import annotations

import gc
import json
import os
import platform
import sys
from pathlib import Path


def probe_tier(tier: str) -> dict[str, object]:
    """Return {"name", "count", "versions"} of a tier, or {"why": {...}}."""
    import torch

    versions = {"python": platform.python_version(), "torch": torch.__version__}
    if tier.startswith("npu"):
        import torch_npu

        versions["torch_npu"] = torch_npu.__version__
        versions["cann"] = str(getattr(torch.version, "cann", None) or "")
        if not torch.npu.is_available():
            return {"why": {"say": "device.why.no_device", "args": {"error": "torch.npu.is_available() is False"}}}
        return {"name": torch.npu.get_device_name(0), "count": torch.npu.device_count(), "versions": versions}
    if tier == "cuda":
        if not torch.cuda.is_available():
            why = {"say": "device.why.no_cuda", "args": {"torch": torch.__version__}}
            return {"why": why, "cpu": describe_cpu(versions), "cuda": {"build": torch.version.cuda or ""}}
        here = describe_cpu(dict(versions))
        count = torch.cuda.device_count()
        capability = [".".join(map(str, torch.cuda.get_device_capability(index))) for index in range(count)]
        versions["cuda"] = torch.version.cuda
        facts = {"name": torch.cuda.get_device_name(0), "count": count}
        cuda = {**facts, "build": torch.version.cuda, "capability": capability}
        return {**facts, "versions": versions, "cpu": here, "cuda": cuda}
    return describe_cpu(versions)


def describe_cpu(versions: dict[str, str]) -> dict[str, object]:
    """Describe the CPU by its model's name; platform.processor() is empty on most Linux systems."""
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as stream:
            names = [line.partition(":")[2].strip() for line in stream if line.startswith("model name")]
    except OSError:
        names = []
    name = names[0] if names else platform.processor() or platform.machine()
    return {"name": name, "count": 1, "versions": versions}


if __name__ == "__main__":
    gc.disable()  # a fifth of the import's time goes into collecting what lives until the end
    # the folder of this file holds modules of ours (`device`, `report`): a child must not import them by accident
    sys.path = [entry for entry in sys.path if entry != sys.path[0]]
    try:
        answer = probe_tier(sys.argv[1])
    except ModuleNotFoundError as error:
        why = {"say": "device.why.import", "args": {"error": f"ModuleNotFoundError: {error}"}}
        answer = {"why": {"say": "device.why.no_torch_npu"} if error.name == "torch_npu" else why}
    except Exception as error:  # noqa: BLE001 - whatever breaks the import is the answer
        answer = {"why": {"say": "device.why.import", "args": {"error": f"{type(error).__name__}: {error}"}}}
    print(json.dumps(answer), flush=True)
    if sys.argv[1] != "npu":  # taking torch apart costs a third of its import; a real device is left in order
        os._exit(0)
