"""Rules that are told by the names of the calls alone: a row for each.

nvml: an Ascend machine has neither NVML nor NVTX. distributed: run on HCCL. determinism: HCCL_DETERMINISTIC=true orders
the reductions of collectives; matrix products and many kernels follow torch.use_deterministic_algorithms. Losses still
differ from a GPU's: the order of additions is another. Libraries' seed functions seed an NPU only where the library
knows one. broadcast: in torch 2.13 (distributed_c10d.py) it asks `torch.cuda.get_device_capability(...)[0] >= 9` of a
tensor that says is_cuda, and torch_npu answers None unless TORCH_NPU_DEVICE_CAPABILITY is set.
"""

from __future__ import annotations

from dataclasses import dataclass

from ascend_workbook.findings.finding import Status
from ascend_workbook.migration import api_map
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import (
    DOCUMENTED,
    MEASURED,
    NPU_SMI,
    STATUS,
    TRANSFER,
    VARIABLES,
    Findings,
    Known,
    finding_at,
)

#: By rule and name of a function: the sentence about its calls, and their class.
OUTCOMES: dict[str, dict[str, tuple[str, str]]] = api_map.list_names("calls")
#: Libraries that ask NVIDIA's driver.
LIBRARIES = {name.rstrip(".") for name in OUTCOMES["MIG135"]}


@dataclass(frozen=True)
class Calls:
    """A row: whole names of functions, or what they begin with (`pynvml.`), and what is to be said of their calls."""

    code: str
    about: str
    known: Known

    @property
    def outcomes(self) -> dict[str, tuple[str, str]]:
        return OUTCOMES[self.code]

    @property
    def tokens(self) -> set[str]:
        """Return a word for each name that stands in every file with such a call."""
        return {name.rstrip(".").rpartition(".")[2] for name in self.outcomes}

    @property
    def gives(self) -> set[Status]:
        return {STATUS[repair] for _, repair in self.outcomes.values()}

    def check(self, source: Source) -> Findings:
        for name, calls in source.names.calls_by_name.items():
            first, dot, _ = name.partition(".")
            outcome = self.outcomes.get(name) or self.outcomes.get(first + dot)
            if outcome:
                for call in calls:
                    yield finding_at(source, call, *outcome, name=name)


ROWS = (
    Calls(
        "MIG110",
        "DistributedDataParallel, FSDP, device meshes and SyncBatchNorm: patched by transfer_to_npu, run on HCCL.",
        Known(MEASURED, TRANSFER),
    ),
    Calls(
        "MIG132",
        "Reproducible runs: torch's own switch works on an NPU, but collectives have one of their own.",
        Known(DOCUMENTED, "https://pytorch.org/docs/stable/notes/randomness.html"),
    ),
    Calls(
        "MIG323",
        "Broadcasts: torch 2.13 asks for the CUDA capability of a tensor's device, of which an NPU has none.",
        Known(MEASURED, VARIABLES + "device_management/TORCH_NPU_DEVICE_CAPABILITY.md", hours={"capability": 0.1}),
    ),
    Calls(
        "MIG135",
        "Calls of NVML (pynvml, py3nvml, nvidia_smi), NVTX and GPUtil: an Ascend machine has neither.",
        Known(DOCUMENTED, NPU_SMI, hours={"nvml": 0.5, "nvtx": 0.1}, links={"nvtx": TRANSFER}),
    ),
)
RULES = {row.code: row for row in ROWS}
