# --- case
if x.device.type == 'cuda':  # 在显卡上
#  ^ MIG104.type rewrite
    pass
# --- after
if x.device.type in ('cuda', 'npu'):  # 在显卡上
    pass

# --- case
ok = '中文' and t.device.type != 'cuda'
#               ^ MIG104.type rewrite
# --- after
ok = '中文' and t.device.type not in ('cuda', 'npu')

# --- case
def f(device):
    return 'cuda' == device.type
#          ^ MIG104.type rewrite
# --- after
def f(device):
    return device.type in ('cuda', 'npu')

# --- case
if x.device.type in ('cuda', 'xpu'):
#  ^ MIG104.type rewrite
    pass
# --- after
if x.device.type in ('cuda', 'xpu', 'npu'):
    pass

# --- case
ok = str(x.device).startswith('cuda')
#    ^ MIG104.type rewrite
# --- after
ok = str(x.device).startswith(('cuda', 'npu'))

# --- case
import torch
ok = x.device == torch.device('cuda:0')
#    ^ MIG104.device rewrite
# --- after
import torch
ok = x.device == torch.device('npu:0')

# --- case
ok = str(x.clone() or y.device) == 'cuda:0' and (x or y).device.type!='cuda'
#    ^ MIG104.assumed auto
#                                               ^ MIG104.type rewrite
# --- after
ok = str(x.clone() or y.device) == 'cuda:0' and (x or y).device.type not in ('cuda', 'npu')

# --- case
ok = x.device.type in ('cpu', ('cuda'))
#    ^ MIG104.type rewrite
# --- after
ok = x.device.type in ('cpu', ('cuda'), 'npu')

# --- case
device_type = 'cuda'
if device_type == 'cuda':
#  ^ MIG104.holds auto
    pass

# --- case
import torch
d = torch.device('cuda')
if d.type == 'cuda':
#  ^ MIG104.holds auto
    pass

# --- case
gpu = x.device.type != 'cpu'
#     ^ MIG104.holds auto

# --- case
t = x.device.type
if t == 'cuda':
#  ^ MIG104.text rewrite
    pass
# --- after
t = x.device.type
if t in ('cuda', 'npu'):
    pass

# --- case
def f(device_type):
    return device_type == 'cuda'  # 未知
#          ^ MIG104.assumed auto

# --- case
d = x.device
ok = d.type != 'cuda'
#    ^ MIG104.type rewrite
# --- after
d = x.device
ok = d.type not in ('cuda', 'npu')

# --- case
if 'cuda' in str(x.device):
#  ^ MIG104.text manual
    pass

# --- case
def f(device):
    cuda = device.type != 'cpu'
#          ^ MIG104.holds auto
    if cuda and 多卡:
#      ^ MIG104.holds auto
        pass

# --- case
import torch
gpu = not 慢 and torch.cuda.is_available()
if gpu:
#  ^ MIG104.holds auto
    pass

# --- case
import torch
卡 = True if torch.cuda.is_available() else False
if 卡:
#  ^ MIG104.holds auto
    pass

# --- case
import torch
if device == torch.device('cuda'):  # 手工创建
#  ^ MIG104.assumed auto
    pass

# --- case
if device.startswith('cuda:'):
#  ^ MIG104.assumed auto
    pass

# --- case
n = int(str(self.device).strip('cuda:'))  # 第几张
#       ^ MIG104.cut manual

# --- case
import torch
class T:
    def __init__(self):
        self.device = torch.device('cuda')
    def f(self, x):
        if x.device != self.device:
#          ^ MIG104.by_hand manual
            raise ValueError('不符')

# --- case
import torch
d = torch.device('cuda:0')
assert x.device == d
#      ^ MIG104.by_hand manual

# --- case
import torch
d = torch.device(f'cuda:{卡}')
ok = y.device.type == d.type
#    ^ MIG104.by_hand manual

# --- case
import torch
d = torch.device(args.cuda)
ok = d == y.device
#    ^ MIG104.by_hand manual

# --- case
import torch
d = torch.device(args.device or 'cuda:0')
ok = str(d) != str(y.device)
#    ^ MIG104.by_hand manual

# --- case
kind = 'cuda' if gpu else 'cpu'
ok = kind == x.device.type
#    ^ MIG104.by_hand manual

# --- case
表 = {'cuda': f, 'cpu': g}
#     ^ MIG104.keyed manual
表[x.device.type](x)

