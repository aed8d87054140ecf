"""What precision depends on, as it is in this process: packages, variables by allow-list, torch's flags, seeds.

Started by file path it prints one line of JSON; the capture loads it by path in the training process and reads it just
before the first forward, when the script has set its flags. It imports nothing of the workbook's package.
"""

from __future__ import annotations

import json
import os
import platform
import re
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

# ruff: noqa: SIM905 - a column of names reads better without quotes
#: Only these are read. None holds a key or a token; values are numbers, words or lists of devices.
VARIABLES = """
HCCL_DETERMINISTIC NCCL_DETERMINISTIC LCCL_DETERMINISTIC HCCL_ALGO NCCL_ALGO NCCL_PROTO HCCL_OP_EXPANSION_MODE
CUBLAS_WORKSPACE_CONFIG ATB_MATMUL_SHUFFLE_K_ENABLE ATB_LLM_LCOC_ENABLE CLOSE_MATMUL_K_SHIFT
NVIDIA_TF32_OVERRIDE TORCH_ALLOW_TF32_CUBLAS_OVERRIDE INF_NAN_MODE_ENABLE INF_NAN_MODE_FORCE_DISABLE
PYTHONHASHSEED WORLD_SIZE LOCAL_WORLD_SIZE OMP_NUM_THREADS MKL_NUM_THREADS MKL_CBWR ATEN_CPU_CAPABILITY
ONEDNN_MAX_CPU_ISA ASCEND_LAUNCH_BLOCKING CUDA_LAUNCH_BLOCKING TASK_QUEUE_ENABLE COMBINED_ENABLE
PYTORCH_NPU_ALLOC_CONF PYTORCH_CUDA_ALLOC_CONF ASCEND_RT_VISIBLE_DEVICES CUDA_VISIBLE_DEVICES
TORCHDYNAMO_DISABLE TORCH_COMPILE_DISABLE ACLNN_CACHE_LIMIT
""".split()
LONGEST = 200
#: The driver's own files, as ascend_workbook/environment/hardware.py has them; CANN's lines, as
#: ascend_workbook/machine/cann.py has them.
INFO = ("/usr/local/Ascend/driver/version.info", "/var/davinci/driver/version.info")
DRIVER = r"(?i)^\s*Version\s*=\s*(\S+)"
VERSION_LINES = ("version", "toolkit_running_version", "runtime_running_version", "compiler_running_version")
MOST_TEXT = 1 << 20


def read() -> dict[str, object]:
    """Return {"python", "packages", "environment", "flags", "machine"} for JSON; torch is imported for its flags."""
    import torch

    root = os.environ.get("ASCEND_HOME_PATH", "")
    facts = {
        "system": platform.system(),
        "arch": platform.machine(),
        "cann": read_cann_version(root) if root.startswith("/") else "",
        "cuda": str(torch.version.cuda or ""),
        "driver": next(filter(None, (_find_line(name, DRIVER) for name in INFO)), ""),
    }
    backends = torch.backends
    readers: dict[str, Callable[[], object]] = {
        "deterministic_algorithms": torch.are_deterministic_algorithms_enabled,
        "deterministic_warn_only": torch.is_deterministic_algorithms_warn_only_enabled,
        "cudnn_deterministic": lambda: bool(backends.cudnn.deterministic),
        "cudnn_benchmark": lambda: bool(backends.cudnn.benchmark),
        "conv_format": lambda: formats(torch)[0],
        "matmul_format": lambda: formats(torch)[1],
        "float32_matmul_precision": torch.get_float32_matmul_precision,
        "fp16_reduced_sums": lambda: _first_of_pair(backends.cuda.matmul.allow_fp16_reduced_precision_reduction),
        "bf16_reduced_sums": lambda: _first_of_pair(backends.cuda.matmul.allow_bf16_reduced_precision_reduction),
        "default_dtype": lambda: str(torch.get_default_dtype()).rpartition(".")[2],
        "flash_attention": lambda: bool(backends.cuda.flash_sdp_enabled()),
        "threads": torch.get_num_threads,
    }
    return {
        "python": platform.python_version(),
        "packages": read_packages(),
        "environment": read_environment(),
        "flags": {name: _read_flag(reader) for name, reader in readers.items()},
        "machine": {name: value for name, value in facts.items() if value},  # from files; only what is told
    }


def read_cann_version(root: str) -> str:
    """Return CANN's version, read as ascend_workbook/machine/cann.py does (a test holds them together)."""
    files = [Path(root, "version.cfg"), *sorted(Path(root).glob("*-linux/ascend_*_install.info"))]
    lines = (_find_line(name, rf"^[ \t]*{key}[ \t]*=(.*)$") for key in VERSION_LINES for name in files)
    return next(filter(None, (line.strip("[]").rpartition(":")[2] for line in lines)), "")


def _find_line(path: str | Path, pattern: str) -> str:
    """Return what the pattern finds in a short text file, cut at LONGEST; empty where it cannot be read."""
    try:
        with Path(path).open(encoding="utf-8", errors="replace") as stream:
            match = re.search(pattern, stream.read(MOST_TEXT), re.MULTILINE)
    except OSError:
        return ""
    return "".join(character for character in match[1].strip()[:LONGEST] if character.isprintable()) if match else ""


def read_packages() -> dict[str, str]:
    """Return name (one spelling: `torch_npu`) to version of each distribution, as an import would find it."""
    folders = [entry for entry in sys.path if not entry.endswith("_vendor")]  # setuptools adds its private copies
    packages: dict[str, str] = {}
    for distribution in metadata.distributions(path=folders):
        name, version = distribution.metadata["Name"], distribution.version
        if name and version:
            packages.setdefault(str(name).lower().replace("-", "_"), str(version))
    return packages


def read_environment() -> dict[str, str]:
    """Return those of the listed variables that are set, cut at LONGEST characters."""
    return {name: os.environ[name][:LONGEST] for name in VARIABLES if os.environ.get(name)}


def _read_flag(reader: Callable[[], object]) -> object:
    """Read a flag; None where an old torch lacks it, or a new one raises as TF32 was set in both ways."""
    try:
        return reader()
    except (AttributeError, RuntimeError):
        return None


def formats(torch: Any) -> tuple[str, str]:
    """Return which format may round the inputs of float32 convolutions and matrix products: hf32, tf32, none."""
    npu = getattr(torch, "npu", None) if sys.modules.get("torch_npu") else None
    if npu is not None and npu.is_available():
        return "hf32" if npu.conv.allow_hf32 else "", "hf32" if npu.matmul.allow_hf32 else ""
    if torch.cuda.is_available() and torch.version.cuda:
        cudnn, matmul = torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32
        return "tf32" if cudnn else "", "tf32" if matmul else ""
    return "", ""


def _first_of_pair(value: object) -> bool:
    """Return whether sums may be reduced; newer torch answers a pair, the second: whether they may be split."""
    return bool(value[0] if isinstance(value, (tuple, list)) else value)


if __name__ == "__main__":
    sys.path = [entry for entry in sys.path if entry != sys.path[0]]
    print(json.dumps(read()))
