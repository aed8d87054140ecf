# --- case
from torch.utils.cpp_extension import CUDAExtension
e = CUDAExtension('核', ['a.cu'])
#   ^ MIG114.cuda unsupported

# --- case
from torch.utils import cpp_extension
cpp_extension.load_inline('a', cpp_sources='', cuda_sources='x')
^ MIG114.cuda unsupported

# --- case
from torch.utils.cpp_extension import load
load(name='a', sources=['a.cpp', 'b.cu'])
^ MIG114.cuda unsupported

# --- case
from torch.utils.cpp_extension import load
k = load(name='a', sources=cuda_files)
#   ^ MIG114.cuda unsupported
k.forward(1)
^ MIG114.call unsupported

# --- case
from torch.utils import cpp_extension as c
c.CppExtension('核', sources=['a.cu'])
^ MIG114.cuda unsupported

# --- case
import torch.utils.cpp_extension as c
build = c.CUDAExtension if x else c.CppExtension
#       ^ MIG114.cuda unsupported

# --- case
k = ops.get_plugin(name='a', sources=['a.cpp', 'a.cu'])
#   ^ MIG114.cuda unsupported

# --- case
import torch
from torch.utils.cpp_extension import load
load('wkv', ['a.cu'], is_python_module=False)
^ MIG114.cuda unsupported
y = torch.ops.wkv.forward(x)  # 核
#   ^ MIG114.call unsupported

# --- case
from torch.utils import cpp_extension as c
def 构建(n):
    k = c.load(n, [n + '.cu'])
#       ^ MIG114.cuda unsupported
    return k


m = 构建('a')
#   ^ MIG114.cuda unsupported
m.go()
^ MIG114.call unsupported

# --- case
from torch.utils.ffi import create_extension
ext = create_extension('_ext.核', with_cuda=gpu, sources=s)
#     ^ MIG114.cuda unsupported

# --- case
from megatron import fused_kernels
fused_kernels.load(args)
^ MIG114.cuda unsupported

# --- near miss
from torch.utils.cpp_extension import CppExtension
e = CppExtension('核', ['a.cpp'])

# --- near miss
from torch.utils.cpp_extension import load
load(name='a', sources=['a.cpp'])

# --- near miss
import json
json.load('a.cu')

# --- near miss
from torch.utils.cpp_extension import load
m = load(name='a', sources=files)  # 来源未知，无 GPU 字样

# --- near miss
import torch
from torch.utils.cpp_extension import load
load('cpu_ops', ['a.cpp'])
torch.ops.cpu_ops.f(张量)

# --- near miss
from torch.utils.ffi import create_extension
create_extension('_ext.a', sources=['a.c'])  # 只用 CPU

# --- near miss
from mine import fused_kernels
fused_kernels.load(1)

# --- near miss: only imported
from torch.utils.cpp_extension import BuildExtension, CUDAExtension
ok = isinstance(e, CUDAExtension)  # 只判断

# --- near miss: names of files
from torch.utils.cpp_extension import CppExtension as Cpp
files = ['a.cu']
print(len(files), Cpp)

# --- near miss: a function of the file's own
from torch.utils import cpp_extension
def load(args):
    return open('a.cu')
f = load(1)
print(cpp_extension.CUDA_HOME)

# --- case: calls beside those of a module that was built
from torch.utils.cpp_extension import load
k = load('核', ['a.cu'])
#   ^ MIG114.cuda unsupported
import torch
opt = make()
opt.step()
torch.ops.other.go(x)
k.go(x)
^ MIG114.call unsupported

# --- case: kept where no name is
from torch.utils.cpp_extension import load
模块.k = load('核', ['a.cu'])
#        ^ MIG114.cuda unsupported
模块.k.go(x)
