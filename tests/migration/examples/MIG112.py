# --- case
import triton
^ MIG112.kernel unsupported
import triton.language as tl  # 内核
^ MIG112.kernel unsupported

# --- case
def 核(x):
    from .triton_ops import k
#   ^ MIG112.kernel unsupported
    return k(x)
#          ^ MIG112.call unsupported


y = 核(1)
#   ^ MIG112.call unsupported

# --- case
from .triton_ops import kernel
^ MIG112.kernel unsupported
y = kernel(x)
#   ^ MIG112.call unsupported

# --- case
import triton
^ MIG112.kernel unsupported
@triton.jit
#^ MIG112.definition unsupported
def k(x):
    pass
k[(1,)](x)
^ MIG112.call unsupported

# --- case
import triton
^ MIG112.kernel unsupported
f = triton.JITFunction(g)
#   ^ MIG112.call unsupported

# --- case
try:
    import triton
#   ^ MIG112.kernel unsupported
except ImportError:
    triton = MagicMock()
@triton.jit
#^ MIG112.definition unsupported
def 核(x):
    pass

# --- case
from . import has_cuda, triton_ops
^ MIG112.kernel unsupported
y = triton_ops.norm(x)

# --- near miss
import tritonclient

# --- near miss
from torch.utils._triton import has_triton

# --- near miss
from ..utils import is_triton_available, is_b
if is_b():
    print(is_triton_available())

# --- near miss
from .triton_utils import is_triton_available
ok = is_triton_available()

# --- near miss
import triton_python_backend_utils as pb_utils
r = pb_utils.InferenceResponse()

# --- near miss
from utils.triton import TritonRemoteModel
m = TritonRemoteModel(url)

# --- near miss: only spoken of
import torch
triton = None
print('triton 不可用')

# --- case: what is no kernel, definition, call or launch in a file that has some
import triton
^ MIG112.kernel unsupported
from .triton_ops import norm
^ MIG112.kernel unsupported
@torch.no_grad()
@triton.jit
#^ MIG112.definition unsupported
def 核(x):
    return triton.cdiv(x, 2)
def plain(x):
    return other(x), norm(x)
#                    ^ MIG112.call unsupported
plain(x)
rows[0]
table['a'].run(x)