# --- case
T = {'cuda': f}
#    ^ MIG104.keyed manual
y = T.get(device.type, g)

# --- case
KINDS = ('cuda', 'xpu')
#        ^ MIG104.keyed manual
ok = x.device.type in KINDS

# --- case
class A:
    T = dict(cuda=f)
#            ^ MIG104.keyed manual
    def f(self, x):
        return self.T[x.device.type]

# --- case
from config import PEAK
x = x.cuda()
peak = PEAK[x.device.type]
#      ^ MIG104.keyed manual

# --- case
if x.device.type == 'cuda':
#  ^ MIG104.own_branch auto
    pass
elif x.device.type == 'npu':
    pass

# --- case
if x.device.type == 'cuda':
#  ^ MIG104.own_branch auto
    a()
elif 卡 == 'mps':
    b()
elif x.device.type == 'npu':
    c()

# --- case
if x.device.type == 'cuda':
#  ^ MIG104.kernels auto
    y = scan_cuda(x)
else:
    y = scan(x)

# --- case
from torch import nn
if x.device.type == 'cuda':
#  ^ MIG104.data_parallel manual
    m = nn.DataParallel(m)
else:
    m.to(x.device)

# --- case: match, Python 3.10
match x.device.type:
    case 'cuda':  # 显卡
#        ^ MIG104.type rewrite
        a()
    case _:
        b()
# --- after
match x.device.type:
    case 'cuda' | 'npu':  # 显卡
        a()
    case _:
        b()

# --- case: match, Python 3.10
match str(x.device):
    case ('xpu' | 'cuda:0') as 名:
#                 ^ MIG104.type rewrite
        a()
# --- after
match str(x.device):
    case ('xpu' | 'cuda:0' | 'npu:0') as 名:
        a()

# --- case: match, Python 3.10
match (x.device.type, y):
    case ('cuda', 1):
#         ^ MIG104.type manual
        a()

# --- case: match, Python 3.10
match x.device.type:
    case 'cuda':
#        ^ MIG104.own_branch auto
        a()
    case 'npu':
        b()

# --- case: match, Python 3.10
match args.device:
    case 'cuda':
#        ^ MIG104.assumed auto
        a()

# --- case: match, Python 3.10
match x.device.type:
    case 'cuda':
#        ^ MIG104.kernels auto
        y = scan_cuda(x)

# --- near miss
if x.device.type in ('cuda', 'npu'):  # 已支持
    pass

# --- near miss
ok = x.device.type == 'mps'

# --- near miss
if args.type == 'video':
    pass

# --- near miss
ok = name.startswith('cuda_')

# --- near miss
ok = str(x.device).startswith(('cuda', 'npu'))

# --- near miss
ok = x.device == y.device

# --- near miss
ok = args.backend == 'cuda_amp'

# --- near miss
import torch
d = torch.device('cpu')
ok = x.device == d or x.device.type == d.type

# --- near miss
import torch
self.device = torch.device('cuda')
if x.device != self.device:
    x = x.to(self.device)

# --- near miss
d = str(device).strip().replace('cuda:', '')  # 用户写的

# --- near miss
import torch
d = torch.device(args.device)
ok = d == y.device

# --- near miss: match, Python 3.10
match x.device.type:
    case 'cpu':  # 主机
        ok = y.device.type == 'mps'

# --- near miss: a number called cuda
cuda = 1
if cuda:
    ok = 0 < cuda < 8

# --- near miss: a text, not whether there is a GPU
import torch
名 = 'a' if torch.cuda.is_available() else ''
if 名:
    ok = 名 is None

# --- near miss: a parameter
def f(cuda):
    if cuda:  # 参数
        return cuda == 'fast'

# --- near miss: a table that knows npu
T = {'cuda': f, 'npu': g}
if x.device.type == 'mps':
    T[x.device.type](x)

# --- near miss: a table that is given npu
T = {'cuda': f}
T['npu'] = f
if kind == 'fast':
    T[x.device.type](x)

# --- near miss: a counter, and a table from elsewhere
n = collections.Counter()
n[x.device.type] += 1
if n['x'] > 3:
    y = 表.get(x.device.type)

# --- near miss: a table that is handed in
def f(x, table):
    return table[x.device.type] if len(table) > 1 else None

# --- near miss: a device cut for its own sake, and a text that is no device
s = str(x.device).strip('cuda:')
n = int(str(x.name).strip('cuda:')), int(str(x.device).strip('npu:'))  # 编号
