"""Which operators torch_npu holds to one device: those of its generated wrappers that compare devices.

A wrapper's name is in the library only as an argument of that comparison (https://gitcode.com/Ascend/pytorch,
torchnpugen/utils.py, gen_device_check).
"""

from __future__ import annotations

import mmap
import re

from ascend_simulator.installed import Package

WRAPPER = re.compile(rb"\0(wrapper_\w+)(?=\0)")


def list_wrappers(torch_npu: Package) -> list[str]:
    """Return the names, such as `wrapper_NPU__mm`, sorted. Raises OSError where the library cannot be read. Raises
    OSError where the library cannot be read.
    """
    path = torch_npu.root / "lib" / "libtorch_npu.so"
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return sorted({name.decode() for name in WRAPPER.findall(content)})
