"""DistributedDataParallel, FSDP, device meshes and SyncBatchNorm: patched by transfer_to_npu, run on HCCL."""

from __future__ import annotations

from collections.abc import Iterable

from helpers.finding import Finding
from helpers.migration.knowledge import MEASURED, TRANSFER, Known
from helpers.migration.reading.source import Source
from helpers.migration.repair import AUTO, found

CODE = "MIG110"
TOKENS = (
    "DistributedDataParallel",
    "FullyShardedDataParallel",
    "init_device_mesh",
    "SyncBatchNorm",
    "is_nccl_available",
)
KNOWN = Known(MEASURED, TRANSFER)
NAMES = {
    "torch.nn.parallel.DistributedDataParallel",
    "torch.nn.parallel.distributed.DistributedDataParallel",
    "torch.distributed.fsdp.FullyShardedDataParallel",
    "torch.distributed.fsdp.fully_sharded_data_parallel.FullyShardedDataParallel",
    "torch.distributed.init_device_mesh",
    "torch.distributed.device_mesh.init_device_mesh",
    "torch.nn.SyncBatchNorm.convert_sync_batchnorm",
    "torch.distributed.is_nccl_available",
}
EXAMPLES = (
    (
        "from torch.nn.parallel import DistributedDataParallel as DDP\nm = DDP(m, device_ids=[0])  # 分布式\n",
        "auto",
        None,
    ),
    (
        "from torch.distributed.fsdp.fully_sharded_data_parallel import FullyShardedDataParallel as FSDP\n"
        "m = FSDP(m)  # 分片\n",
        "auto",
        None,
    ),
    ("import torch\nm = torch.nn.SyncBatchNorm.convert_sync_batchnorm(m)\n", "auto", None),
)
NEAR_MISSES = (
    "from torch.nn.parallel import DistributedDataParallel  # 只导入\n",
    "from apex.parallel import DistributedDataParallel as DDP\nm = DDP(m)\n",
)


def check(source: Source) -> Iterable[Finding]:
    for name in NAMES & source.names.called.keys():
        for call in source.names.called[name]:
            yield found(source, call, "MIG110.patched", AUTO, name=name)
