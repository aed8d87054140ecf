"""Rules that are told by the names of the calls alone: a row for each.

nvml: an Ascend machine has neither NVML nor NVTX. distributed: run on HCCL. determinism: HCCL_DETERMINISTIC=true orders
the reductions of collectives; matrix products and many kernels follow torch.use_deterministic_algorithms. Losses still
differ from a GPU's: the order of additions is another. Libraries' seed functions seed an NPU only where the library
knows one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.migration.knowledge import DOCUMENTED, MEASURED, NPU_SMI, TRANSFER, Known
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import ADVICE, AUTO, MANUAL, STATUS, UNSUPPORTED, finding_at

#: The sentence about a call, and its class.
Outcome = tuple[str, str]
PATCHED, COLLECTIVES, SEED = ("MIG110.patched", AUTO), ("MIG132.collectives", ADVICE), ("MIG132.seed", ADVICE)
NVML, NVTX = ("MIG135.nvml", UNSUPPORTED), ("MIG135.nvtx", MANUAL)


@dataclass(frozen=True)
class Calls:
    """A row: whole names of functions, or what they begin with (`pynvml.`), and what is to be said of their calls."""

    code: str
    about: str
    known: Known
    outcomes: Mapping[str, Outcome]

    @property
    def tokens(self) -> set[str]:
        """Return a word for each name that stands in every file with such a call."""
        return {name.rstrip(".").rpartition(".")[2] for name in self.outcomes}

    @property
    def gives(self) -> set[Status]:
        return {STATUS[repair] for _, repair in self.outcomes.values()}

    def check(self, source: Source) -> Iterable[Finding]:
        for name, calls in source.names.calls_by_name.items():
            first, dot, _ = name.partition(".")
            outcome = self.outcomes.get(name) or self.outcomes.get(first + dot)
            if outcome:
                for call in calls:
                    yield finding_at(source, call, *outcome, name=name)


#: Libraries that ask NVIDIA's driver.
LIBRARIES = {"pynvml": NVML, "py3nvml": NVML, "nvidia_smi": NVML, "GPUtil": NVML, "gpustat": NVML, "nvtx": NVTX}
ROWS = (
    Calls(
        "MIG110",
        "DistributedDataParallel, FSDP, device meshes and SyncBatchNorm: patched by transfer_to_npu, run on HCCL.",
        Known(MEASURED, TRANSFER),
        {
            "torch.nn.parallel.DistributedDataParallel": PATCHED,
            "torch.nn.parallel.distributed.DistributedDataParallel": PATCHED,
            "torch.distributed.fsdp.FullyShardedDataParallel": PATCHED,
            "torch.distributed.fsdp.fully_sharded_data_parallel.FullyShardedDataParallel": PATCHED,
            "torch.distributed.init_device_mesh": PATCHED,
            "torch.distributed.device_mesh.init_device_mesh": PATCHED,
            "torch.nn.SyncBatchNorm.convert_sync_batchnorm": PATCHED,
            "torch.distributed.is_nccl_available": PATCHED,
        },
    ),
    Calls(
        "MIG132",
        "Reproducible runs: torch's own switch works on an NPU, but collectives have one of their own.",
        Known(DOCUMENTED, "https://pytorch.org/docs/stable/notes/randomness.html"),
        {
            "torch.use_deterministic_algorithms": COLLECTIVES,
            "torch.set_deterministic_debug_mode": COLLECTIVES,
            "torch.set_deterministic": COLLECTIVES,
            "pytorch_lightning.seed_everything": SEED,
            "lightning.seed_everything": SEED,
            "transformers.set_seed": SEED,
            "accelerate.utils.set_seed": SEED,
        },
    ),
    Calls(
        "MIG135",
        "Calls of NVML (pynvml, py3nvml, nvidia_smi), NVTX and GPUtil: an Ascend machine has neither.",
        Known(DOCUMENTED, NPU_SMI, hours={"nvml": 0.5, "nvtx": 0.1}, links={"nvtx": TRANSFER}),
        {f"{library}.": outcome for library, outcome in LIBRARIES.items()},
    ),
)
RULES = {row.code: row for row in ROWS}
