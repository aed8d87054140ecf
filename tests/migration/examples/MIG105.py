# --- case
if x.is_cuda:  # 显卡分支
#  ^ MIG105.kernel rewrite
    from .triton_ops import f
    f(x)
# --- after
if (x.is_cuda and x.device.type != "npu"):  # 显卡分支
    from .triton_ops import f
    f(x)

# --- case
def go(x):
    return scan_cuda(x) if x.is_cuda else scan(x)
#                          ^ MIG105.kernel rewrite
# --- after
def go(x):
    return scan_cuda(x) if (x.is_cuda and x.device.type != "npu") else scan(x)

# --- case
from . import _C
class F(Function):
    def forward(self, x):
        return _C.go(x)


if ok and x.is_cuda:
#         ^ MIG105.kernel rewrite
    y = F.apply(x)
# --- after
from . import _C
class F(Function):
    def forward(self, x):
        return _C.go(x)


if ok and (x.is_cuda and x.device.type != "npu"):
    y = F.apply(x)

# --- case
if not x.is_cuda:  # 主机
#      ^ MIG105.kernel rewrite
    y = scan(x)
else:
    y = k.scan_cuda(x)
# --- after
if not (x.is_cuda and x.device.type != "npu"):  # 主机
    y = scan(x)
else:
    y = k.scan_cuda(x)

# --- case
if not x.is_cuda:
#      ^ MIG105.true auto
    scan_cuda(x.cpu())
else:
    x = x.cpu()

# --- case
if next(批).is_cuda:
#  ^ MIG105.kernel manual
    y = scan_cuda(x)

# --- case
while self.queue.pop().is_cuda:
#     ^ MIG105.true auto
    pass
if f(x).data.is_cuda:
#  ^ MIG105.kernel manual
    scan_cuda(x)

# --- case
if xs[0].is_cuda:
#  ^ MIG105.kernel rewrite
    scan_cuda(xs)
# --- after
if (xs[0].is_cuda and xs[0].device.type != "npu"):
    scan_cuda(xs)

# --- case
from torch import nn
if x.is_cuda and 卡数 > 1:
#  ^ MIG105.data_parallel manual
    y = nn.parallel.data_parallel(m, x)

# --- case
assert x.is_cuda, '须在显卡上'
#      ^ MIG105.true auto

# --- case
if x.is_cuda:
#  ^ MIG105.true auto
    x = x.cpu()

# --- case: a flag of the class's own says nothing of a tensor
class 层:
    def f(self, x):
        self.is_cuda = True
        return x.is_cuda
#              ^ MIG105.true auto

# --- near miss
x.is_cuda = True

# --- near miss
if (x.is_cuda and x.device.type != 'npu'):
    scan_cuda(x)

# --- near miss
class L:
    def __init__(self, d):
        self.is_cuda = d
        if self.is_cuda:
            pass

# --- near miss: a name, and another question
is_cuda = 1
print(is_cuda, x.is_cpu, '否')
