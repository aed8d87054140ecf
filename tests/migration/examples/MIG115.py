# --- case
import torch
import torch.distributed as dist
def f(a):
    和 = torch.tensor([a], dtype=torch.float64, device='cuda')
#                                ^ MIG115.collective rewrite
    dist.all_reduce(和)
# --- after
import torch
import torch.distributed as dist
def f(a):
    和 = torch.tensor([a], dtype=torch.float32, device='cuda')
    dist.all_reduce(和)

# --- case
import time
import torch
import torch.distributed as dist
始 = time.time()
t = torch.tensor([始], dtype=torch.double, device='cuda')
#                            ^ MIG115.digits manual
dist.all_reduce(t, op=dist.ReduceOp.MIN)

# --- case
import torch
x = torch.zeros(3, dtype=torch.double, device='cuda')
#                        ^ MIG115.kernel advice

# --- case
import torch
y = x.double()
#   ^ MIG115.kernel advice

# --- case
import torch
torch.set_default_dtype(torch.float64)
^ MIG115.default manual

# --- near miss
import torch
x = torch.zeros(3, dtype=torch.float64)  # 留在主机

# --- near miss
import numpy as np
x = np.zeros(3, dtype=np.float64)

# --- near miss
import torch
x = torch.zeros(3, dtype=torch.float64, device='cpu')

# --- near miss
x.double(3)

# --- near miss: another default
import torch
torch.set_default_dtype(torch.float32)  # 单精度
