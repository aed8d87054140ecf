"""Mixed precision: torch.autocast, torch.amp and torch.cuda.amp, old spelling and new.

transfer_to_npu patches autocast's constructor, custom_fwd/bwd and the old GradScaler; torch.amp.GradScaler
is not patched and works with "cuda" as it is (a full step was run). torch.is_autocast_enabled(), with "cuda" or
without, answers False inside autocast under torch_npu 2.12.0 and True under 2.13.0 (both were run).
"""

from __future__ import annotations

import ast

from ascend_workbook.migration import api_map
from ascend_workbook.migration.reading.calls import is_load, string_value
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.release import GIVEN, current_release
from ascend_workbook.migration.repair import ADVICE, AUTO, MANUAL, MEASURED, TRANSFER, Findings, Known, finding_at

CODE = "MIG108"
WORDS = ("autocast",)
TOKENS = ("amp", "GradScaler")
KNOWN = Known(MEASURED, TRANSFER, hours={"wrapped": 0.25}, inferred=("wrapped",))
NAMES = tuple(api_map.list_names("amp"))
#: Libraries whose autocast is torch's own or knows NPUs.
PACKAGES = {"torch", "torch_npu", "torch_xla", "accelerate", "transformers", "lightning", "pytorch_lightning"}
#: What projects call their own packages.
OWN = {"utils", "util", "src", "lib", "libs", "core", "common", "tools", "helpers", "models", "modules", "training"}


def _on_cpu(call: ast.Call) -> bool:
    """Named for the CPU in so many words: no use of CUDA."""
    named = [keyword.value for keyword in call.keywords if keyword.arg in ("device", "device_type")]
    return any(string_value(value) == "cpu" for value in (*call.args[:1], *named))


def _names_npu(call: ast.AST | None) -> bool:
    return isinstance(call, ast.Call) and any(string_value(value) == "npu" for value in call.args)


def _answers_true() -> bool:
    """Return whether the release that was asked for is the one under which it was seen to answer True."""
    release = current_release()
    return release is not None and release.why == GIVEN and release.read == "2.13.0"


def check(source: Source) -> Findings:
    yield from _check_wrapped_amp(source)
    for node, name in source.names.whole_names:
        above = source.names.parent_of(node)
        on_cpu = "_cpu_" in name or (isinstance(above, ast.Call) and above.func is node and _on_cpu(above))
        if name.startswith(NAMES) and is_load(node) and not on_cpu:
            asks = name == "torch.is_autocast_enabled" and not _names_npu(above) and not _answers_true()
            yield finding_at(source, node, f"MIG108.{'asks' if asks else 'works'}", ADVICE if asks else AUTO, name=name)


def _check_wrapped_amp(source: Source) -> Findings:
    """autocast or GradScaler of a library that is not known here: which device it names cannot be seen."""
    for node in source.nodes_of_type(ast.ImportFrom):
        package = (node.module or "").split(".")[0]
        if node.level or not package or package in PACKAGES or api_map.find_entry("third_party", package):
            continue
        for name in node.names if "." in (node.module or "") and not _is_own(source, package) else ():
            if name.name in ("autocast", "GradScaler"):
                at = name if hasattr(name, "lineno") else node  # Python 3.9 has no places for names of an import
                yield finding_at(source, at, "MIG108.wrapped", MANUAL, name=f"{node.module}.{name.name}")


def _is_own(source: Source, package: str) -> bool:
    """A package of the project: beside the file or above it, or named like one."""
    folders = source.file.resolve().parents if source.file else ()
    beside = any((folder / package).is_dir() for folder in list(folders)[:4])
    return beside or package in OWN
