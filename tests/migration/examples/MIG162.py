# --- case: names that came later
import torch

空闲 = torch.cuda.mem_get_info()
#      ^ MIG162.name manual

# --- case: by torch_npu's own name
import torch

空闲 = torch.npu.mem_get_info()
#      ^ MIG162.name manual

# --- case: the script asks first
import torch

if hasattr(torch.cuda, "mem_get_info"):
    空闲 = torch.cuda.mem_get_info()
#          ^ MIG162.guarded auto
空闲 = torch.cuda.mem_get_info() if torch.cuda and hasattr(torch.cuda, "mem_get_info") else 0
#      ^ MIG162.guarded auto
有 = hasattr(torch.cuda, "mem_get_info") and torch.cuda.mem_get_info()
#                                            ^ MIG162.guarded auto
if not hasattr(torch.cuda, "mem_get_info"):
    空闲 = 0
else:
    空闲 = torch.cuda.mem_get_info()
#          ^ MIG162.guarded auto
try:
    空闲 = torch.cuda.mem_get_info()
#          ^ MIG162.guarded auto
except (AttributeError, RuntimeError):
    空闲 = 0

# --- case: asked for something else, the wrong way round, or caught and raised
import torch

if hasattr(torch.cuda, "synchronize"):
    空闲 = torch.cuda.mem_get_info()
#          ^ MIG162.name manual
if not hasattr(torch.cuda, "mem_get_info"):
    空闲 = torch.cuda.mem_get_info()
#          ^ MIG162.name manual
try:
    空闲 = torch.cuda.mem_get_info()
#          ^ MIG162.name manual

    def 稍后():
        return torch.cuda.mem_get_info()
#              ^ MIG162.name manual
except AttributeError:
    raise
try:

    def 稍后():
        return torch.cuda.mem_get_info()
#              ^ MIG162.name manual
except AttributeError:
    pass

# --- case: an operator that came later
import torch_npu

y = torch_npu.npu_swiglu(x)
#   ^ MIG162.name manual

# --- case: a type that came later
import torch

x = torch.zeros(4, dtype=torch.float8_e4m3fn)
#                        ^ MIG162.type manual

# --- case: devices that are not mapped yet
import torch

state = torch.load("模型.pt", map_location="cuda:0")
#                                          ^ MIG162.device rewrite
with torch.autocast("cuda", dtype=torch.bfloat16):
#                   ^ MIG162.device rewrite
    pass
# --- after
import torch

state = torch.load("模型.pt", map_location="npu:0")
with torch.autocast("npu", dtype=torch.bfloat16):
    pass

# --- near miss: what this release has, maps or was never seen
import torch
import torch_npu

x = torch.zeros(2, device="cuda", dtype=torch.bfloat16)
名称 = torch.cuda.get_device_name()
y = torch_npu.npu_fusion_attention(x, x, x, 1, "BNSD")
z = torch.cuda.no_release_has_this()

# --- near miss: a name of the script's own
class 状态:
    def load(self, place="cuda"):
        return place


状态().load("cuda")
