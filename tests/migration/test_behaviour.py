"""What the rules claim, held against the real transfer_to_npu on the simulated NPU.

Each idiom is run as it stands and as `rewrite` leaves it, all in one child. A claim that no longer holds for
the installed torch_npu fails here.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ascend_workbook.migration.api_map import load_map
from ascend_workbook.migration.reading.source import parse_text
from ascend_workbook.migration.rewrite import apply_edits, migrate_source
from ascend_workbook.migration.scan import scan_source

#: An expression, and what it gives under transfer_to_npu before and after the rewrite ("raises" for an error).
IDIOMS = {
    "str(m().cuda('cuda:0').weight.device)": ("raises", "npu:0"),
    "str(m().cuda(torch.device('cuda')).weight.device)": ("raises", "npu:0"),
    "str(x.cuda('cuda:0').device)": ("raises", "npu:0"),
    "str(x.cuda(device=torch.device('cuda', 0)).device)": ("raises", "npu:0"),
    "str(x.cuda('cuda:0', True).device)": ("raises", "npu:0"),
    "x.cuda().device.type == 'cuda'": (False, True),
    "x.cuda().device.type != 'cuda'": (True, False),
    "x.cuda().device.type in ('cuda', 'xpu')": (False, True),
    "str(x.cuda().device).startswith('cuda')": (False, True),
    "x.cuda().device == torch.device('cuda:0')": (False, True),
    "torch.accelerator.current_accelerator().type == 'cuda'": (False, True),
    "str(torch.asarray([1.0], device='cuda').device)": ("raises", "npu:0"),
    "x.type('torch.cuda.FloatTensor').is_cuda": ("raises", True),
    "torch.compile(m().cuda())(x.cuda()).is_cuda": ("raises", True),
}
#: Expressions that the rules call auto or manual, as they stand.
CLAIMS = {
    "str(x.cuda().device)": "npu:0",
    "str(x.to('cuda:0').device)": "npu:0",
    "str(x.to(0).device)": "npu:0",
    "torch.device('cuda').type": "cuda",
    "x.cuda().is_cuda": True,
    "str(torch.zeros(1, device='cuda').device)": "npu:0",
    "x.pin_memory().shape == x.shape": True,
    "torch.jit.script(f) is f": True,
    "torch.cuda.get_device_capability() is None": True,
    "torch.cuda.get_device_properties(0).major is None": True,
    "torch.cuda.nvtx.range_push('a')": "raises",
    "torch.cuda.nccl.version()": "raises",
    "torch.cuda.profiler.start()": "raises",
    "torch.cuda.cudart() is None": True,
    "torch.cuda.get_arch_list()": [],
    "torch.cuda.DoubleTensor is torch.npu.FloatTensor": True,
    "torch.nn.DataParallel(m().cuda())(x.cuda())": "raises",
    "hasattr(torch.profiler.profile, 'key_averages')": False,
    "torch.autocast('cuda').device": "npu",
    "torch.amp.GradScaler('cuda').is_enabled()": True,
    "torch.version.cuda is None": True,
    "torch.set_default_tensor_type(torch.cuda.HalfTensor)": "raises",
    "x.cuda().type() == 'torch.cuda.FloatTensor'": False,
    "torch.cuda.memory.mem_get_info is torch.cuda.mem_get_info": False,
    "torch.cuda.memory.mem_get_info()": "raises",
    "torch.cuda.current_stream().cuda_stream": "raises",
    "torch._C._cuda_getCurrentRawStream(0)": "raises",
    "torch.backends.cuda.cufft_plan_cache.max_size": "raises",
    "torch.jit.freeze(torch.jit.script(m().eval()))": "raises",
    "len(torch.nn.parallel.replicate(m().cuda(), [0]))": 1,  # documents call it not supported; here it runs
    "str(torch.distributed.Backend.NCCL)": "nccl",
    "x.cuda().device != torch.device('cuda')": True,
    "m().cuda().compile()(x.cuda())": "raises",
}
CHILD = """
import json, sys, warnings
warnings.simplefilter("ignore")
import torch_npu
from torch_npu.contrib import transfer_to_npu
import torch
x, m, f = torch.ones(2, 2), lambda: torch.nn.Linear(2, 2), lambda x: x
def value(text):
    try:
        return eval(text)
    except Exception:
        return "raises"
