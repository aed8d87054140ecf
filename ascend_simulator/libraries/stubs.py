"""Functions of CANN that torch_npu needs and the simulator lacks: each is exported as an error that names it."""

from __future__ import annotations

import mmap
import re
import subprocess

from ascend_simulator.errors import SimulatorError
from ascend_simulator.libraries.plan import NATIVE, Package

#: Functions of CANN by name, as they appear among a library's undefined symbols.
CANN_FUNCTION = re.compile(r"(?:acl[a-zA-Z]|rt[A-Z]|Msprof|Hccl|hal[A-Z])\w+")
#: Functions of ATB, the C++ library of CANN's NNAL package, as torch_npu's libop_plugin_atb.so names them.
ATB_FUNCTION = re.compile(r"_ZNK?3atb\w+")
_VISIBLE = '__attribute__((visibility("default")))'


def unsupported_functions(torch_npu: Package) -> str:
    """Return C++ that defines each function that torch_npu needs and no source defines."""
    stubs = [f"namespace sim {{ {_VISIBLE} int unsupported(const char*); }}"]
    for name in sorted((listed_functions() | linked_functions(torch_npu)) - defined_functions()):
        call = f'sim::unsupported("{name}")'
        body = f"{call}; return 5;" if name.startswith("Hccl") else f"return {call};"  # 5 is HCCL_E_NOT_SUPPORT
        stubs.append(f'extern "C" {_VISIBLE} int {name}() {{ {body} }}')
    return "\n".join([*stubs, ""])


def atb_functions(torch_npu: Package) -> str:
    """Return C++ that defines each function of ATB as one that throws: with it torch_npu knows the schemas of atb::"""
    text = "the NPU simulator lacks ATB of the NNAL package (function {})"
    names = sorted(filter(ATB_FUNCTION.fullmatch, undefined_symbols(torch_npu)))
    throw = f'extern "C" {_VISIBLE} void {{}}() {{{{ throw std::runtime_error("{{}}"); }}}}'
    stubs = [throw.format(name, text.format(name)) for name in names]
    return "\n".join(["#include <stdexcept>", *stubs, ""])


def listed_functions() -> set[str]:
    """Return what unsupported.in names: functions that torch_npu looks up by name."""
    lines = (NATIVE / "acl" / "unsupported.in").read_text(encoding="utf-8").splitlines()
    return {line.strip() for line in lines if line.strip() and not line.startswith("#")}


def linked_functions(torch_npu: Package) -> set[str]:
    """Return undefined symbols of torch_npu's libraries that are functions of CANN."""
    return {name for name in undefined_symbols(torch_npu) if CANN_FUNCTION.fullmatch(name)}


def undefined_symbols(torch_npu: Package) -> set[str]:
    """Return what torch_npu's libraries need of others, read with nm."""
    libraries = [*torch_npu.root.glob("lib/*.so"), *torch_npu.root.glob("_C*.so")]
    done = subprocess.run(
        ["nm", "-D", "--undefined-only", *map(str, libraries)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise SimulatorError("simulator.compiler_failed", command="nm", error=done.stderr.strip())
    return {line.split()[-1].split("@")[0] for line in done.stdout.splitlines() if line.strip().startswith("U ")}


def defined_functions() -> set[str]:
    """Return functions that the sources define at the start of a line."""
    pattern = re.compile(r"^(?:SIM_EXPORT\s+)?(?:const\s+)?[A-Za-z_]\w*[\s*]+(\w+)\([^;]*?\)\s*\{", re.M | re.S)
    texts = (path.read_text(encoding="utf-8") for part in ("acl", "hccl") for path in NATIVE.glob(f"{part}/*.cpp"))
    return {name for text in texts for name in pattern.findall(text) if CANN_FUNCTION.fullmatch(name)}


#: A wrapper's name is in the library only as an argument of the check that all its tensors are on one device
#: (https://gitcode.com/Ascend/pytorch, torchnpugen/utils.py, gen_device_check).
WRAPPER = re.compile(rb"\0(wrapper_\w+)(?=\0)")


def list_wrappers(torch_npu: Package) -> list[str]:
    """Return the names, such as `wrapper_NPU__mm`, sorted. Raises OSError where the library cannot be read."""
    path = torch_npu.root / "lib" / "libtorch_npu.so"
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return sorted({name.decode() for name in WRAPPER.findall(content)})
