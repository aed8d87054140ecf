# --- case
import torch
x = torch.zeros(2, device='cuda')  # 建在显卡上
#                         ^ MIG102.replaced auto

# --- case
def f(rank):
    return f'cuda:{rank}'
#          ^ MIG102.replaced auto

# --- case
device = 'cuda:' + str(0)
#        ^ MIG102.replaced auto

# --- case
device = 'cuda:{}'.format(卡)
#        ^ MIG102.replaced auto

# --- case
device = 'cuda:%d' % rank
#        ^ MIG102.replaced auto

# --- case
p.add_argument('--dev', dest='dev', choices=('cpu', 'cuda'))  # 设备
#                                                   ^ MIG102.replaced auto

# --- case
import torch
名 = torch.asarray([1], device='cuda:0')
#                              ^ MIG102.not_replaced rewrite
# --- after
import torch
名 = torch.asarray([1], device='npu:0')

# --- case
import torch
x = torch.asarray([1], device=f'cuda:{0}')
#                             ^ MIG102.not_replaced rewrite
# --- after
import torch
x = torch.asarray([1], device=f'npu:{0}')

# --- case
import torch
@torch.library.custom_op('核', mutates_args=(), device_types=['cuda'])
#                                                             ^ MIG102.not_replaced rewrite
def f(x):
    pass
# --- after
import torch
@torch.library.custom_op('核', mutates_args=(), device_types=['npu'])
def f(x):
    pass

# --- case
from torch.utils.data import DataLoader
l = DataLoader([1], pin_memory_device='cuda')
#                                     ^ MIG102.pin_memory_device advice

# --- near miss
'cuda'

# --- near miss
def f():
    'cuda'

# --- near miss
名 = d.replace('cuda:', '')

# --- near miss
s = 状态['cuda']

# --- near miss
import torch
if x.device != torch.device('cuda'):
    pass

# --- near miss
def filter(x, impl='cuda'):
    return x

# --- near miss
y = upfirdn(x, impl='cuda')

# --- near miss
ok = hasattr(torch, 'cuda')
状态 = {'cuda': 1}

# --- near miss
p.add_argument('--impl', default='cuda', choices=['cuda', 'ref'])

# --- near miss
p.add_argument('--cuda', dest='cuda', action='store_true')  # 用显卡

# --- near miss
print('cuda')

# --- near miss
exclusive_group(group=g, name='cuda', default=True, help='显卡')

# --- near miss
def supported():
    return ['cuda', 'npu']  # 已支持

# --- near miss
from typing import Literal
def f(device: Literal['cpu', 'cuda'] = 'cpu'):
    pass

# --- near miss: texts that only begin like a device, and one that is shown
print('cuda 不可用', f'{1} cuda:', 'cuda')

# --- near miss: names of kernels
name = 'cuda_kernels'
ops = {'barracuda': 1, 'cuda': 2}

# --- near miss: an option's help
p.add_argument('--device', help='cuda')
log.info('use cuda:0 or cpu', 'cuda')

# --- near miss: mixed precision has its own rule
import torch
with torch.autocast('cuda'):
    pass
