"""Patterns of public training code, one a line of the migration's subjects: what must be found, and what must not.

Each snippet is written for this test in the manner of the repositories that the rules are made for. The class is
asked of the snippet's last line; the silent ones may carry advice, never a class of work.
"""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path

import pytest

from ascend_workbook.migration.api_map import load_map
from ascend_workbook.migration.reading.source import parse_text
from ascend_workbook.migration.repair import class_of
from ascend_workbook.migration.scan import scan_source

TORCH = "import torch\nimport torch.nn as nn\nimport torch.distributed as dist\nimport os\n"
UNSUPPORTED = (
    "import triton.language as tl",
    "from pynvrtc.compiler import Program\nprogram = Program(code.encode(), name)",
    "try:\n    import triton\nexcept ImportError:\n    triton = MagicMock()\n@triton.jit",
    "import pynvml\nhandle = pynvml.nvmlDeviceGetHandleByIndex(0)",
    "from cpm_kernels.kernels.base import KernelFunction\nf = KernelFunction(module, name)",
    "from bert4torch.models import BaseModelDP\nmodel = BaseModelDP(model)",
    "from utils.data_parallel import BalancedDataParallel\nm = BalancedDataParallel(2, m, dim=1).to(device)",
    "import triton\n@triton.jit\ndef add(x, n):\n    pass\nadd[(4,)](x, 8)",
    "import triton\n@triton.autotune(configs=[], key=['n'])",
    "from .triton_kernels import rms_norm\ny = rms_norm(x)",
    "from flash_attn import flash_attn_func\ndef f(q, k, v):\n    return flash_attn_func(q, k, v, causal=True)",
    "from flash_attn.losses.cross_entropy import CrossEntropyLoss as Loss\nloss = Loss()",
    "import xformers.ops as xops\nout = xops.memory_efficient_attention(q, k, v)",
    "pipe.enable_xformers_memory_efficient_attention()",
    "import cupy as cp\na = cp.asarray(x)",
    "from numba import cuda\n@cuda.jit\ndef iou(a, b):\n    pass\nkernel = cuda.grid(1)",
    "from nvidia.dali.pipeline import Pipeline\nclass Train(Pipeline):",
    "import nvidia.dali.fn as fn\nimages = fn.decoders.image(jpegs, device='mixed')",
    "import tensorrt as trt\nbuilder = trt.Builder(logger)",
    "from torch2trt import torch2trt\nfast = torch2trt(m, [x])",
    "import torch_tensorrt\nm = torch_tensorrt.compile(m, inputs=[x])",
    "import transformer_engine.pytorch as te\nlayer = te.Linear(8, 8)",
    "import pycuda.driver as drv\ndrv.init()",
    "from mamba_ssm import Mamba\nblock = Mamba(d_model=16)",
    "from causal_conv1d import causal_conv1d_fn\ny = causal_conv1d_fn(x, w)",
    "import tinycudann as tcnn\nnet = tcnn.Network(3, 4, config)",
    "from diff_gaussian_rasterization import GaussianRasterizer\nr = GaussianRasterizer(s)",
    "from pytorch3d.ops import knn_points\nd = knn_points(a, b)",
    "import amp_C\namp_C.multi_tensor_scale(65536, flag, lists, 1.0)",
    "from . import roi_align_cuda\ny = roi_align_cuda.forward(x, rois)",
    "from .. import _C\ny = _C.deform_attn_forward(v)",
    "import importlib\nfused = importlib.import_module('fused_lamb_cuda')",
    "from torch.utils.cpp_extension import CUDAExtension\next = [CUDAExtension('nms', ['nms.cpp', 'nms.cu'])]",
    "from torch.utils.cpp_extension import load\nplug = load(name='p', sources=['p.cpp', 'p.cu'], verbose=True)",
    "from torch.utils.cpp_extension import load_inline\nm = load_inline('m', cpp_sources=c, cuda_sources=k)",
    "from torch.utils.cpp_extension import CppExtension\ne = CppExtension('a', sources=['a.cpp', 'b.cu'])",
    "plugin = custom_ops.get_plugin(module_name='p', sources=['p.cpp', 'p.cu'])",
    TORCH + "model = nn.DataParallel(model)",
    TORCH + "model = torch.nn.DataParallel(model, device_ids=[0, 1]).cuda()",
    TORCH + "class Balanced(nn.DataParallel):",
    TORCH + "out = nn.parallel.data_parallel(net, x, range(2))",
    TORCH + "replicas = torch.nn.parallel.replicate(net, [0, 1])",
    TORCH + "torch.cuda.jiterator._create_jit_fn(code)",
    TORCH + "alloc = torch.cuda.CUDAPluggableAllocator('a.so', 'get', 'free')",
    TORCH + "torch.cuda.tunable.enable()",
    TORCH + "from torch.utils.cpp_extension import load\nload('scan', ['s.cu'], is_python_module=False)\n"
    "class Scan(torch.autograd.Function):\n    def forward(ctx, x):\n        return torch.ops.scan.forward(x)",
    "from torch.utils import cpp_extension\ndef build(n):\n    return cpp_extension.load(n, [n + '.cu'])\n\n\n"
    "softmax = build('softmax')",
    "from megatron import fused_kernels\nfused_kernels.load(args)",
    TORCH + "try:\n    import sampling._ext as _ext\nexcept ImportError:\n    _ext = None\ni = _ext.farthest(xyz, 8)",
    TORCH + "from .._ext import crop\ncrop.crop_backward(g, out)",
    "try:\n    import local_cuda_corr\nexcept ImportError:\n    pass\ncorr, = local_cuda_corr.forward(a, b, r)",
    TORCH + "from torch.nn.parallel.scatter_gather import scatter\nparts = scatter(x, range(4))",
    TORCH + "g = torch.ops.aten.cudnn_convolution_transpose(x, w, p, p, s, d, 1, False, False, True)",
    TORCH + "op = torch._C._jit_get_operation('aten::cudnn_batch_norm')",
    TORCH + "import _freq as k\nclass Freq(torch.autograd.Function):\n    def backward(ctx, g):\n"
    "        return k.freq_backward(g)\n\n    def forward(ctx, x):\n        return k.freq_forward(x)",
    "from torch.utils.ffi import create_extension\nffi = create_extension('_ext.nms', with_cuda=True, sources=s)",
    "self.flash_attn_func = getattr(pack, 'flash_attn_func')\no = self.flash_attn_func(q, k, v)",
    "import dgl",
    "from kernels import get_kernel\nattention = get_kernel('someone/flash-attention')",
)
MANUAL = (
    "from apex import amp\nmodel, opt = amp.initialize(model, opt, opt_level='O2')",
    "from apex import amp\nwith amp.scale_loss(loss, opt) as scaled:",
    "from apex.optimizers import FusedAdam\nopt = FusedAdam(params, lr=1e-3)",
    "from apex.parallel import DistributedDataParallel as DDP\nmodel = DDP(model)",
    "import bitsandbytes as bnb\nopt = bnb.optim.Adam8bit(params)",
    "import bitsandbytes as bnb\ncls = bnb.nn.Linear4bit if four else nn.Linear",
    "model = AutoModel.from_pretrained(path, load_in_8bit=True)",
    "args = TrainingArguments('out', optim='paged_adamw_32bit')",
    "import subprocess\nsubprocess.check_output(['nvidia-smi', '--query-gpu=memory.used', '--format=csv'])",
    "import os\nlines = os.popen('nvidia-smi -L').read()",
    TORCH + "torch.autograd.profiler.emit_nvtx().__enter__()",
    TORCH + "os.environ['NCCL_SOCKET_IFNAME'] = 'eth0'",
    TORCH + "torch.cuda.nvtx.range_push('forward')",
    TORCH + "torch.cuda.profiler.start()",
    TORCH + "torch.cuda.cudart().cudaProfilerStart()",
    TORCH + "bf16 = torch.cuda.get_device_capability()[0] >= 8",
    TORCH + "major = torch.cuda.get_device_properties(0).major",
    TORCH + "ok = torch.cuda.nccl.version() >= (2, 10)",
    TORCH + "archs = torch.cuda.get_arch_list()",
    TORCH + "used = torch.cuda.memory_usage()",
    TORCH + "old = torch.version.cuda < '11.0'",
    TORCH + "torch.set_default_tensor_type('torch.cuda.FloatTensor')",
    TORCH + "torch.set_default_tensor_type(torch.cuda.HalfTensor)",
    TORCH + "if x.type() == 'torch.cuda.HalfTensor':",
    TORCH + "torch.set_default_dtype(torch.float64)",
    TORCH + "model = torch.compile(model, backend=args.backend)",
    TORCH + "step = torch._dynamo.optimize('inductor')(step)",
    TORCH + "stream = torch._C._cuda_getCurrentRawStream(0)",
    TORCH + "torch.backends.cuda.cufft_plan_cache.max_size = 4",
    TORCH + "s = torch.jit.script(model)\ns.save('m.pt')",
    TORCH + "with torch.autograd.profiler.profile(use_cuda=True) as p:",
    "peak_flops = 312e12",
    "gpu_peak = {'H100': 989e12}",
    "BANDWIDTH = [(['a100'], 1.55e12)]",
    TORCH + "number = int(str(self.device).strip('cuda:'))",
    "import horovod.torch as hvd",
    "import pydcgm",
    "from lightning.fabric.plugins import BitsandbytesPrecision\nplugins = BitsandbytesPrecision('nf4')",
    "session = ort.InferenceSession(path, providers=['CUDAExecutionProvider', 'CPUExecutionProvider'])",
    "import megatron.core",
    "from mmcv.ops import nms",
    "from detectron2.engine import DefaultTrainer",
    "from ultralytics.utils.torch_utils import autocast",
)
REWRITE = (
    TORCH + "model.cuda('cuda:0')",
    TORCH + "model.cuda(torch.device('cuda', 0))",
    TORCH + "x = x.cuda(device='cuda:1', non_blocking=True)",
    TORCH + "def go(m, device):\n    m.cuda(device)",
    TORCH + "if x.device.type == 'cuda':",
    TORCH + "if dist.get_backend() == 'nccl':",
    TORCH + "if dist.get_backend() == dist.Backend.NCCL:",
    TORCH + "assert dist.get_backend() in ('nccl', 'gloo')",
    TORCH + "dist.init_process_group(backend='NCCL')",
    TORCH + "os.environ['CUDA_VISIBLE_DEVICES'] = '0,1'",
    TORCH + "gpus = os.environ.get('CUDA_VISIBLE_DEVICES', '')",
    TORCH + "os.environ['CUDA_LAUNCH_BLOCKING'] = '1'",
    TORCH + "os.environ['PYTORCH_CUDA_ALLOC_CONF'] = 'expandable_segments:True'",
    TORCH + "model = torch.compile(model)",
    TORCH + "@torch.compile(mode='reduce-overhead')",
    TORCH + "model = model.to(memory_format=torch.channels_last)",
    TORCH + "x = x.type('torch.cuda.FloatTensor')",
    TORCH + "peak = torch.cuda.memory.max_memory_allocated()",
    "from torch._six import inf",
    "if 'CUDA out of memory' in str(error):",
)
AUTO = (
    TORCH + "device = 'cuda' if torch.cuda.is_available() else 'cpu'",
    TORCH + "device = 'cuda:{}'.format(rank)",
    TORCH + "x = x.cuda(non_blocking=True)",
    TORCH + "x = net(\n    x,\n).cuda()",
    TORCH + "x = x.to(args.gpu)",
    TORCH + "dist.init_process_group('nccl', init_method='env://')",
    TORCH + "parser.add_argument('--dist-backend', default='nccl', choices=['nccl', 'gloo'])",
    TORCH + "scaler = torch.cuda.amp.GradScaler()",
    TORCH + "with torch.autocast('cuda', dtype=torch.bfloat16):",
    TORCH + "graph = torch.cuda.CUDAGraph()",
    TORCH + "x = x.pin_memory()",
    TORCH + "model = nn.parallel.DistributedDataParallel(model, device_ids=[0])",
    TORCH + "use_cuda = torch.cuda.is_available() and not args.no_cuda\nif use_cuda:",
    TORCH + "torch.cuda.manual_seed_all(1)",
)
SILENT = (
    "os.environ['CUDA_DEVICE_MAX_CONNECTIONS'] = '1'",
    "import os\nos.environ['CUDA_DEVICE_MAX_CONNECTIONS'] = '1'  # Megatron 需要",
    "import os\nos.environ['CUDA_DEVICE_ORDER'] = 'PCI_BUS_ID'",
    "import os\nos.environ['TORCH_CUDA_ARCH_LIST'] = ''",
    "import os\nargs.gpu = int(os.environ['LOCAL_RANK'])",
    "import mindspeed.megatron_adaptor\nimport megatron.core",
    "import torch.backends.cudnn as cudnn\ncudnn.benchmark = True",
    "import torch\ntorch.backends.cuda.matmul.allow_tf32 = True",
    "import torch\ntorch.backends.cudnn.deterministic = True",
    "from torch.cuda import amp",
    "from torch.nn.parallel import DistributedDataParallel as DDP",
    "from torch.utils.data import DataLoader\nloader = DataLoader(d, num_workers=4, pin_memory=True)",
    "from torch.utils.cpp_extension import BuildExtension, CUDAExtension",
    "from torch.utils.cpp_extension import CppExtension\ne = CppExtension('a', ['a.cpp'])",
    "import torch.nn as nn\nplain = model.module if isinstance(model, nn.DataParallel) else model",
    "import torch\nbetas = torch.linspace(0, 1, 10, dtype=torch.float64)",
    "import numpy as np\na = np.zeros(3, dtype=np.float64)",
    "import re\npattern = re.compile('cuda')",
    "model.compile(optimizer='adam', loss='mse')",
    "import torch\nflash = hasattr(torch.nn.functional, 'scaled_dot_product_attention')",
    "if self.flash:\n    pass",
    "try:\n    import thop\nexcept ImportError:\n    thop = None",
    "print('CUDA is not available, using CPU')",
    "logger.info(f'world size {n}, gpu {args.gpu}')",
    "warnings.warn('Failed to launch Triton kernels, likely due to missing CUDA toolkit')",
    "parser.add_argument('--ngpu', type=int, default=1, help='number of GPUs, cuda only')",
    "def dtw_cuda(x):\n    return x",
    "def filter2d(x, impl='cuda'):\n    return x",
    "# model = nn.DataParallel(model).cuda()",
    "s = 'import flash_attn'",
    "'''\n>>> x = torch.randn(3).cuda()\n'''",
    "from .misc import move_to_cuda\nbatch = move_to_cuda(batch)",
    "from torch import _C\n_C._jit_set_profiling_mode(False)",
    "import tritonclient.http as client",
    "import triton_python_backend_utils as pb_utils\nr = pb_utils.Tensor('a', x)",
    "import transformers\nm = transformers.AutoModel.from_pretrained('m')",
    "import deepspeed\ndeepspeed.init_distributed()",
    "import accelerate\na = accelerate.Accelerator()",
    "if 'out of memory' in str(error):\n    pass",
    "a = TrainingArguments('out', optim='adamw_torch', fp16=True)",
    "m = AutoModel.from_pretrained(path, load_in_8bit=False, attn_implementation='sdpa')",
    "class FakeCuda:\n    def cuda(self):\n        return self",
    "self.cuda = True\nself.use_gpu = False",
    "from mine import amp\nwith amp.scale_loss(l, o):\n    pass",
    "import torch\nwith torch.autocast('cpu', dtype=torch.bfloat16):\n    pass",
    "import torch\nx = x.to(torch.float16)",
    "import torch\nx = x.to('cpu')",
    "import torch\nprint(torch.version.cuda)",
    "import torch\ninfo = {'cuda': torch.version.cuda}",
    "import torch\ntorch._C._jit_set_profiling_executor(False)",
    "flops = n * 6e12",
    "import os\nincludes = os.getenv('NCCL_INCLUDE_DIRS')",
    "import os\nos.environ['NCCL_P2P_DISABLE'] = '1'",
    "import os\nos.environ.setdefault('TORCH_NCCL_ASYNC_ERROR_HANDLING', '1')",
    "group.add_flag(group=g, name='cuda', default=True, help='enables cuda')",
    "parser.add_argument('--cuda', dest='cuda', action='store_true', help='cuda')",
    "if found:\n    print('cuda')",
    "from typing import Literal\nclass Args:\n    backend: Literal['gloo', 'nccl', 'mpi'] = 'gloo'",
    "import torch\nfrom torch.utils.cpp_extension import load\nload('cpu_ops', ['a.cpp'])\ntorch.ops.cpu_ops.go(1)",
    "import my_cuda_timer\nmy_cuda_timer.start()",
    "import torch\ny = torch.gather(x, 1, i).scatter(0, i, z)",
    "memory_gb = {'a': 80, 'b': 40}",
    "import wrapt._ext as _ext\n_ext.go()",
    "def devices():\n    return ('cuda', 'npu')",
    "device = str(device).strip().lower().replace('cuda:', '').replace('none', '')",
    "import torch\nimport kernel as k\nclass Freq(torch.autograd.Function):\n    def forward(ctx, x):\n"
    "        return k.freq_forward(x)",
    "from .attention import flash_attn\ny = flash_attn.flash_attn_func(q, k, v)",
    "def load(args):\n    return open('a.cu')\nf = load(1)",
    "import torch\nckpt = torch.load(path, map_location='cpu')  # 避免占用 CUDA 显存",
)
WANTED = [
    (kind, code)
    for kind, codes in (("unsupported", UNSUPPORTED), ("manual", MANUAL), ("rewrite", REWRITE), ("auto", AUTO))
    for code in codes
]


