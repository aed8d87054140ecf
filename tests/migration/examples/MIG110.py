# --- case
from torch.nn.parallel import DistributedDataParallel as DDP
m = DDP(m, device_ids=[0])  # 分布式
#   ^ MIG110.patched auto

# --- case
from torch.distributed.fsdp.fully_sharded_data_parallel import FullyShardedDataParallel as FSDP
m = FSDP(m)  # 分片
#   ^ MIG110.patched auto

# --- case
import torch
m = torch.nn.SyncBatchNorm.convert_sync_batchnorm(m)
#   ^ MIG110.patched auto

# --- near miss
from apex.parallel import DistributedDataParallel as DDP
m = DDP(m)

# --- near miss: only imported
from torch.nn.parallel import DistributedDataParallel  # 只导入
ok = isinstance(m, DistributedDataParallel)
import torch
torch.save(m, 'm.pt')
