# --- case
import torch.backends.cudnn as cudnn
cudnn.benchmark = True  # 加速
^ MIG119.no_effect advice

# --- case
import torch
torch.backends.cuda.matmul.allow_tf32 = True
^ MIG119.tf32 advice

# --- case
import torch
print('版本', torch.version.cuda)
#             ^ MIG119.version advice

# --- case
import torch
torch.backends.cuda.cufft_plan_cache.max_size = 8
^ MIG119.cufft manual

# --- case
import torch
y = torch.ops.aten.cudnn_convolution(x, w)  # 卷积
#   ^ MIG119.cudnn_operator unsupported

# --- case
import torch
f = torch._C._jit_get_operation('aten::cudnn_convolution')
#   ^ MIG119.cudnn_operator unsupported

# --- case
import torch
bf16 = torch.version.cuda and 新
#      ^ MIG119.version_asked manual

# --- case
import torch
old = int(torch.version.cuda.split('.')[0]) < 11
#         ^ MIG119.version_asked manual

# --- case
import torch
from packaging import version
new = version.parse(torch.version.cuda) >= v
#                   ^ MIG119.version_asked manual

# --- case: asked by a parser that is not known
import torch
新 = self.v.parse(torch.version.cuda)
#                 ^ MIG119.version_asked manual

# --- case: asked for its truth
import torch
if torch.version.cuda:
#  ^ MIG119.version_asked manual
    有 = True
值 = torch.version.cuda if 有 else None
#    ^ MIG119.version advice

# --- near miss
import torch
torch.backends.mkldnn.enabled = False

# --- near miss
import torch
print(torch.version.hip)

# --- near miss
import torch
names = [torch.cudnn_convolution]

# --- near miss
import torch
cudnn_ok = torch.ops.aten.convolution(x, w)

# --- near miss: only imported
import torch
import torch.backends.cudnn as cudnn  # 只导入
print(torch.version.git_version)

# --- near miss: an operator that is only shown, and one with a kernel
import torch
print('aten::cudnn_convolution')  # 只打印
f = torch._C._jit_get_operation('aten::convolution')
