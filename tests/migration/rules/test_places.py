"""Rules of Python by their edges: a line for each, with the places where the rule speaks and what it says there."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ascend_workbook.findings.finding import Finding
from ascend_workbook.migration.reading.source import parse_text
from ascend_workbook.migration.registry import load_rules
from ascend_workbook.migration.repair import class_of

RULES = {rule.code: rule.check for rule in load_rules()}


def _judge(code: str, text: str, file: Path | None = None, name: str = "a.py") -> list[Finding]:
    return list(RULES[code](parse_text(text, name, file=file)))


@pytest.mark.parametrize(
    ("context", "outcome"),
    [
        ("if torch.version.cuda: pass", "version_asked manual"),
        ("while torch.version.cuda: pass", "version_asked manual"),
        ("assert torch.version.cuda", "version_asked manual"),
        ("x = 1 if torch.version.cuda else 2", "version_asked manual"),
        ("x = torch.version.cuda if a else 2", "version advice"),
        ("if a:\n    x = torch.version.cuda", "version advice"),
        ("x = torch.version.cuda or 1", "version_asked manual"),
        ("x = torch.version.cuda > '11'", "version_asked manual"),
        ("x = torch.version.cuda is None", "version advice"),
        ("x = torch.version.cuda.split('.')", "version_asked manual"),
        ("x = float(torch.version.cuda)", "version_asked manual"),
        ("x = v.LooseVersion(torch.version.cuda)", "version_asked manual"),
        ("print(torch.version.cuda)", "version advice"),
        ("x = {'显卡': torch.version.cuda}", "version advice"),
        ("x = f'{torch.version.cuda}'", "version advice"),
        ("x = [torch.version.cuda]", "version advice"),
    ],
)
def test_when_the_version_of_cuda_decides(context: str, outcome: str) -> None:
    told = [f"{f.key.partition('.')[2]} {class_of(f)}" for f in _judge("MIG119", f"import torch\n{context}\n")]
    assert told == [outcome]


PLACES = {
    "MIG111": [
        ("import torch\nf = torch.compile(g, backend=b)", ["backend"]),
        ("import torch\nb = 'eager'\nf = torch.compile(g, backend=b)", []),
        ("import torch\nb = 'eager'\nb = c\nf = torch.compile(g, backend=b)", ["backend"]),
        ("import torch\nf = torch.compile(g, backend='aot_eager')", []),
        ("import torch\nf = torch.compile(g, **o)", ["inductor manual"]),
        ("import torch\nf = torch.compile(g, mode='x')", ["inductor rewrite"]),
        ("import torch\nf = a(torch.compile)", ["backend"]),
        ("import torch\nf = a(g=torch.compile)", []),
        ("import torch\nf = torch.compile if a else b", ["backend"]),
        ("import torch\nb: str = 'inductor'", ["backend"]),
        ("import torch\nf(torch_compile_backend='inductor', name='inductor')", ["backend"]),
        ("import torch\nf(torch_compile=True)\nf(torch_compile=False)\nf(torch_compile=1)", ["backend"]),
        ("import torch\nm.compile()\nm.compile(mode='a')\nm.compile(loss='b')\nm.compile(x)", ["backend"] * 2),
        ("import torch\nm.compile(backend='eager')\nm.compile(backend='x')", ["backend"]),
        ("import torch\nf = torch._dynamo.optimize('eager')\nf = torch._dynamo.optimize('x')", ["backend"]),
        ("import torch\n@torch.compile\nasync def f(): pass\n@torch.compile\nclass C: pass", ["inductor rewrite"] * 2),
    ],
    "MIG107": [
        ("import os\nos.environ['CUDA_VISIBLE_DEVICES'] = '0'", ["renamed rewrite"]),
        ("import os\nos.environ['CUDA_VISIBLE_DEVICES'] = 'all'", ["value manual"]),
        ("import os\nos.environ['CUDA_VISIBLE_DEVICES'] = n", ["renamed rewrite"]),
        ("import os\nn = os.environ['CUDA_VISIBLE_DEVICES']", ["renamed rewrite"]),
        ("import os\nos.environ.setdefault('CUDA_LAUNCH_BLOCKING', '2')", ["value manual"]),
        ("import os\nos.getenv('CUDA_LAUNCH_BLOCKING', '2')", ["renamed rewrite"]),
        ("import os\nos.environ.update(CUDA_LAUNCH_BLOCKING='2', lower='1')", ["value manual"]),
        ("import os\nos.environ.update({'CUDA_LAUNCH_BLOCKING': '1'})", ["renamed rewrite"]),
        ("import os\ne = dict(os.environ, CUDA_LAUNCH_BLOCKING='1')", ["renamed rewrite"]),
        ("import os\ne = dict(d, CUDA_LAUNCH_BLOCKING='1')", []),
        ("import os\ne = {**os.environ, 'CUDA_LAUNCH_BLOCKING': '1'}", ["renamed rewrite"]),
        ("import os\ne = {**d, 'CUDA_LAUNCH_BLOCKING': '1'}", []),
        (
            "import os\nos.environ |= {'CUDA_LAUNCH_BLOCKING': '1'}\nd |= {'CUDA_LAUNCH_BLOCKING': '1'}",
            ["renamed rewrite"],
        ),
        ("import os\ne = os.environ | {'CUDA_LAUNCH_BLOCKING': '1'}", ["renamed rewrite"]),
        ("import os\ne = {'CUDA_LAUNCH_BLOCKING': '1'} | os.environ", ["renamed rewrite"]),
        ("import os\ne = {'CUDA_LAUNCH_BLOCKING': '1'} & os.environ", []),
        ("f(env={'CUDA_LAUNCH_BLOCKING': '1'})\nf(envs={'CUDA_LAUNCH_BLOCKING': '1'})", ["renamed rewrite"]),
        ("import os\ne = os.environ.copy()\ne['NCCL_DEBUG'] = 'INFO'", ["nccl advice"]),
        ("import os\ne = {}\ne['NCCL_DEBUG'] = 'INFO'", []),
        ("import os\nos.environ['NCCL_SOCKET_IFNAME'] = 'eth0'", ["nccl manual"]),
        ("import os\nos.environ['NCCL_HOME'] = 'x'\nos.environ['CUDA_DEVICE_ORDER'] = 'x'", ["no_effect advice"] * 2),
        ("import os\n'NCCL_DEBUG' in os.environ\n'NCCL_DEBUG' in d", ["nccl advice"]),
        ("import os\nk = 'CUDA_VISIBLE_DEVICES'\nos.environ[k] = '0'", ["renamed manual"]),
        ("import os\nk = 'cuda_visible'\nos.environ[k] = '0'", []),
        ("import os\nos.system('CUDA_VISIBLE_DEVICES=0 python t.py')", ["renamed rewrite"]),
        ("import os\nos.system('CUDA_VISIBLE_DEVICES=all python t.py')", ["value manual"]),
        ("import os\nos.system('CUDA_VISIBLE_DEVICES=$X python t.py')", ["renamed rewrite"]),
        ("import os\nos.system('CUDA_VISIBLE_DEVICES=' + n)", ["renamed rewrite"]),
        ("print('CUDA_VISIBLE_DEVICES=0 python t.py')", []),
    ],
    "MIG112": [
        ("import triton", ["kernel"]),
        ("import tritonclient", []),
        ("import my_triton.ops", ["kernel"]),
        ("import triton_ops", ["kernel"]),
        ("import mytriton", []),
        ("from torch.utils._triton import has_triton", []),
        ("from .ops import triton_rms, other\ntriton_rms(x)\nother(x)", ["kernel", "call"]),
        ("from ops import triton_rms\ntriton_rms(x)", []),
        ("from .triton_ops import is_available, f\nis_available()\nf(x)", ["kernel", "call"]),
        ("import triton\nk[g](x)\na.k[g](x)\nf()[g](x)\ny = k[g](x)", ["kernel"] + ["call"] * 3),
        ("k[g](x)", []),
        ("import triton\n@triton.jit\ndef k(): triton.cdiv(1, 2)\ntriton.cdiv(3, 4)", ["kernel", "definition", "call"]),
        ("def f():\n    from .triton_ops import g\n    g(x)\nf()\ng(x)", ["kernel", "call", "call"]),
        ("def f():\n    try:\n        from .triton_ops import g\n    except E: pass\nf()", ["kernel"]),
    ],
    "MIG106": [
        ("init_process_group('nccl')", ["replaced"]),
        ("dist.init_process_group('NCCL')", ["upper_case"]),
        ("f('NCCL')", []),
        ("f('cuda:nccl,cpu:gloo')", ["replaced"]),
        ("f('nccl is used')", []),
        ("a = b == 'nccl'", ["compared"]),
        ("a = 'nccl' == 'gloo'", ["replaced"]),
        ("a = b in ('nccl', 'gloo')", ["compared"]),
        ("a = b in ('nccl', 'hccl')", []),
        ("a = ('nccl', 'gloo')", ["replaced"]),
        ("import torch\na = b == torch.distributed.Backend.NCCL", ["compared"]),
        ("import torch\na = torch.distributed.Backend.GLOO == torch.distributed.Backend.NCCL", ["replaced"]),
        ("import torch\na = torch.distributed.Backend.NCCL", ["replaced"]),
        ("import torch\na = torch.distributed.is_nccl_available()", []),
    ],
    "MIG104": [
        ("y = 1 if x.device.type == 'cuda' else 2 if x.device.type == 'npu' else 3", ["own_branch"]),
        ("y = 1 if x.device.type == 'cuda' else 2 if x.device.type == 'xpu' else 3", ["type"]),
        ("y = 1 if x.device.type == 'cuda' else 2", ["type"]),
        ("if x.device.type == 'cuda':\n    pass\nelif x.device.type == 'npu':\n    pass", ["own_branch"]),
        ("d = 'cuda' if a else 'cpu'\nif x.device != d:\n    x = x.to(d)", []),
        ("d = 'cuda' if a else 'cpu'\nif x.device != d:\n    x = x.to(d)\n    y = x", ["by_hand"]),
        ("d = 'cuda' if a else 'cpu'\nif x.device != d:\n    x = x.to(d)\nelse:\n    f()", ["by_hand"]),
        ("d = 'cuda' if a else 'cpu'\nif x.device == d:\n    x = x.to(d)", ["by_hand"]),
        ("d = 'cuda' if a else 'cpu'\nwhile x.device != d:\n    x = x.to(d)", ["by_hand"]),
        ("d = 'cuda' if a else 'cpu'\nif x.device != d:\n    x = x.cpu(d)", ["by_hand"]),
        ("T = {'cuda': 1}\nT.get(名)", []),
        ("T = {'cuda': 1}\nT.get()", []),
        ("T = {'cuda': 1}\nT.get(x.device.type)", ["keyed"]),
        ("T = {'cuda': 1}\nT[x.device.type]\nT[y.device.type]", ["keyed"]),
        ("T = {'cuda': 1}\nT['npu'] = 2\nT[x.device.type]", []),
        ("T = {'cuda': 1, **U}\nx.device.type in T", ["keyed"]),
        ("T = dict(cuda=1)\nT[x.device.type]", ["keyed"]),
        ("T = dict(cuda=1, npu=2)\nT[x.device.type]", []),
        ("T = f(cuda=1)\nT[x.device.type]", []),
        ("from a import T\nT[x.device.type]\n'cuda'", ["keyed"]),
        ("from a import T\nT[x.device.type]", []),
        ("class C:\n    T = {'cuda': 1}\n    def f(self, x):\n        return self.T[x.device.type]", ["keyed"]),
        ("T = {'cuda': 1}\nx.T[y.device.type]", []),
        ("T = {'cuda': 1}\nT[x.device.type] = 3", []),
        ("n = int(str(x.device).strip('cuda:'))", ["cut"]),
        ("n = int(f(x.device).lstrip('cuda:'))", []),
        ("n = int(str(x.device).replace('npu:', ''))", []),
        ("n = len(str(x.device).replace('cuda:', ''))", []),
        ("n = int(str(x.place).replace('cuda:', ''))", []),
        ("a = x.device.type == 'cuda' == b", []),
        ("a = x.device.type in ['cpu', 'cuda', 'npu']", []),
        ("a = x.device.type in {'cuda'}", ["type"]),
        ("a = cfg.type in ('cuda',)", []),
        ("import torch\na = torch.device(b).type in ('cuda',)", []),
        ("a = 'cuda:1' == x.type", ["assumed"]),
        ("import torch\nd = torch.device('cuda')\na = d.type == 'cuda'\nif a: f()", ["holds", "holds"]),
        ("a = x.device.type == 'cuda'\nif a: f()", ["type"]),
        ("a = True if x.device.type != 'cpu' else False\nif b and not a: f()", ["holds", "holds"]),
        ("a = False if x.device.type != 'cpu' else True\nif a: f()", ["holds"]),
        ("a = True if x.device.type != 'cpu' else 0\nif a: f()", ["holds"]),
        ("import torch\na = torch.cuda.is_available()\nb = 1 if a else 2", []),
        ("import torch\na = torch.cuda.is_available() and c\nif a: f()\na = 2", []),
        ("a = x.startswith('cuda')", ["assumed"]),
        ("a = x.device.type.startswith('cud')", []),
        ("a = x.startswith()", []),
    ],
    "MIG101": [
        ("import torch\np = torch.cuda.get_device_properties(0).major", ["same", "compute_capability"]),
        ("import torch\np = torch.cuda.get_device_properties(0).name", ["same"]),
        ("import torch, sys\nx = 'torch.cuda.'\np = sys.version_info.major", []),
        ("import torch\nx = torch.cuda.current_stream().cuda_stream", ["same", "stream_pointer"]),
        ("import torch\nx = s.cuda_stream", []),
        ("import torch\ntorch._C._cuda_clearCublasWorkspaces()", ["binding"]),
        ("from torch import cuda\ncuda = 3", []),
    ],
    "MIG122": [
        ("import torch\nx = y.type('torch.cuda.FloatTensor')", ["by_string rewrite"]),
        ("import torch\nx = y.type('torch.cuda.Float\\x54ensor')", ["by_string manual"]),
        ("x = y.type('torch.cuda.FloatTensor')", ["by_string manual"]),
        ("import torch\ntorch.set_default_tensor_type(f())", []),
        ("import torch\nx = y.kind('torch.cuda.FloatTensor')", []),
        ("import torch\nx = y.type() in ('torch.FloatTensor', 'torch.cuda.HalfTensor')", ["asked"]),
    ],
    "MIG137": [
        (
            "import torch, k\nclass F(M, torch.autograd.Function):\n    def forward(c, x): return k.pool_forward(x)\n"
            "    def backward(c, g): return k.pool_backward(g)",
            ["module", "call", "call"],
        ),
        ("import roi_align_cuda", ["module"]),
        ("import roi_align_cuda as r\nr.f(x)", ["module", "call"]),
        ("import a_cuda_b\na_cuda_b.go(x)", []),
        ("import a_cuda_b\na_cuda_b.forward(x)", ["module", "call"]),
        ("import a.b_cuda_c\na.b_cuda_c.forward(x)", []),
        ("import torch\nfrom m import _ext\n_ext.go(x)", ["module", "call"]),
        ("from m import _ext\n_ext.go(x)", []),
        ("import torch\nfrom m._ext import go\ngo(x)", ["module", "call"]),
        ("import torch\nimport m._ext as e\ne.go(x)", ["module", "call"]),
        ("import torch\nimport m._ext\nm._ext.go(x)", []),
        ("k = __import__('核_cuda')\nk.go(x)", ["module", "call"]),
        ("k = __import__('utils_cuda')\nk.go(x)", []),
        ("k = f('x_cuda')\nk.go(x)", []),
    ],
    "MIG120": [
        ("p = 312e12", ["peak"]),
        ("p = 0.312e15", ["peak"]),
        ("p = 3.12e14", ["peak"]),
        ("p = 0.0312e16  # 不这样写", []),
        ("p = 312000000000000.0", []),
        ("p = 312e13", []),
        ("p = {'A100': 312}", ["peak"]),
        ("p = {'A100': True}", []),
        ("p = (['h100', 'pcie'], 756)", ["peak"]),
        ("p = ('h100', 756, 1)", []),
        ("p = {'A10': 312}", []),
        ("p = {'NVIDIA A100-SXM4': 312e12}", ["peak"]),
    ],
    "MIG133": [
        ("for x in y:\n    a.backward()\n    b.item()\n    c.item()", ["sync", "sync"]),
        ("for x in y:\n    a.backward()\n    b.item()", []),
        ("for x in y:\n    b.item()\n    c.item()", []),
        ("while x:\n    a.backward()\n    b.cpu()\n    c.numpy()\n    d.tolist(1)", ["sync", "sync"]),
        ("for x in y:\n    a.backward()\n    b.item()\n    if x:\n        c.item()", []),
        ("for x in y:\n    a.backward()\n    b.item()\n    f = lambda: c.item()", []),
    ],
    "MIG103": [
        ("x.cuda(0 if a else b)", ["moved"]),
        ("x.cuda(None)", ["moved"]),
        ("x.cuda('cuda:0')", ["takes_number rewrite"]),
        ("x.cuda('cuda:0', True)", ["takes_number rewrite"]),
        ("x.cuda('cuda:0', True, 1)", ["takes_number manual"]),
        ("x.cuda(device)", ["takes_number rewrite"]),
        ("x.cuda(n)", ["moved"]),
        ("x.cuda(0 if a else 'cuda:0')", ["takes_number rewrite"]),
    ],
    "MIG115": [
        ("import torch\nx = torch.zeros(1, dtype=torch.float64, device=d)", ["kernel"]),
        ("import torch\nx = torch.zeros(1, dtype=torch.float64, device='cpu')", []),
        ("import torch\nx = torch.zeros(1, dtype=torch.float64)", []),
        (
            "import torch\nx = torch.zeros(1, dtype=torch.float64, device=d)\ntorch.distributed.all_reduce(x)",
            ["collective"],
        ),
        ("import torch\nx = torch.zeros(1, dtype=torch.float64, device=d)\ntorch.distributed.barrier(x)", ["kernel"]),
        (
            "import torch\nx = torch.zeros(1, dtype=torch.double, device=d)\n"
            "def f():\n    torch.distributed.all_reduce(x)",
            ["kernel"],
        ),
        (
            "import torch, time\nx = torch.tensor([time.time()], dtype=torch.float64, device=d)\n"
            "torch.distributed.all_reduce(x)",
            ["digits"],
        ),
        (
            "import torch\nt = now()\nx = torch.tensor([t], dtype=torch.float64, device=d)\n"
            "torch.distributed.all_reduce(x)",
            ["digits"],
        ),
        (
            "import torch\nx = torch.zeros(times, dtype=torch.float64, device=d)\ntorch.distributed.all_reduce(x)",
            ["collective"],
        ),
        ("x.double()\ny.double(1)\nimport numpy as np\nnp.double(3)\nnp.double()", ["kernel"]),
        ("import torch\ntorch.set_default_dtype(torch.float64)\ntorch.set_default_dtype(torch.float32)", ["default"]),
    ],
    "MIG113": [
        (
            "try:\n    from apex.normalization import FusedLayerNorm as N\nexcept ImportError:\n"
            "    from apex.contrib import FusedLayerNorm as N\nif x:\n    N = f()\nN(4)",
            ["library", "library", "use"],
        ),
        (
            "try:\n    from apex.normalization import FusedLayerNorm as N\nexcept ImportError:\n"
            "    from torch.nn import LayerNorm as N\nN(4)",
            ["library"],
        ),
    ],
    "MIG105": [
        ("class A:\n    def f(self):\n        if self.is_cuda:\n            pass", ["true"]),
        ("class A:\n    def f(self):\n        self.is_cuda = 1\n        if self.is_cuda:\n            pass", []),
        ("class A:\n    def f(self, x):\n        x.is_cuda = 1\n        if self.is_cuda:\n            pass", ["true"]),
    ],
    "MIG114": [
        ("from torch.utils.cpp_extension import load_inline as l\nl('a', b, c)", ["cuda"]),
        ("from torch.utils.cpp_extension import load_inline as l\nl('a', b)", []),
        ("from torch.utils.cpp_extension import load as l\nm = l('a', ['b.cpp'])", []),
        (
            "from torch.utils.cpp_extension import load as l\nm = l('a', ['b.cu'])\nm.go(x)\ntorch.ops.a.go(x)",
            ["cuda", "call"],
        ),
        (
            "import torch\nfrom torch.utils.cpp_extension import load as l\nl(name='a', sources=['b.cu'])\n"
            "torch.ops.a.go(x)\ntorch.ops.b.go(x)",
            ["cuda", "call"],
        ),
        ("from torch.utils.cpp_extension import load as l\nl('cuda', files)", ["cuda"]),
        ("from torch.utils.cpp_extension import load as l\nl('a', files)", []),
        ("from torch.utils.cpp_extension import CppExtension as E\nE('cuda', files)", []),
        (
            "from torch.utils.ffi import create_extension as c\nc(with_cuda=True)\nc(with_cuda=False)\nc('c')",
            ["cuda"],
        ),
        ("build(sources=['a.cu'])\nbuild(sources=['a.cpp'])\nbuild(sources=a)", ["cuda"]),
        ("def get():\n    m = build(sources=['a.cu'])\n    return m\nk = get()\nk.go(x)", ["cuda", "cuda", "call"]),
        ("def get():\n    m = build(sources=['a.cu'])\n    return 1\nk = get()\nk.go(x)", ["cuda"]),
    ],
}
ROWS = [(code, text, told) for code, rows in PLACES.items() for text, told in rows]


@pytest.mark.parametrize(("code", "text", "told"), ROWS)
def test_a_rule_speaks_of_these_places(code: str, text: str, told: list[str]) -> None:
    judged = [(f.key.partition(".")[2], class_of(f)) for f in _judge(code, f"{text}\n")]
    with_class = any(" " in outcome for outcome in told)
    assert sorted(f"{outcome} {repair}" if with_class else outcome for outcome, repair in judged) == sorted(told)


@pytest.mark.skipif(sys.version_info < (3, 10), reason="match")
@pytest.mark.parametrize(
    ("subject", "pattern", "told", "edit"),
    [
        ("x.device.type", "'cuda'", ["type"], " | 'npu'"),
        ("x.device.type", "'cuda' | 'xpu'", ["type"], " | 'npu'"),
        ("x.device.type", "'cuda' as c", ["type"], " | 'npu'"),
        ("x.device.type", "['cuda']", ["type"], ""),
        ("x.device.type", "'cpu'", [], ""),
        ("(x.device.type, 1)", "('cuda', 1)", ["type"], ""),
        ("名", "'cuda'", ["assumed"], ""),
        ("'cuda'", "'cuda'", ["holds"], ""),
    ],
)
def test_a_case_of_a_match(subject: str, pattern: str, told: list[str], edit: str) -> None:
    findings = _judge("MIG104", f"match {subject}:\n    case {pattern}:\n        pass\n")
    assert [finding.key.partition(".")[2] for finding in findings] == told
    assert "".join(each.text for finding in findings for each in finding.edits) == edit
    other = _judge("MIG104", f"match {subject}:\n    case {pattern}:\n        pass\n    case 'npu:1':\n        pass\n")
    assert {finding.key for finding in other} == ({"MIG104.own_branch"} if told else set())


def test_what_builds_a_kernel_is_told_by_its_full_name_or_by_the_one_written() -> None:
    """A name that is imported in full; else the attribute, or the plain name."""
    text = (
        "from torch.utils.cpp_extension import CUDAExtension as E\nE('a', ['a.cu'])\n"
        "def build(): return ops.get_plugin(sources=['a.cu'])\nm = build()\n"
        "own(sources=['a.cu'])\nx[0](sources=['a.cu'])\nm.go()\n"
    )
    told = [(f.key, f.args["name"]) for f in _judge("MIG114", text)]
    assert sorted(told) == [
        ("MIG114.call", "m"),
        ("MIG114.cuda", ""),
        ("MIG114.cuda", "build"),
        ("MIG114.cuda", "get_plugin"),
        ("MIG114.cuda", "own"),
        ("MIG114.cuda", "torch.utils.cpp_extension.CUDAExtension"),
    ]


def test_a_package_of_the_project_is_found_four_folders_up(tmp_path: Path) -> None:
    file = tmp_path / "a" / "b" / "c" / "d" / "t.py"
    text = "from own.amp import autocast\nfrom core.amp import autocast\nfrom own import GradScaler\n"
    text += "from .x.y import autocast\n"
    (tmp_path / "own").mkdir()
    assert [str(f.place) for f in _judge("MIG108", text, file)] == ["a.py:1:21"], "the fifth is too far"
    assert not _judge("MIG108", text, file.parent.with_name("t.py"))


@pytest.mark.parametrize(
    ("needs", "text", "key"),
    [
        ("pyproject.toml", '[project.optional-dependencies]\nnpu = ["triton-ascend==3.2.1"]\n', "ascend"),
        ("requirements-npu.txt", "triton_ascend\n", "ascend"),
        ("requirements/npu.txt", "Triton-Ascend\n", "ascend"),
        ("requirements.txt", "triton\n", "kernel"),
        ("README.md", "triton-ascend\n", "kernel"),
        ("setup.py", "setup(install_requires=['triton-ascend>=3.2'])  # 昇腾\n", "ascend"),
        (
            "pyproject.toml",
            '[project]\ndependencies = [\n  "torch",\n  "triton_ascend; extra == \'npu\'",\n]\n',
            "ascend",
        ),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntriton-ascend = "^3.2"\n', "ascend"),
        ("requirements.txt", "# triton-ascend has no kernel for this, do not use\n", "kernel"),
        ("requirements.txt", "torch  # not triton-ascend\n", "kernel"),
        ("requirements.txt", "triton-ascend is not for this 不用\n", "kernel"),
        ("requirements.txt", "triton-ascend-docs==1.0\n", "kernel"),
        ("pyproject.toml", '[project]\ndescription = "no triton-ascend"\nkeywords = ["triton-ascend"]\n', "kernel"),
        ("setup.py", "# triton-ascend: no\nsetup(description='triton-ascend')\n", "kernel"),
        ("../requirements.txt", "triton-ascend\n", "kernel"),
    ],
)
def test_triton_of_a_project_that_needs_triton_ascend_has_a_compiler(
    tmp_path: Path, needs: str, text: str, key: str
) -> None:
    listed, file = tmp_path / "root" / needs, tmp_path / "root" / "包" / "ops" / "k.py"
    for path in (listed, file):
        path.parent.mkdir(parents=True, exist_ok=True)
    listed.write_text(text, encoding="utf-8")
    code = "import triton\n@triton.jit\ndef k(x):\n    pass\nk[(1,)](x)\n"
    file.write_text(code, encoding="utf-8")
    found = _judge("MIG112", code, file, "包/ops/k.py")
    assert found[0].key == f"MIG112.{key}"
    assert len(found) == (1 if key == "ascend" else 3)
    assert class_of(found[0]) == ("advice" if key == "ascend" else "unsupported")


def test_what_a_project_needs_is_asked_each_time_and_up_to_its_repository(tmp_path: Path) -> None:
    file, listed = tmp_path / "vendored" / "k.py", tmp_path / "requirements.txt"
    file.parent.mkdir()

    def find_key() -> str:
        return _judge("MIG112", "import triton\n", file, "vendored/k.py")[0].key

    assert find_key() == "MIG112.kernel"
    listed.write_text("triton-ascend\n", encoding="utf-8")
    assert find_key() == "MIG112.ascend"
    (file.parent / ".git").write_text("gitdir: ../.git/modules/vendored\n", encoding="utf-8")
    assert find_key() == "MIG112.kernel", "a repository of its own"
    (file.parent / "requirements.txt").symlink_to("requirements.txt")  # leads to itself
    assert find_key() == "MIG112.kernel"


def test_kernels_written_for_triton_ascend_are_no_kernels_of_cuda() -> None:
    assert not _judge("MIG112", "from .backends.triton_ascend import norm\nnorm(x)\n")
    assert _judge("MIG112", "from .backends.triton_cuda import norm\nnorm(x)\n")


@pytest.mark.parametrize(
    ("module", "compiled"),
    [
        ("_C = CN()\n_C.LR = 0.1  # 学习率\n", False),
        ("_C = CfgNode(new_allowed=True)\n", False),
        ("_C = edict_config.Config(\n)\n", True),
        ("_C = load_extension('k')\n", True),
        ("def f():\n    _C = CN()\n", True),
    ],
)
def test_settings_called_c_are_no_compiled_part(tmp_path: Path, module: str, compiled: bool) -> None:
    (tmp_path / "defaults.py").write_text(module, encoding="utf-8")
    code = "import torch\nfrom .defaults import _C\ncfg = _C.clone()\n"
    assert [finding.key for finding in _judge("MIG137", code, tmp_path / "config.py")] == (
        ["MIG137.module", "MIG137.call"] if compiled else []
    )


@pytest.mark.parametrize(
    ("parameter", "key"),
    [
        ("card: int", "MIG103.moved"),
        ("*, card: int = 0", "MIG103.moved"),
        ("card: str", "MIG103.takes_number"),
        ("card: torch.device", "MIG103.takes_number"),
        ("current_device: int", "MIG103.moved"),
        ("current_device", "MIG103.takes_number"),
        ("current_device: Any", "MIG103.takes_number"),
    ],
)
def test_what_a_parameter_is_said_to_hold_is_taken(parameter: str, key: str) -> None:
    name = parameter.replace("*, ", "").split(":")[0]
    text = f"import torch\ndef 移动(x, {parameter}):\n    return x.cuda({name})\n"
    assert [finding.key for finding in _judge("MIG103", text)] == [key]
