"""Checks entries of torch's operator database, one request after the other: a line of JSON in, a line of JSON out.

Started by path, in the simulator's environment. A request is {"entry", "dtype", "direction", "samples"}; the first
line out is {"entries": ..., "operators": ...}: what there is to ask for, and the simulator's own record.
"""

from __future__ import annotations

import ctypes
import faulthandler
import importlib.util
import json
import os
import resource
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch.testing._internal.opinfo.core import OpInfo

DIRECTIONS = ("forward", "strided", "expanded", "backward", "inplace", "out")
DTYPES = ("float32", "float16", "bfloat16", "int64", "bool", "complex64")


def own_package() -> str:
    """Make this folder a package, and no longer a place where torch's imports look first."""
    name, here = "_workbook_coverage", Path(__file__).parent
    sys.path[:] = [folder for folder in sys.path if Path(folder or ".").resolve() != here.resolve()]
    spec = importlib.util.spec_from_file_location(name, here / "__init__.py", submodule_search_locations=[str(here)])
    assert spec and spec.loader
    sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[name])
    return name


def without_fixed_seeds() -> None:
    """Undo the database's wrapping of random operators, which seeds each call alike; then none would look random."""
    for name, module in list(sys.modules.items()):
        if name.startswith("torch.testing._internal.") and hasattr(module, "wrapper_set_seed"):
            vars(module)["wrapper_set_seed"] = lambda op, *args, **kwargs: op(*args, **kwargs)


def main() -> None:
    pipe = os.fdopen(os.dup(1), "w", encoding="utf-8")  # to the parent; whatever else prints goes to stderr
    os.dup2(2, 1)
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    package = own_package()
    import torch
    from torch.testing._internal.common_methods_invocations import op_db

    entries = importlib.import_module(package + ".entries")
    torch.set_num_threads(1)
    without_fixed_seeds()
    torch.npu.init()

    def send_message(message: dict[str, object]) -> None:
        print(json.dumps(message), file=pipe, flush=True)

    if "--list" in sys.argv:
        described = [_describe_entry(entries, torch, op) for op in op_db]
        library = ctypes.CDLL("libnpu_sim_kernels.so")
        library.npu_sim_operators.restype = (
            ctypes.c_char_p
        )  # a line for each operator (native/kernels/registration.cpp)
        send_message({"entries": described, "operators": library.npu_sim_operators().decode()})
    for line in sys.stdin:
        request = json.loads(line)
        dtype = getattr(torch, request["dtype"])
        send_message(entries.check(op_db[request["entry"]], dtype, request["direction"], request["samples"]))


def _describe_entry(entries: Any, torch: Any, op: OpInfo) -> dict[str, Any]:
    goes = {
        direction: [name for name in DTYPES if entries.is_in(op, getattr(torch, name), direction)]
        for direction in DIRECTIONS
    }
    return {"name": op.name, "variant": op.variant_test_name, "goes": goes}


if __name__ == "__main__":
    main()
