# --- case
model = net().cuda()  # 放到显卡
#       ^ MIG103.moved auto

# --- case
x = x.cuda(0, non_blocking=True)
#   ^ MIG103.moved auto

# --- case
x = x.cuda(args.gpu)
#   ^ MIG103.moved auto

# --- case
张量 = x.cuda('cuda:0')
#      ^ MIG103.takes_number rewrite
# --- after
张量 = x.to('cuda:0')

# --- case
x = x.cuda('cuda:0', True)
#   ^ MIG103.takes_number rewrite
# --- after
x = x.to('cuda:0', non_blocking=True)

# --- case
import torch
m.cuda(device=torch.device('cuda'))
^ MIG103.takes_number rewrite
# --- after
import torch
m.to(device=torch.device('cuda'))

# --- case
def f(m, device):
    m.cuda(device)
#   ^ MIG103.takes_number rewrite
# --- after
def f(m, device):
    m.to(device)

# --- case
import torch
def f(m, i=None):
    device = torch.cuda.current_device() if i is None else i
    m.cuda(device=device)  # 编号
#   ^ MIG103.moved auto

# --- case
x = x.cuda(y.device)
#   ^ MIG103.takes_number rewrite
# --- after
x = x.to(y.device)

# --- near miss: functions of torch's own
import torch
torch.cuda.synchronize()
print(torch.version.cuda, '显卡')
torch.ops.mine.cuda(x)

# --- near miss: no call of a method
from torch import ops
x.cuda
cuda()
# x.cuda('cuda:0')
s = 'x.cuda("cuda:0")'
ops.mine.cuda(s)
