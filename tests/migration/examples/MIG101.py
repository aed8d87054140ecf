# --- case
import torch
torch.cuda.set_device(0)  # 设置设备
^ MIG101.same auto

# --- case
from torch.cuda import nvtx as n
n.range_push('step')
^ MIG101.nvtx manual

# --- case
import torch
x = 1; torch.cuda.get_device_capability()[0] >= 8
#      ^ MIG101.capability manual

# --- case
import torch
p = torch.cuda.get_device_properties(0)
#   ^ MIG101.same auto
print('主版本', p.major)
#               ^ MIG101.compute_capability manual

# --- case
import torch as t
t.cuda.jiterator._create_jit_fn('')
^ MIG101.absent unsupported

# --- case
import torch
g = torch.cuda.CUDAGraph()
#   ^ MIG101.graph auto

# --- case
import torch
峰 = torch.cuda.memory.max_memory_allocated(0)
#    ^ MIG101.submodule rewrite
# --- after
import torch
峰 = torch.cuda.max_memory_allocated(0)

# --- case
from torch.cuda.memory import memory_allocated
m = memory_allocated()
#   ^ MIG101.submodule manual

# --- case
import torch
torch.cuda.memory._record_memory_history()
^ MIG101.same auto

# --- case
import torch
s = torch._C._cuda_getCurrentRawStream(0)
#   ^ MIG101.binding manual

# --- case
import torch
s = torch.cuda.current_stream().cuda_stream
#   ^ MIG101.same auto
#   ^ MIG101.stream_pointer manual

# --- near miss
torch = make()
torch.cuda.get_device_capability()

# --- near miss
def f(torch):
    return torch.cuda.nvtx

# --- near miss
from mine import cuda
cuda.synchronize()

# --- near miss
import torch
torch._C._jit_set_profiling_mode(False)

# --- near miss
self.cuda_stream = s

# --- near miss: the name in a text
import torch
print('torch.cuda.is_available 是什么', torch.version.cuda)

# --- near miss: the module itself
import torch.cuda
print(torch.cuda)

# --- near miss: what mixed precision has its own rule for
import torch
with torch.cuda.amp.autocast():
    pass

# --- case: a name that the map does not have
import torch
torch.cuda.no_such_name()  # 未知
^ MIG101.unknown manual
