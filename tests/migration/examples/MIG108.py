# --- case
import torch
with torch.cuda.amp.autocast():  # 混合精度
#    ^ MIG108.works auto
    pass

# --- case
from torch.cuda.amp import GradScaler as G
s = G(enabled=True)
#   ^ MIG108.works auto

# --- case
import torch
with torch.autocast(device_type='cuda', dtype=torch.bfloat16):
#    ^ MIG108.works auto
    pass

# --- case
from torch import amp
s = amp.GradScaler('cuda')
#   ^ MIG108.works auto

# --- case: another library's autocast; Python 3.10 says where in the import
from ultralytics.utils.torch_utils import autocast as 混合
#                                         ^ MIG108.wrapped manual

# --- case: another option says cpu
import torch
with torch.autocast('cuda', 备注='cpu'):
#    ^ MIG108.works auto
    pass

# --- case: whether autocast is on, asked as CUDA code does
import torch
t = torch.float16 if torch.is_autocast_enabled() else torch.float32  # 精度
#                    ^ MIG108.asks advice

# --- case: the same by name of the device
import torch
on = torch.is_autocast_enabled('cuda')  # 开
#    ^ MIG108.asks advice

# --- case: the NPU's own is what it is on every release
import torch
on = torch.is_autocast_enabled('npu')  # 开
#    ^ MIG108.works auto

# --- near miss
from torch.cuda.amp import autocast  # 只导入

# --- near miss
from accelerate import autocast
with autocast():
    pass

# --- near miss
import torch
with torch.autocast('cpu', dtype=torch.bfloat16):
    s = torch.amp.GradScaler(device='cpu')

# --- near miss
import torch
t = torch.get_autocast_cpu_dtype()

# --- near miss
from .amp import autocast
from utils.amp import autocast as a
from torch_xla.amp import autocast as x

# --- near miss: a flag
amp = True
if amp:
    pass
from ultralytics.utils.torch_utils import select_device
