# --- case
from flash_attn import flash_attn_func  # 注意力
^ MIG113.library unsupported

# --- case
try:
    import apex
#   ^ MIG113.library manual
except ImportError:
    apex = None

# --- case
import nvidia.dali as dali
^ MIG113.library unsupported

# --- case
import deepspeed
^ MIG113.library advice

# --- case
def f():
    import pynvml
#   ^ MIG113.library unsupported

# --- case
from cpm_kernels.kernels.base import LazyKernelCModule as M
^ MIG113.library unsupported
核 = M(code)
#    ^ MIG113.use unsupported

# --- case
from apex import amp
^ MIG113.library manual
m, o = amp.initialize(m, o)
#      ^ MIG113.use manual

# --- case
import xformers.ops as x
^ MIG113.library unsupported
y = x.memory_efficient_attention(q, k, v)
#   ^ MIG113.use unsupported

# --- case
管线.enable_xformers_memory_efficient_attention()
^ MIG113.use unsupported

# --- case
from numba import cuda
^ MIG113.library unsupported
@cuda.jit
#^ MIG113.use unsupported
def 核(x):
    pass

# --- case
try:
    from flash_attn.a import f
#   ^ MIG113.library unsupported
except E:
    from flash_attn.b import g as f
#   ^ MIG113.library unsupported
y = f(注意力)
#   ^ MIG113.use unsupported

# --- case
import importlib
k = importlib.import_module('amp_C')
#   ^ MIG113.library unsupported

# --- case
from lightning.fabric.plugins import BitsandbytesPrecision as B
p = B('nf4')  # 量化
#   ^ MIG113.use manual

# --- case
class 层:
    def __init__(self, f):
        self.flash_attn_func = getattr(f, 'flash_attn_func')

    def forward(self, q, k, v):
        return self.flash_attn_func(q, k, v)
#              ^ MIG113.use unsupported

# --- case
from kernels import get_kernel
^ MIG113.library unsupported
k = get_kernel('kernels-community/flash-attn3')
#   ^ MIG113.use unsupported

# --- case: a function under another name
import flash_attn
^ MIG113.library unsupported
注意 = flash_attn.flash_attn_func
#      ^ MIG113.use unsupported

# --- case: a framework is one decision
import mmcv
^ MIG113.library manual
图 = mmcv.imread('a')
mmcv.开 = 1

# --- near miss
import mindspeed.megatron_adaptor
from megatron.core import mpu  # 已适配

# --- near miss
from mine.attention import flash_attn
y = flash_attn.flash_attn_func(q, k, v)  # 自己的封装

# --- near miss
class A:
    def flash_attn_func(self):
        pass

    def f(self):
        self.flash_attn_func()

# --- near miss
from kernels import scan, get
y = scan(x)  # 自己的模块

# --- near miss: libraries that are no matter of CUDA
import apexpy
import transformers  # 已支持
from .apex import tools
from mine import flash_attn
from importlib import import_module
import_module('transformers')

# --- near miss: only spoken of
import importlib
print('import flash_attn')
importlib.import_module(name)

# --- near miss: functions of the same name
import importlib
flash_attn_func(1)
if args.enable_xformers_memory_efficient_attention:
    importlib.import_module(m)

# --- near miss: another plugin
from lightning.fabric.plugins import MixedPrecision
p = MixedPrecision('16')
k = __import__('json')

# --- near miss: Triton has a rule of its own
import importlib
t = importlib.import_module('triton')  # 内核

# --- case: a framework once
from megatron.core import mpu
^ MIG113.library manual
import megatron.training  # 再次

# --- case: a library's name that is not called
import bitsandbytes as bnb
^ MIG113.library manual
ok = isinstance(m, bnb.nn.Linear4bit)
m = bnb.nn.Linear4bit(8, 8), bnb.nn.Linear4bit(8, 8)  # 一行一次
#   ^ MIG113.use manual

# --- case: what NVIDIA's driver is asked has its own rule
import pynvml
^ MIG113.library unsupported
pynvml.nvmlInit()  # 显存
