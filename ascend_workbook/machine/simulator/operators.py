"""torch_npu's operators on the simulated NPU: how each is run, and which data types the hardware takes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Column, Report, Table

#: Prints the kernels' record, and by reference the data types that it checks.
RECORD = """
import ctypes, importlib.util, json, sys, torch
torch.npu.init()
library = ctypes.CDLL("libnpu_sim_kernels.so")
library.npu_sim_operators.restype = ctypes.c_char_p
folder = sys.argv[1] + "/references"
spec = importlib.util.spec_from_file_location(
    "references", folder + "/__init__.py", submodule_search_locations=[folder])
sys.modules["references"] = references = importlib.util.module_from_spec(spec)
spec.loader.exec_module(references)
checked = {name: {argument: [str(dtype).replace("torch.", "") for dtype in dtypes]
                  for argument, dtypes in reference.dtypes.items()}
           for name, reference in references.all_references().items()
           if reference.dtypes and name.startswith("npu::")}
print("RECORD " + json.dumps([library.npu_sim_operators().decode(), checked]))
"""
#: The documentation of torch_npu's own operators, a page each: where references have their data types from.
DOCUMENTS = "https://gitcode.com/Ascend/op-plugin/tree/master/docs/zh/custom_APIs/torch_npu/"


def list_operators(location: Path, env: dict[str, str]) -> Report:
    """Return a row per operator: state (simulated, composite, torch_npu, fallback, refused), data types, their source.

    `location` is the simulator's folder, `env` the environment of a child that sees it. Raises WorkbookError where the
    child does not start.
    """
    from ascend_simulator.coverage.entries import UNKNOWN

    record, checked = _record_operators(location, env)
    types = {
        name: (
            " ".join(f"{argument}={','.join(dtypes)}" for argument, dtypes in lists.items()),
            f"torch_npu: {DOCUMENTS}",
        )
        for name, lists in checked.items()
    }
    types.update(dtype_lists((location / "dtypes.txt").read_text(encoding="utf-8")))
    rows = tuple(_make_row(name, kind, types) for name, kind in sorted(record.items()))
    unknown = sum(1 for row in rows if row[2] == UNKNOWN)
    finding = Finding("SIM005", Status.NOTE, "operators.listed", {"total": len(rows), "unknown": unknown})
    columns = tuple(map(Column, ("operator", "operator_state", "dtype_support", "dtype_source")))
    facts = {"states": dict(Counter(row[1] for row in rows))}
    table = Table(columns, rows)
    return Report("environment", "simulator_operators", (finding,), table, tier="npu-simulated", facts=facts)


def dtype_lists(table: str) -> dict[str, tuple[str, str]]:
    """Read dtypes.txt: by operator the data types of its arguments, and the document that says so."""
    lists = {}
    for line in table.splitlines():
        if line and not line.startswith("#"):
            operators, function, source, arguments = line.split(" | ")
            for name in operators.split():
                address = source if source.startswith("https://") else f"https://gitcode.com/{source}"
                lists[f"aten::{name}"] = (arguments, address if function == "-" else f"{function}: {address}")
    return lists


def _make_row(name: str, kind: str, types: dict[str, tuple[str, str]]) -> tuple[str, str, str, str]:
    """Make an operator's row, without types where the CPU computes, or operators that have rows of their own."""
    from ascend_simulator.coverage.entries import UNKNOWN

    if kind == "fallback":
        return name, kind, "", ""
    known, source = types.get(name, ("" if kind == "composite" else UNKNOWN, ""))
    return name, kind, known, source


def _record_operators(location: Path, env: dict[str, str]) -> tuple[dict[str, str], dict[str, dict[str, list[str]]]]:
    """Return the state by operator, and by reference the data types of its arguments."""
    command = [sys.executable, "-c", RECORD, str(location)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, check=False)
    for line in done.stdout.splitlines():
        if line.startswith("RECORD "):
            record, checked = json.loads(line.removeprefix("RECORD "))
            return {words[0]: words[1] for words in map(str.split, record.splitlines())}, checked
    output = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
    raise WorkbookError("coverage.no_child", error=output[-1])
