"""A launch plugin that counts reads of modelled values by itself, to hold the rehearsal's own list against.

It wraps what brings a tensor's values to the host in Python and asks the simulator's memory whether what is read there
is known. Runs in the user's process by path; writes seen.rank<R>.json: [file, line, what] of reads of modelled values.
"""

from __future__ import annotations

import ctypes
import json
import sys
import sysconfig
from pathlib import Path
from typing import Any

import torch

#: Methods of a tensor that tell its values, or make a size of them.
METHODS = (
    "item",
    "tolist",
    "numpy",
    "__bool__",
    "__int__",
    "__float__",
    "__index__",
    "__format__",
    "__repr__",
    "__array__",
    "nonzero",
    "unique",
)
#: sim::content_of(void const*, unsigned long) of the simulator's kernels.
CONTENT_OF = "_ZN3sim10content_ofEPKvm"
#: Python's own machinery by its name: the rehearsal, which asks whose line it is, takes it for no program's.
WRAPPER = """
def wrap(ordinary, see):
    def read(tensor, *args, **kwargs):
        see(tensor)
        return ordinary(tensor, *args, **kwargs)
    read.__name__ = ordinary.__name__
    return read
"""


def attach(observer: Any, config: dict[str, Any]) -> None:
    """Count from now on."""
    library = Path(config["simulator"]) / "lib64" / "libnpu_sim_kernels.so"
    content_of = getattr(ctypes.CDLL(str(library)), CONTENT_OF)
    seen: set[tuple[str, int, str]] = set()
    space: dict[str, Any] = {}
    exec(compile(WRAPPER, "<frozen count_reads>", "exec"), space)

    def note(tensor: torch.Tensor, name: str) -> None:
        place = own_place()
        local = getattr(tensor, "_local_tensor", tensor)
        if not place or not isinstance(local, torch.Tensor) or not local.numel():
            return
        try:
            address = local.data_ptr()
        except RuntimeError:
            return
        if address and content_of(ctypes.c_void_p(address), ctypes.c_size_t(local.element_size())):
            seen.add((*place, name))

    for name in METHODS:
        see = lambda tensor, name=name: note(tensor, name)  # noqa: E731
        setattr(torch.Tensor, name, space["wrap"](getattr(torch.Tensor, name), see))

    def write(_: str) -> None:
        (observer.out / f"seen.rank{observer.rank}.json").write_text(json.dumps(sorted(seen)), encoding="utf-8")

    observer.on_end(write)


def own_place() -> tuple[str, int] | None:
    """Return the innermost line that is neither torch's nor Python's; None where the launch reads for itself."""
    frame = sys._getframe(2)
    others = (str(Path(torch.__file__).parent), sysconfig.get_path("stdlib"), "<")
    while frame is not None:
        file = frame.f_code.co_filename
        if file == __file__ or "/ascend-workbook/simulator/" in file or frame.f_code.co_name == "__torch_function__":
            frame = frame.f_back  # type: ignore[assignment]
            continue
        outside = "site-packages" in file and "/torch/" not in file or not file.startswith(others)
        if outside and "/torch_npu/" not in file and not frame.f_globals.get("PASSES_THROUGH"):
            return None if "/launch/child/" in file or "/planning/child/" in file else (file, frame.f_lineno)
        frame = frame.f_back  # type: ignore[assignment]
    return None
