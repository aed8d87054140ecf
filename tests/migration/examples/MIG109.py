# --- case
import torch.nn as nn
m = nn.DataParallel(m)  # 多卡
#   ^ MIG109.no_kernel unsupported

# --- case
from torch.nn.parallel import DataParallel as DP
m = DP(m)
#   ^ MIG109.no_kernel unsupported

# --- case
from torch import nn
class 并行(nn.DataParallel):
#          ^ MIG109.no_kernel unsupported
    pass

# --- case
from torch import nn
wrap = nn.DataParallel if many else keep
#      ^ MIG109.no_kernel unsupported

# --- case
from torch.nn.parallel import replicate
ms = replicate(m, [0, 1])
#    ^ MIG109.no_kernel unsupported

# --- case
from torch.nn.parallel.scatter_gather import gather as g
y = g(各卡, 0)
#   ^ MIG109.no_kernel unsupported

# --- case
from utils.parallel import BalancedDataParallel
m = BalancedDataParallel(4, m)  # 均衡
#   ^ MIG109.wrapper unsupported

# --- case
from sync_batchnorm import DataParallelWithCallback as DP
m = DP(m)
#   ^ MIG109.wrapper unsupported

# --- case
from bert4torch.models import BaseModelDP
m = BaseModelDP(m)
#   ^ MIG109.wrapper unsupported

# --- case
from torch.nn.parallel.parallel_apply import parallel_apply
y = parallel_apply(ms, xs)
#   ^ MIG109.no_kernel unsupported

# --- near miss
import torch.nn as nn
模型 = nn.parallel.DistributedDataParallel(m)

# --- near miss
import torch.nn as nn
ok = isinstance(m, nn.DataParallel)

# --- near miss
from mine import LegacyDistributedDataParallel as D, NPUDataParallel
m = NPUDataParallel(D(m))

# --- near miss
from fairscale.nn import ShardedDataParallel
m = ShardedDataParallel(m)  # 分片

# --- near miss
from mine import DataParallelCoordinator
c = DataParallelCoordinator()

# --- near miss
from mmcv.parallel import DataParallel
m = DataParallel(m)

# --- near miss
import torch.nn.parallel
y = torch.gather(x, 0, i)  # 张量
x.scatter(0, i, 1)

# --- near miss
import torch.distributed as dist
dist.gather(x)  # DataParallel
dist.scatter(x)
