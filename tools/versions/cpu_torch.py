"""A CPU build of torch out of PyPI's CUDA wheel, for tests on x86_64: PyPI has no CPU build of older releases there.

CUDA's own libraries are left out, and each library and symbol that is then missing gets a stand-in that answers 0: no
kernel of CUDA's is registered and `torch.cuda.device_count()` is 0. Nothing of this is in a user's set-up.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import zipfile
from collections.abc import Iterable
from pathlib import Path

#: What of the wheel is left out: CUDA's part of torch, NVIDIA's libraries, static libraries, torch's own tests.
LEFT_OUT = re.compile(
    r"torch/lib/(?:lib(?:torch_cuda|c10_cuda|caffe2_nvrtc|torch_nvshmem|cu[a-z]|nv|nccl)|\w+\.a$)"
    r"|torch/test/|torch/bin/(?:test_|protoc)|nvidia/"
)
#: What `pip install torch` would bring for CUDA; a CPU build does not ask for it.
FOR_CUDA = re.compile(r"^Requires-Dist: (?:nvidia-|cuda-|triton|pytorch-triton).*\n", re.M)
#: Where code asks whether this torch has CUDA: file -> (pattern, answer of a CPU build).
ANSWERS = {
    "version.py": [
        (r"(?m)^(cuda\b[^=]*)= .*$", r"\1= None"),
        (r"(['\"]\d+\.\d+\.\d+)(?:\+cu\d+)?(['\"])", r"\1+cpu\2"),
    ],
    "cuda/__init__.py": [(r"return hasattr\(torch\._C, \"_cuda_getDeviceCount\"\)", "return False")],
    "backends/cuda/__init__.py": [(r"return torch\._C\._has_cuda", "return False")],
}
SYSTEM = re.compile(r"lib(?:c|m|dl|rt|util|pthread|stdc\+\+|gcc_s|gomp)\.so|ld-linux")
#: Symbols that the system's libraries or Python define.
DEFINED_ELSEWHERE = re.compile(r"_?Py|__tls_get_addr|GOMP_|omp_|_dl_|__gcov")
#: Functions that return a reference, which static initialisers of libtorch_python write through.
REFERENCES = re.compile(r"_ZN4c10d")
OPTIONS = re.compile(r"OptionsC[12]E")
TYPEINFO = "extern char _ZTVN10__cxxabiv117__class_type_infoE[];"
STUBS = "libcuda_stand_ins.so"


def unpack_as_cpu_build(wheel: Path, site: Path) -> None:
    """Unpack the wheel into the folder of packages as a CPU build of the same release."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site, [name for name in archive.namelist() if not LEFT_OUT.match(name)])
    torch = site / "torch"
    for name, changes in ANSWERS.items():
        text = (torch / name).read_text(encoding="utf-8")
        for pattern, answer in changes:
            text = re.sub(pattern, answer, text)
        (torch / name).write_text(text, encoding="utf-8")
    rename_distribution(site)
    write_stand_ins(torch)


def rename_distribution(site: Path) -> None:
    """Give pip's record the name of a CPU build, which asks for nothing of NVIDIA's."""
    record = next(site.glob("torch-*.dist-info"))
    text = FOR_CUDA.sub("", (record / "METADATA").read_text(encoding="utf-8"))
    version = re.sub(r"^Version: ([\d.]+).*$", r"Version: \1+cpu", text, count=1, flags=re.M)
    (record / "METADATA").write_text(version, encoding="utf-8")
    named = re.sub(r"-([\d.]+)(?:\+\w+)?\.dist-info", r"-\1+cpu.dist-info", record.name)
    record.rename(site / named)


def write_stand_ins(torch: Path) -> None:
    """Write a library of stand-ins for what was left out, and one that leads to it for each library that is missing."""
    lib = torch / "lib"
    libraries = [*lib.glob("*.so*"), *torch.glob("_C*.so")]
    wanted = {name for library in libraries for name in needed_libraries(library)}
    missing = {name for name in wanted - {library.name for library in libraries} if not SYSTEM.match(name)}
    source = lib / "cuda_stand_ins.c"
    source.write_text(stand_ins(missing_symbols(libraries)), encoding="utf-8")
    compiler = next(filter(None, map(shutil.which, ("gcc", "cc", "clang"))))
    flags = ["-shared", "-fPIC", "-O1", "-w", "-fno-builtin"]
    run([compiler, *flags, "-o", str(lib / STUBS), f"-Wl,-soname,{STUBS}", str(source), "-lstdc++"])
    linked = [f"-L{lib}", "-Wl,-rpath,$ORIGIN", "-Wl,--no-as-needed", f"-l:{STUBS}"]
    for name in sorted(missing):
        run([compiler, "-shared", "-nostdlib", "-o", str(lib / name), f"-Wl,-soname,{name}", *linked])


def missing_symbols(libraries: list[Path]) -> list[str]:
    """Return what the libraries need that none of them defines, nor the system."""
    defined = {symbol for library in libraries for symbol in symbols_of(library, "--defined-only")}
    for name in ("c.so.6", "m.so.6", "stdc++.so.6", "gcc_s.so.1", "pthread.so.0", "dl.so.2", "rt.so.1"):
        path = run(["g++", f"-print-file-name=lib{name}"]).strip()
        if Path(path).is_file():
            defined |= set(symbols_of(Path(path), "--defined-only"))
    needed = {symbol for library in libraries for symbol in symbols_of(library, "--undefined-only", kinds="U")}
    return sorted(symbol for symbol in needed - defined if not DEFINED_ELSEWHERE.match(symbol))


def stand_ins(symbols: Iterable[str]) -> str:
    """Return C that defines each symbol: a function that answers 0, a reference to zeros, a type, or room."""
    lines = [
        TYPEINFO,
        "static char zeros[65536] __attribute__((aligned(64)));",
        "static void *nothing(void) { return 0; }",
        'static void *type[] = {_ZTVN10__cxxabiv117__class_type_infoE + 16, "14CudaStandIn"};',
        f"static void *vtable[] = {{0, type, {', '.join(['nothing'] * 32)}}};",
    ]
    for symbol in symbols:
        if symbol.startswith("_ZTI"):
            lines.append(f'void *{symbol}[34] = {{_ZTVN10__cxxabiv117__class_type_infoE + 16, "{symbol[4:]}"}};')
        elif symbol.startswith(("_ZTV", "_ZTS")):
            lines.append(f"char {symbol}[272];")
        elif OPTIONS.search(symbol):  # an object whose type pybind11 asks for
            lines.append(f"void {symbol}(void **self) {{ *self = vtable + 2; }}")
        else:
            answer = "zeros" if REFERENCES.match(symbol) else "0"
            lines.append(f"void *{symbol}(void) {{ return {answer}; }}")
    return "\n".join([*lines, ""])


def needed_libraries(library: Path) -> list[str]:
    return re.findall(r"\(NEEDED\).*\[(.+?)\]", run(["readelf", "-d", str(library)]))


def symbols_of(library: Path, which: str, kinds: str = "") -> list[str]:
    rows = (line.split() for line in run(["nm", "-D", which, str(library)]).splitlines())
    return [row[-1].split("@")[0] for row in rows if len(row) >= 2 and (not kinds or row[-2] in kinds)]


def run(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
