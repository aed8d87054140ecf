# --- case
import torch.distributed as dist

dist.broadcast(张量, 0)
^ MIG323.capability manual

# --- case
from torch.distributed import broadcast_object_list as share

share(objects, src=0)  # 广播
^ MIG323.capability manual

# --- case
import torch
from torch.distributed.distributed_c10d import broadcast, broadcast_object_list

broadcast(x, 0)  # 广播
^ MIG323.capability manual
broadcast_object_list(x, 0)
^ MIG323.capability manual
torch.distributed.broadcast(x, 0)
^ MIG323.capability manual

# --- near miss
import torch.distributed as dist

dist.all_reduce(张量)


# --- near miss: another library's function of that name
from jax.lax import broadcast

y = broadcast(张量, (2,))
