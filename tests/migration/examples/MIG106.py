# --- case
import torch.distributed as dist
dist.init_process_group('nccl')  # 初始化
#                       ^ MIG106.replaced auto

# --- case
import torch.distributed as dist
'组'; dist.init_process_group(backend='NCCL')
#                                     ^ MIG106.upper_case rewrite
# --- after
import torch.distributed as dist
'组'; dist.init_process_group(backend='nccl')

# --- case
import torch.distributed as dist
if dist.get_backend() == 'nccl':
#  ^ MIG106.compared rewrite
    pass
# --- after
import torch.distributed as dist
if dist.get_backend() in ('nccl', 'hccl'):
    pass

# --- case
if args.backend != "nccl":
#  ^ MIG106.compared rewrite
    pass
# --- after
if args.backend not in ("nccl", "hccl"):
    pass

# --- case
import torch.distributed as dist
assert dist.get_backend() in ['gloo', 'nccl']
#      ^ MIG106.compared rewrite
# --- after
import torch.distributed as dist
assert dist.get_backend() in ['gloo', 'nccl', 'hccl']

# --- case
p.add_argument('--distributed-backend', default='nccl', choices=['nccl', 'gloo'])
#                                               ^ MIG106.replaced auto
#                                                                ^ MIG106.replaced auto

# --- case
import torch.distributed as dist
b = dist.Backend.NCCL
#   ^ MIG106.replaced auto

# --- case
import torch.distributed as dist
if dist.get_backend() == dist.Backend.NCCL:  # 显卡
#  ^ MIG106.compared rewrite
    pass
# --- after
import torch.distributed as dist
if dist.get_backend() in (dist.Backend.NCCL, "hccl"):  # 显卡
    pass

# --- case
import torch.distributed as dist
dist.init_process_group(backend='NCCL' if gpu else 'GLOO')
#                               ^ MIG106.upper_case rewrite
# --- after
import torch.distributed as dist
dist.init_process_group(backend='nccl' if gpu else 'GLOO')

# --- case
if (args.backend or 'gloo') == 'nccl':
#  ^ MIG106.compared rewrite
    pass
# --- after
if (args.backend or 'gloo') in ('nccl', 'hccl'):
    pass

# --- case
import torch.distributed as dist
if 卡 and (b := dist.get_backend())=='nccl':
#         ^ MIG106.compared rewrite
    pass
# --- after
import torch.distributed as dist
if 卡 and (b := dist.get_backend()) in ('nccl', 'hccl'):
    pass

# --- case
ok = not (a or b) != ('nccl')
#        ^ MIG106.compared rewrite
# --- after
ok = not (a or b) not in (('nccl', 'hccl'))

# --- case
import torch.distributed as dist
ok = (dist  # ==
#    ^ MIG106.compared rewrite
 .get_backend()) == "nccl"
# --- after
import torch.distributed as dist
ok = (dist  # ==
 .get_backend()) in ("nccl", "hccl")

# --- case
ok = 'nccl' != (a or b)  # 反写
#    ^ MIG106.compared rewrite
# --- after
ok = (a or b) not in ('nccl', 'hccl')  # 反写

# --- case
ok = b in ('gloo', ('nccl'),)
#    ^ MIG106.compared rewrite
# --- after
ok = b in ('gloo', ('nccl'), 'hccl',)

# --- case
ok = (b == 'nccl') == 'nccl'
#    ^ MIG106.compared rewrite
#     ^ MIG106.compared rewrite
# --- after
ok = (b in ('nccl', 'hccl')) in ('nccl', 'hccl')

# --- near miss
print('nccl 不可用')

# --- near miss
'nccl'

# --- near miss
if backend in ('nccl', 'hccl'):
    pass

# --- near miss
import torch.distributed as dist
dist.init_process_group('gloo')

# --- near miss
name = 'nccl_test'

# --- near miss
from typing import Literal
class A:
    后端: Literal['gloo', 'nccl'] = 'gloo'

# --- near miss
p.add_argument('--nccl', dest='nccl', action='store_true')

# --- near miss
if backend == 'gloo':
    pass

# --- near miss: whether NCCL is there has its own rule
import torch.distributed as dist
ok = dist.is_nccl_available() and 卡数 > 1

# --- near miss: capitals that no call takes
name = 'NCCL' if many else 'GLOO'
