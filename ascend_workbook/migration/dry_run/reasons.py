"""Why a migrated script's child died: known messages and what they mean for the migration."""

from __future__ import annotations

import re
from collections import Counter

from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.migration import api_map

#: A message of the child and the sentence that explains it; measured on torch 2.13 with torch_npu 2.13.0.
REASONS = (
    (r"argument 'index' \(position 2\) must be int|Invalid device, must be npu", "migration.reason.cuda_method"),
    (
        r"not compiled with CUDA|not linked with support for cuda|from the 'CUDA' backend|Cannot initialize CUDA",
        "migration.reason.still_cuda",
    ),
    (r"legacy constructor expects device type", "migration.reason.still_cuda"),
    (r"doesn't have NCCL built in", "migration.reason.nccl"),
    (r"NVTX functions not installed", "migration.reason.nvtx"),
    (r"get_gpu_type|BackendCompilerFailed|InductorError", "migration.reason.compile"),
    (r"but found one of them on device: npu", "migration.reason.data_parallel"),
    (r"CUDA_HOME", "migration.reason.extension"),
    (r"libhccl|libascendcl|\.so: cannot open shared object", "migration.reason.libraries"),
    (
        r"contiguous_format or preserve_format is|only supported contiguous memory format|MemoryFormat::Contiguous is",
        "migration.reason.layout",
    ),
    (r"Expected all tensors to be on the same device", "migration.reason.mixed"),
    (r"simulator lacks|simulator has npu:: operators only", "migration.reason.simulator"),
    (r"out of memory|OutOfMemory", "migration.reason.memory"),
)
#: A traceback's line of a file: its path (torch_npu lies in the simulator's folder) says nothing of the cause.
FRAME = re.compile(r'^ *File ".*", line \d+.*$', re.MULTILINE)
MISSING = re.compile(r"No module named '([\w.]+)'")
#: What pip calls a module of another name.
PACKAGES = {
    "cv2": "opencv-python-headless",
    "PIL": "pillow",
    "yaml": "pyyaml",
    "sklearn": "scikit-learn",
    "skimage": "scikit-image",
    "bs4": "beautifulsoup4",
    "git": "gitpython",
    "dateutil": "python-dateutil",
    "google.protobuf": "protobuf",
    "pytorch_lightning": "pytorch-lightning",
}
#: torch_npu's two warnings for an operator without an NPU kernel, as the strings in libtorch_npu.so have them.
FALLBACK = re.compile(
    r"operator '([\w:.]+)'(?: is not currently supported on the NPU backend and|, the operator) will fall back"
)


def explain_message(message: str) -> Sentence | None:
    """Return the sentence that explains an error message, or None for one not known here."""
    message = FRAME.sub("", message)
    missing = MISSING.search(message)
    if missing:
        known = api_map.find_entry("third_party", missing.group(1).split(".")[0])
        return Sentence(
            "migration.reason.missing",
            module=missing.group(1),
            use=Sentence(f"migration.use.{known['use']}") if known else "-",
        )
    for pattern, key in REASONS:
        if re.search(pattern, message):
            return Sentence(key)
    return None


def package_of_module(module: str) -> str:
    """Return what to tell pip for a missing module: its top package's name, where we know of no other."""
    top = module.split(".")[0]
    return PACKAGES.get(module) or PACKAGES.get(top) or top


def count_fallbacks(output: str) -> Counter[str]:
    """Count the operators that ran on the CPU, with how often torch_npu said so."""
    return Counter(FALLBACK.findall(output))
