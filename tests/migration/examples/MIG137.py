# --- case
import roi_align_cuda
^ MIG137.module unsupported
y = roi_align_cuda.forward(特征, r)
#   ^ MIG137.call unsupported

# --- case
from . import nms_cuda
^ MIG137.module unsupported
y = nms_cuda.nms(x)
#   ^ MIG137.call unsupported

# --- case
from . import _C
^ MIG137.module unsupported
y = _C.forward(x)
#   ^ MIG137.call unsupported

# --- case
import importlib
k = importlib.import_module('fused_adam_cuda')
#   ^ MIG137.module unsupported
k.adam(1)
^ MIG137.call unsupported

# --- case
from knn_cuda import KNN
^ MIG137.module unsupported
k = KNN(4)
#   ^ MIG137.call unsupported

# --- case
import torch
import ball._ext as _ext
^ MIG137.module unsupported
y = _ext.query(点)
#   ^ MIG137.call unsupported

# --- case
from torch.autograd import Function
try:
    import _grid as k
#   ^ MIG137.module unsupported
except ImportError:
    from .backend import k
#   ^ MIG137.module unsupported
class 编码(Function):
    def forward(ctx, x):
        k.grid_forward(x)
#       ^ MIG137.call unsupported

    def backward(ctx, g):
        k.grid_backward(g)
#       ^ MIG137.call unsupported

# --- case
import torch
from .._ext import pool
^ MIG137.module unsupported
pool.forward(x)
^ MIG137.call unsupported

# --- case
try:
    import near_cuda_corr
#   ^ MIG137.module unsupported
except ImportError:
    pass
y, = near_cuda_corr.forward(a)
#    ^ MIG137.call unsupported

# --- near miss
from .misc import move_to_cuda
x = move_to_cuda(x)  # 搬到显卡

# --- near miss
from utils import to_cuda, is_cuda
y = to_cuda(x)

# --- near miss
from torch import _C
_C._jit_set_profiling_mode(False)

# --- near miss
from .kernels import scan_cuda

# --- near miss
import torch.cuda
torch.cuda.synchronize()

# --- near miss
import test_cuda

# --- near miss
from torch.autograd import Function
from . import k
class F(Function):
    def forward(ctx, x):
        return k.go_forward(x)  # 只有前向

# --- near miss
from torch.autograd import Function
import torch.nn.functional as F
class G(Function):
    def forward(ctx, x):
        F.forward(x)

    def backward(ctx, g):
        F.backward(g)

# --- near miss
import my_cuda_timer
my_cuda_timer.start()  # 计时

# --- near miss
import torch
import a._ext as _ext
print(_ext)

# --- near miss
from ._ext import fast
y = fast.sum([1])
