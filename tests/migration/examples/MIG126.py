# --- case
import torch
x = x.to(args.gpu)  # 第几张卡
#   ^ MIG126.number auto

# --- case
import torch
m.cuda()
m.to(0)
^ MIG126.number auto

# --- case
import torch
def f(m, local_rank):
    m.to(local_rank)
#   ^ MIG126.number auto

# --- near miss: nothing says that numbers are devices
import torch
m.to(0)  # 数据类型

# --- near miss: what is no number, beside the word gpu
import torch
gpu = 1
x = x.to(设备)
x = x.to(torch.float32)
x = x.to('cpu')
x = x.to(y)
x = x.to(None)
x = x.to(True)

# --- near miss: two arguments are no device
gpu = 0
move.to(1, 2)
move.to()

# --- near miss: a name that may be anything
def f(x, y, rank=0):
    return x.to(y.dtype)