places = torch.cuda, torch.cuda.memory
names = [name for name in sys.stdin.readline().split() if not any(hasattr(place, name) for place in places)]
print(json.dumps([names] + [value(text) for text in json.loads(sys.stdin.readline())]))
"""


def _rewritten(text: str) -> str:
    source = parse_text(f"import torch\n{text}")
    edits = [edit for finding in scan_source(source, strict=True) for edit in finding.edits]
    return apply_edits(source, edits).split("\n", 1)[1]


@pytest.fixture(scope="module")
def seen(
    simulator_env: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, object], list[str]]:
    """Expression -> what it gave, and the names of the API map that torch.cuda lacks."""
    texts = [*IDIOMS, *map(_rewritten, IDIOMS), *CLAIMS]
    asked = " ".join(load_map("torch_cuda")["names"]) + "\n" + json.dumps(texts) + "\n"
    folder: Path = tmp_path_factory.mktemp("behaviour")
    done = subprocess.run(
        [sys.executable, "-c", CHILD],
        input=asked,
        env=simulator_env,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    absent, *values = json.loads(done.stdout.strip().splitlines()[-1])
    return dict(zip(texts, values)), absent


@pytest.mark.parametrize("text", IDIOMS)
def test_a_rewrite_turns_what_breaks_into_what_works(text: str, seen: tuple[dict[str, object], list[str]]) -> None:
    before, after = IDIOMS[text]
    assert _rewritten(text) != text
    assert (seen[0][text], seen[0][_rewritten(text)]) == (before, after)


#: The same without transfer_to_npu: how mode explicit writes it, and what that gives.
EXPLICIT = {
    "str(x.cuda().device)": "npu:0",
    "str(x.cuda(0).device)": "npu:0",
    "str(m().cuda('cuda:0').weight.device)": "npu:0",
    "str(x.cuda(torch.device('cuda', 0)).device)": "npu:0",
    "x.cuda().device.type == 'cuda'": True,
    "'cuda' in str(x.cuda().device)": True,
    "x.cuda().device == torch.device('cuda:0')": True,
    "x.cuda().is_cuda": True,
    "str(torch.zeros(1, device='cuda').device)": "npu:0",
    "str(torch.asarray([1.0], device='cuda').device)": "npu:0",
    "torch.cuda.is_available() and torch.cuda.device_count() > 0": True,
    "torch.cuda.amp.autocast().device": "npu",
    "torch.cuda.amp.GradScaler(enabled=False).is_enabled()": False,
    "torch.amp.GradScaler()._device": "npu",
    "torch.autocast('cuda').device": "npu",
    "torch.is_autocast_enabled()": False,
    "str(torch.get_autocast_gpu_dtype())": "torch.float16",
    "torch.Generator('cuda').device.type": "npu",
    "str(torch.load(saved(x), map_location='cuda').device)": "npu:0",
    "x.pin_memory().is_pinned()": True,
    "str(x.type(torch.cuda.FloatTensor).device)": "npu:0",
    "torch.cuda.OutOfMemoryError is torch.OutOfMemoryError": True,
    "torch.distributed.is_nccl_available()": True,
    "torch.profiler.profile.__module__.split('.')[0]": "torch_npu",
    "torch.compile(m().cuda())(x.cuda()).is_cuda": True,
}
EXPLICIT_CHILD = """
import io, json, sys, warnings
warnings.simplefilter("ignore")
import torch
import torch_npu
x, m = torch.ones(2, 2), lambda: torch.nn.Linear(2, 2)
def saved(value):
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return file
def value(text):
    try:
        return eval(text)
    except Exception as error:
        return f"raises {error}"
def there(name):
    try:
        return eval(name) is not None or True
    except AttributeError:
        return False
names, modules, texts = json.loads(sys.stdin.readline())
import importlib
for name in modules:
    importlib.import_module(name.replace("torch.npu", "torch_npu.npu"))
print(json.dumps([[name for name in names if not there(name)], *map(value, texts)]))
"""


@pytest.fixture(scope="module")
def seen_explicit(
    simulator_env: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, object], list[str]]:
    """Expression -> what its explicit form gave, and the names of the table that torch_npu lacks."""
    table = load_map("torch_npu")
    forms = [
        migrate_source(parse_text(f"import torch\n{text}\n"), mode="explicit")[0].strip().split("\n")[-1]
        for text in EXPLICIT
    ]
    asked = json.dumps([[*table["names"], *table["other"].values()], table["modules"], forms]) + "\n"
    done = subprocess.run(
        [sys.executable, "-c", EXPLICIT_CHILD],
        input=asked,
        env=simulator_env,
        cwd=tmp_path_factory.mktemp("explicit"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    absent, *values = json.loads(done.stdout.strip().splitlines()[-1])
    return dict(zip(EXPLICIT, values)), absent


@pytest.mark.parametrize("text", EXPLICIT)
def test_the_explicit_form_works_without_transfer_to_npu(
    text: str, seen_explicit: tuple[dict[str, object], list[str]]
) -> None:
    assert seen_explicit[0][text] == EXPLICIT[text]


def test_the_table_of_explicit_names_is_what_torch_npu_has(
    seen_explicit: tuple[dict[str, object], list[str]],
) -> None:
    assert seen_explicit[1] == []


@pytest.mark.parametrize("text", CLAIMS)
def test_what_the_rules_say_is_so(text: str, seen: tuple[dict[str, object], list[str]]) -> None:
    assert seen[0][text] == CLAIMS[text]


def test_the_api_map_names_what_torch_cuda_has(seen: tuple[dict[str, object], list[str]]) -> None:
    kept_for_older_versions = {"comm"}
    assert set(seen[1]) <= kept_for_older_versions