def _classes(code: str, line: int | None = None) -> set[str]:
    found = scan_source(parse_text(code), strict=True)
    return {class_of(each) for each in found if line is None or (each.place and each.place.line == line)}


@pytest.mark.parametrize(("kind", "code"), WANTED)
def test_the_last_line_is_of_this_class(kind: str, code: str) -> None:
    opens = code.rstrip().endswith(":")
    decorated = code.rpartition("\n")[2].startswith("@")
    whole = code + (" pass\n" if opens else "\ndef f():\n    pass\n" if decorated else "\n")
    assert kind in _classes(whole, code.count("\n") + 1)


@pytest.mark.parametrize("code", SILENT)
def test_nothing_is_to_be_done(code: str) -> None:
    assert _classes(code + "\n") <= {"advice", ""}


def test_as_many_that_must_not_fire() -> None:
    assert len(UNSUPPORTED) + len(MANUAL) >= 40 and len(SILENT) >= 40


def test_each_public_name_of_torch_cuda_has_its_class() -> None:
    """torch.cuda's own list of names, read without importing it, against the map and the rule."""
    package = importlib.util.find_spec("torch")
    assert package and package.origin
    tree = ast.parse((Path(package.origin).parent / "cuda" / "__init__.py").read_text(encoding="utf-8"))
    lists = (
        node.value for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    )
    public = [name for each in lists for name in ast.literal_eval(each)]
    known = load_map("torch_cuda")["names"]
    assert len(public) > 100 and set(public) <= set(known)
    elsewhere = {"amp"}  # spoken of call by call
    said = {name: _classes(f"import torch\nx = torch.cuda.{name}\n") for name in public if name not in elsewhere}
    assert {name: found for name, found in said.items() if known[name]["class"] not in found} == {}


def test_what_transfer_to_npu_leaves_is_not_called_replaced(shared: Path) -> None:
    import json

    facts = json.loads((shared / "facts" / "transfer_to_npu_2.13.0_patched.json").read_text(encoding="utf-8"))
    known = load_map("torch_cuda")["names"]
    assert [name for name in facts["torch_cuda_left"] if known.get(name, {}).get("note") == "same"] == []
