"""What a call's name tells of what the host does in it. Names are those that torch's profilers, CUDA, ROCm and CANN
record; docs/reading-gaps.md has the source of each."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

#: Bits of a mark, in order of precedence: of several around one moment the first counts
ACTIVITIES = (
    "garbage",
    "loading",
    "checkpoint",
    "logging",
    "compiling",
    "preprocessing",
    "profiler",
    "start_up",
    "allocation",
    "lazy_loading",
    "launch",
    "fallback",
    "item",
    "copy",
    "wait",
    "elsewhere",
)
BIT = {name: 1 << at for at, name in enumerate(ACTIVITIES)}
PATTERNS = {
    "garbage": r"^GC$|gc\.collect|gc collect|<built-in function collect>|<built-in method collect of module",
    "loading": r"^enumerate\(DataLoader\)#|utils/data/dataloader\.py\(\d+\): ",
    "checkpoint": r"torch/serialization\.py\(\d+\): (_?save|_legacy_save)|save_checkpoint|save_pretrained|safetensors"
    r"|distributed/checkpoint/|<built-in method (write|flush|fsync) of|<built-in function (open|fsync)>"
    r"|<built-in method (write_record|dump) ",
    "logging": r"logging/__init__\.py\(|<built-in function print>|tensorboard|wandb|tqdm|loguru|mlflow|swanlab"
    r"|PIL/Image\.py\(\d+\): save$|matplotlib/|: ([\w.]+\.)?(save_image|imwrite|imsave)$"
    r"|torch/_tensor_str\.py|_tensor\.py\(\d+\): __(repr|format)__",
    "compiling": r"Compile(?!d|AndExecute)|compile_inner|_dynamo/(convert_frame|symbolic_convert|output_graph)\.py"
    r"|_inductor/(compile_fx|graph|scheduler|codecache|async_compile|lowering)\.py|_inductor/codegen/|triton/compiler/"
    r"|torch/jit/_(script|trace|recursive)\.py",
    "preprocessing": r"(^|/)PIL/|torchvision/(transforms|io)|image_processing|image_transforms|feature_extraction"
    r"|video_processing|(^|/)cv2|albumentations|tokenization_|read_video|(^|/)av/|decord|librosa|imageio|skimage"
    r"|numpy/|numpy\.|torchaudio/(transforms|load)|: ([\w.]+\.)?(_?preprocess(?!_mask)|collate|tokenize|encode_plus)"
    r"|scipy/",
    "profiler": r"torch/profiler/|torch_npu/profiler/|autograd/profiler\.py\(\d+\): (_?start_trace|_stop|__exit__)"
    r"|^Activity Buffer Request|cuptiActivity|Instrumentation|_(enable|disable)_profiler|^Resource Overhead",
    "start_up": r"GetStreamPriorityRange|(cuda|hip)StreamCreate|(cuda|hip)GetDeviceProp|(cuda|hip)Init\b|cuInit"
    r"|CommInit|cublasCreate|cudnnCreate|aclInit|aclrtSetDevice|aclrtCreateContext|_lazy_init|init_process_group"
    r"|hipGetDevice|cudaDeviceGetAttribute|cudaDeviceSetLimit|(cuda|hip)DeviceCanAccessPeer|DeviceEnablePeerAccess",
    "allocation": r"^(cuda|hip)(Malloc|Free|HostAlloc|HostFree|HostRegister|HostMalloc|HostUnregister)"
    r"|^cn(rt)?(Malloc|Free)"
    r"|aclrtMalloc|aclrtFree|cuMem(Create|Map|Unmap|Release|SetAccess|AddressReserve)|emptyCache|empty_cache",
    "lazy_loading": r"Module(Load|GetFunction)|Library(Load|GetKernel|GetModule)|cuKernelGet|FuncGetAttributes"
    r"|FuncSetAttribute|OccupancyMaxActiveBlocks|aclopLoad|BinaryLoad|aclrtBinaryGet|RegisterFatBinary",
    "launch": r"Launch(Kernel|Cooperative|Host|_kernel)|ModuleLaunch|GraphLaunch|launch$|^(cuda|hip)Launch|aclrtLaunch"
    r"|^AscendCL@(opLaunch|aclnn)|^Node@launch|^aclnn\w+$|^cnInvokeKernel"
    r"|^runFunction - job_prep|CompileAndExecute",
    "fallback": r"cpu_fallback|_fallback_to_cpu|CPU_FALLBACK",
    "item": r"^aten::(item|_local_scalar_dense|is_nonzero|nonzero|unique|_unique2|masked_select|equal)$",
    "copy": r"(cuda|hip|cu|cnrt)Memcpy|aclrtMemcpy|^aten::(copy_|_to_copy|to|cpu|_to_cpu)$|: cpu$",
    "wait": r"Synchronize|StreamWaitEvent|EventQuery|^cnrt(QueueSync|SyncDevice)|^synchronize(Stream)?$",
    "elsewhere": r"run_backward|<built-in method (acquire|wait|poll) of|threading\.py\(\d+\): (wait|join|_wait)",
}
#: Marks of operators and the runtime's calls: a Python function may have such a name and be something else
OF_CALLS = ("lazy_loading", "launch", "fallback", "item", "wait")
COMPILED = {name: re.compile(pattern) for name, pattern in PATTERNS.items()}
#: Frames of the libraries that a script stands on: where the host is busy in one of these its caller is the place
LIBRARY = re.compile(
    r"-packages|<built-in|(^|/)(torch|torch_npu|torchvision|numpy|PIL)/|nn\.Module|<frozen|^<|/?lib/python3|"
    r"^(contextlib|functools|threading|logging/__init__|multiprocessing/\w+|typing|abc|enum|re|json/\w+|copy|random|"
    r"socket|selectors|queue|asyncio/\w+|weakref|warnings|inspect|tempfile|os|io|ast|pickle|dataclasses|collections/"
    r"\w+|_?weakrefset|codecs|traceback|runpy)\.py\("
)
FRAME = re.compile(r"^(.*?)\((\d+)\): (.*)$")
I32 = npt.NDArray[np.int32]


def mark_names(names: Sequence[str]) -> I32:
    """Return the marks of each name, the bits of BIT: (names,)."""
    return np.array([_mark_name(name) for name in names] or [0], np.int32)


def _mark_name(name: str) -> int:
    of_frame = FRAME.match(name) is not None
    patterns = ((mark, pattern) for mark, pattern in COMPILED.items() if not (of_frame and mark in OF_CALLS))
    return sum(BIT[mark] for mark, pattern in patterns if pattern.search(name))


def is_own_frame(name: str) -> bool:
    """Return whether a name is that of a Python function outside of torch and Python's own library."""
    return bool(FRAME.match(name)) and not LIBRARY.search(name)


def function_of(name: str) -> str:
    """Return a frame's name without its line: a function is one, at whatever line it was seen."""
    match = FRAME.match(name)
    return f"{match[1]}: {match[3]}" if match else name


def describe_frame(name: str) -> str:
    """Describe a frame, `/home/me/project/train.py(41): step`, as a place: `project/train.py:41 step`; other names as
    they are."""
    match = FRAME.match(name)
    if not match:
        return name
    path = "/".join(match[1].split("/")[-2:]) if match[1].startswith("/") else match[1]
    return f"{path}:{match[2]} {match[3]}"
