# --- case
from torch.profiler import profile, ProfilerActivity
with profile(activities=[ProfilerActivity.CUDA]):  # 采集
#    ^ MIG124.replaced auto
#                        ^ MIG124.replaced auto
    pass

# --- case
import torch
with torch.profiler.profile() as p:
#    ^ MIG124.replaced auto
    pass
print('表', p.key_averages().table())
#           ^ MIG124.key_averages manual

# --- case
import torch
with torch.autograd.profiler.profile(use_device='cuda'):
#    ^ MIG124.autograd manual
    pass

# --- case
import torch
with torch.autograd.profiler.emit_nvtx():  # 标记
#    ^ MIG124.autograd manual
    pass

# --- near miss
from mine import emit_nvtx
with emit_nvtx():
    pass

# --- near miss
from torch.profiler import record_function
with record_function('前向'):
    pass

# --- near miss
import cProfile
p = cProfile.Profile()

# --- near miss
import torch
with torch.autograd.profiler.profile():
    pass
