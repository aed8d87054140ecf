"""What each part of `rewrite --mode explicit` makes of a line, and what it leaves alone."""

from __future__ import annotations

EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {
    "calls": (
        (
            "import torch.distributed as dist\ndist.init_process_group('nccl')  # 初始化\n",
            "import torch.distributed as dist\ndist.init_process_group('hccl')  # 初始化\n",
        ),
        ('init(backend="NCCL")\n', 'init(backend="hccl")\n'),
        ("if args.backend == 'nccl':\n    pass\n", "if args.backend == 'hccl':\n    pass\n"),
        ("backend = 'cpu:gloo,cuda:nccl'\n", "backend = 'cpu:gloo,npu:hccl'\n"),
        (
            "p.add_argument('--backend', default='nccl', choices=['nccl', 'gloo'])\n",
            "p.add_argument('--backend', default='hccl', choices=['hccl', 'gloo'])\n",
        ),
        (
            "import torch\ns = torch.amp.GradScaler(enabled=True)  # 缩放\n",
            'import torch\ns = torch.amp.GradScaler(enabled=True, device="npu")  # 缩放\n',
        ),
        ("import torch\ns = torch.GradScaler()\n", 'import torch\ns = torch.GradScaler(device="npu")\n'),
        ("import torch\non = torch.is_autocast_enabled()\n", 'import torch\non = torch.is_autocast_enabled("npu")\n'),
        ("import torch\nt = torch.get_autocast_gpu_dtype()\n", 'import torch\nt = torch.get_autocast_dtype("npu")\n'),
        ("import torch\ntorch.set_autocast_enabled(True)\n", 'import torch\ntorch.set_autocast_enabled("npu", True)\n'),
        (
            "import torch\nwith torch.random.fork_rng():\n    pass\n",
            'import torch\nwith torch.random.fork_rng(device_type="npu"):\n    pass\n',
        ),
    ),
    "commands": (
        ("python 训练.py --device cuda\n", "python 训练.py --device npu\n"),
        ("python t.py --device='cuda:0' --x 1\n", "python t.py --device='npu:0' --x 1\n"),
        ("python t.py train.device=cuda\n", "python t.py train.device=npu\n"),
        ('dist_backend="nccl"  # 后端\n', 'dist_backend="hccl"  # 后端\n'),
        ("torchrun t.py \\\n  --backend \\\n  'NCCL'\n", "torchrun t.py \\\n  --backend \\\n  'hccl'\n"),
    ),
    "devices": (
        (
            "import torch\nx = torch.zeros(2, device='cuda')  # 显卡\n",
            "import torch\nx = torch.zeros(2, device='npu')  # 显卡\n",
        ),
        ("device = f'cuda:{rank}'\n", "device = f'npu:{rank}'\n"),
        ("kind = 'cuda' if 'cuda' in device else 'cpu'\n", "kind = 'npu' if 'npu' in device else 'cpu'\n"),
        ('ok = x.device.type == "cuda"\n', 'ok = x.device.type == "npu"\n'),
        (
            "p.add_argument('--device', default='cuda', choices=['cuda', 'cpu'])\n",
            "p.add_argument('--device', default='npu', choices=['npu', 'cpu'])\n",
        ),
        ("ok = str(x.device).startswith('cuda')\n", "ok = str(x.device).startswith('npu')\n"),
        ("peak = {'cuda': 1, 'cpu': 0}\nprint(peak['cuda'])\n", "peak = {'npu': 1, 'cpu': 0}\nprint(peak['npu'])\n"),
        (
            "def peak(d):\n    all = {'cuda': 1}\n    return all.get(d.type, all['cuda'])\n",
            "def peak(d):\n    all = {'npu': 1}\n    return all.get(d.type, all['npu'])\n",
        ),
        ("n = {'cuda': 1, 'cpu': 0}[x.device.type]\n", "n = {'npu': 1, 'cpu': 0}[x.device.type]\n"),
        (
            "c = {'device': 'cuda'}\nif c['device'] == 'cuda':\n    pass\n",
            "c = {'device': 'npu'}\nif c['device'] == 'npu':\n    pass\n",
        ),
        ("import torch\ns = torch.amp.GradScaler('cuda')\n", "import torch\ns = torch.amp.GradScaler('npu')\n"),
        ("device = getattr(args, 'device', 'cuda')  # 默认\n", "device = getattr(args, 'device', 'npu')  # 默认\n"),
        ("n = device.replace('cuda:', '')\n", "n = device.replace('npu:', '')\n"),
        ("import torch\nm = getattr(torch, 'cuda')\n", "import torch\nm = getattr(torch, 'npu')\n"),
        ("device = 'cu' 'da:0'; other = 'cuda:1'\n", "device = 'cu' 'da:0'; other = 'npu:1'\n"),
    ),
    "methods": (
        ("model = net().cuda()  # 放到显卡\n", "model = net().npu()  # 放到显卡\n"),
        ("x = x.cuda(0, non_blocking=True)\n", "x = x.npu(0, non_blocking=True)\n"),
        ("x = x.cuda('cuda:0')\n", "x = x.to('npu:0')\n"),
        (
            "class Batch:\n    def cuda(self, n):\n        self.x = self.x.cuda(n)\n",
            "class Batch:\n    def npu(self, n):\n        self.x = self.x.npu(n)\n",
        ),
        (
            "class Batch:\n    def cuda(self):\n        return self\n"
            "    def f(self):\n        return (self.cuda, self)\n",
            "class Batch:\n    def npu(self):\n        return self\n"
            "    def f(self):\n        return (self.npu, self)\n",
        ),
        ("assert x.is_cuda\n", "assert x.is_npu\n"),
        (
            "if x.is_cuda:\n    scan_cuda(x)\n",
            'if (x.is_cuda and x.device.type != "npu"):\n    scan_cuda(x)\n',
        ),
    ),
    "names": (
        ("import torch\ntorch.cuda.synchronize()  # 同步\n", "import torch\ntorch.npu.synchronize()  # 同步\n"),
        (
            "import torch as T\nwith T.cuda.amp.autocast():\n    T.cuda.memory.empty_cache()\n",
            "import torch as T\nwith T.npu.amp.autocast():\n    T.npu.memory.empty_cache()\n",
        ),
        (
            "import torch\nwith torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]):\n    pass\n",
            "import torch\nwith torch_npu.profiler.profile("
            "activities=[torch_npu.profiler.ProfilerActivity.NPU]):\n    pass\n",
        ),
        (
            "import torch.distributed as dist\nassert dist.is_nccl_available()\n",
            "import torch.distributed as dist\nassert dist.is_hccl_available()\n",
        ),
        (
            "import torch.distributed as dist\nok = dist.get_backend() == dist.Backend.NCCL\n",
            "import torch.distributed as dist\nok = dist.get_backend() == dist.Backend.HCCL\n",
        ),
        ("import torch\napi = torch.cuda if gpu else None\n", "import torch\napi = torch.npu if gpu else None\n"),
        ("import torch\nC = torch.cuda\ng = C.CUDAGraph()\n", "import torch\nC = torch.npu\ng = C.NPUGraph()\n"),
        ("from torch import cuda\ng = cuda.CUDAGraph()\n", "from torch import npu as cuda\ng = cuda.NPUGraph()\n"),
        (
            "from torch.cuda.amp import autocast, GradScaler as G  # 混合精度\n",
            "from torch_npu.npu.amp import autocast, GradScaler as G  # 混合精度\n",
        ),
        ("import torch.cuda\ntorch.cuda.init()\n", "import torch\ntorch.npu.init()\n"),
        ("import torch.cuda.amp as amp\n", "import torch_npu.npu.amp as amp\n"),
        ("from torch import nn, cuda\ncuda.synchronize()\n", "from torch import nn, npu as cuda\ncuda.synchronize()\n"),
        (
            "from torch.profiler import profile, record_function\n",
            "from torch_npu.profiler import profile; from torch.profiler import record_function\n",
        ),
        (
            "from torch.distributed import is_nccl_available\n",
            "from torch.distributed import is_hccl_available as is_nccl_available\n",
        ),
        (
            "import torch_npu\nfrom torch_npu.contrib import transfer_to_npu\nimport torch\n",
            "import torch_npu\nimport torch\n",
        ),
        (
            "from torch.cuda import OutOfMemoryError, empty_cache, nvtx\n",
            "from torch import OutOfMemoryError; from torch_npu.npu import empty_cache; from torch.cuda import nvtx\n",
        ),
        (
            "import torch_npu; from torch_npu.contrib import transfer_to_npu; import torch\n",
            "import torch_npu; import torch\n",
        ),
    ),
}
NEAR_MISSES: dict[str, tuple[str, ...]] = {
    "calls": (
        "p.add_argument('--distributed-backend', default='nccl', choices=['nccl', 'gloo'])  # 固定\n",
        "if backend in ('nccl', 'hccl'):\n    pass\n",
        "print('nccl')\n",
        "'nccl'\n",
        "name = 'nccl_test'\n",
        "import torch.distributed as dist\ndist.init_process_group('gloo')\n",
        "import torch\ns = torch.amp.GradScaler('cpu')  # 主机\n",
        "import torch\ns = torch.amp.GradScaler(device=d)\n",
        "import torch\non = torch.is_autocast_enabled('cpu')\n",
        "import torch\ntorch.set_autocast_enabled('cpu', True)\n",
        "import torch\ns = torch.amp.GradScaler(**kwargs)\n",
        "from mine import GradScaler\ns = GradScaler()\n",
    ),
    "commands": (
        "python t.py --device cpu  # 主机\n",
        "python t.py --name cuda\n",
        "python t.py --device cuda_fake\n",
        "ls cuda\n",
        "DISTRIBUTED_BACKEND=nccl\n",
        "torchrun pretrain_gpt.py --distributed-backend=nccl\n",
        "python t.py --impl=cuda\n",
        "# --device cuda\n",
    ),
    "devices": (
        "print('cuda')  # 只是提示\n",
        "状态 = state['cuda']\n",
        "ok = getattr(args, 'cuda')\n",
        "p.add_argument('--x', dest='cuda')\n",
        "'cuda'\n",
        "name = 'cuda_kernels'\n",
        "if x.device.type in ('cuda', 'npu'):\n    pass\n",
        "if d == 'cuda':\n    a()\nelif d == 'npu':\n    b()\n",
        "ok = t == 'cuda' or t == 'npu'\n",
        "setup(extras_require={'cuda': ['a']})\n",
        "PEAK = {'cuda': 1, 'cpu': 0}\n",
        "import torch\ntorch.save({'cuda': state}, path)\n",
        "own = {'cuda': 1}\nprint(own[d.type], other['cuda'])\nrun(own)\n",
        "import yaml\nc = yaml.safe_load(f)\nif c['device'] == 'cuda':\n    pass\n",
        "import os\nname = os.environ.get('DEVICE')\nok = name == 'cuda'\n",
        "import torch\nstate = torch.load(path)\nok = 'cuda' in state\n",
        "paths = name.split('cuda')\n",
        "use = config.get('cuda', True)\n",
        "import torch\nif d.type == 'cuda':\n    m = torch.nn.DataParallel(m)\nelse:\n    m.to(d)\n",
    ),
    "methods": (
        "use = args.cuda\n",
        "cuda()  # 函数\n",
        "def cuda():\n    pass\n",
        "ok = x.is_cuda or x.is_npu\n",
        "x.is_cuda = True\n",
        "from torch import nn\nif x.is_cuda and 卡数 > 1:\n    y = nn.parallel.data_parallel(m, x)\n"
        "else:\n    y = m(x)\n",
        "s = 'x.cuda()'\n",
        "class A:\n    @property\n    def cuda(self):\n        return self.n\n\nprint(A().cuda)\n",
        "class A:\n    @functools.cached_property\n    def cuda(self):\n        return self.n\n",
        "self.cuda = gpu  # 标志\nrun(self.cuda)\n",
        "f = Batch().cuda\nf()\n",
    ),
    "names": (
        "import torch.distributed as dist\nkind = dist.ProcessGroup.BackendType.NCCL\n",
        "import torch\ntorch.cuda.nvtx.range_push('前向')\n",
        "def f(torch):\n    return torch.cuda.synchronize()\n",
        "import torch\ntorch.backends.cuda.matmul.allow_tf32 = True  # 无效果\n",
        "import torch\nprint(torch.version.cuda)\n",
        "import torch\ncap = torch.cuda.get_device_capability()\n",
        "import torch\nif torch.cuda.is_available() or torch.npu.is_available():\n    pass\n",
        "from torch.cuda import nvtx  # 没有对应\n",
        "from .cuda import amp\n",
        "from mine.torch.cuda import amp\n",
        "import torch.backends.cudnn as cudnn\n",
        "from torch.profiler import record_function\n",
        "from torch import nn, optim\n",
    ),
}
