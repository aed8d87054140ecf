"""TensorFlow scripts, coarsely: the levels of Ascend's own converter, name by name where it matters.

convert_tf2npu changes the script itself (TensorFlow 1.15: npu_bridge; 2.6: npu_device). The level says what to
expect of a name: `supported`, `tool` (changed by the tool), `by_hand`, `no_effect`, `unsupported`; and, from
Ascend's list of 2021, `dynamic` (by hand where shapes are), `analysing`, `deprecated`, `listed_unsupported`. That
list says no of tf.nn.conv2d too, which runs today: what only the list says is advice to try it. A name that no
source speaks of counts as `unknown`.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache

from ascend_workbook.migration import api_map
from ascend_workbook.migration.reading.calls import find_argument, is_load, list_modules, string_value
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import ADVICE, DOCUMENTED, MANUAL, Findings, Known, finding_at

CODE = "MIG136"
TOKENS = ("tensorflow", "horovod")
PATTERN = r"(?:\b(?:import|from)|,) (?:tensorflow|horovod)\b"
LEVELS = api_map.load_map("tensorflow")["names"]
CONVERTER = "https://github.com/Ascend/tensorflow/tree/82507eb26ab120c02bf217610975754100686970/convert_tf2npu"
KNOWN = Known(DOCUMENTED, CONVERTER, "TensorFlow 1.15, 2.6.5", {"tool": 0.5, "by_hand": 2.0, "script": 4.0})
#: Levels that only the list of 2021 gives, and what it calls them.
LISTED = {name: name for name in ("analysing", "deprecated")} | {
    "unsupported": "listed_unsupported",
    "by_hand": "dynamic",
}


def check(source: Source) -> Findings:
    plain = {name.name.split(".")[0] for node in source.nodes_of_type(ast.Import) for name in node.names}
    parts = [node.module or "" for node in source.nodes_of_type(ast.ImportFrom)]
    if "torch" in plain or any(part.startswith("torch.") for part in parts):
        # a PyTorch script that reads data or exports with TensorFlow's help
        return
    used = [(node, name, level_of(name)) for node, name in _find_used_names(source)]
    counts = Counter(name for _, name, _ in used)
    imports = ((node, name.split(".")[0]) for node in source.imports for name in list_modules(node))
    script = next((node for node, library in imports if library == "tensorflow"), None)
    if script is not None:
        names = [[name, level_of(name), count] for name, count in sorted(counts.items())]
        yield finding_at(source, script, "MIG136.script", MANUAL, level="script", names=names)
    seen: set[str] = set()
    for node, name, level in used:
        if name in LEVELS or level == "tool":
            kind = LEVELS[name]["class"] if name in LEVELS else MANUAL
            if name != "tf.device":  # judged below, by what it is given
                yield finding_at(source, node, f"MIG136.{level}", kind, name=name, level=level)
        elif level in LISTED.values() and name not in seen:
            seen.add(name)
            yield finding_at(source, node, f"MIG136.{level}", ADVICE, name=name, level=level, count=counts[name])
    for call in source.nodes_of_type(ast.Call):
        is_device = _shorten_name(source.names.resolve_call(call)) == "tf.device"
        device = string_value(find_argument(call, 0, "device_name")) if is_device else None
        if device and "gpu" in device.lower():
            yield finding_at(source, call, "MIG136.by_hand", MANUAL, name=f"tf.device({device!r})", level="by_hand")


def level_of(name: str) -> str:
    """Return the level of a name, or of the class or module it belongs to: one of migration.scan.LEVELS."""
    while "." in name:
        if name in LEVELS:
            return str(LEVELS[name]["level"])
        if name in _load_supported_names():
            return _load_supported_names()[name]
        name = name.rpartition(".")[0]
    return "unknown"


@cache
def _load_supported_names() -> dict[str, str]:
    """Ascend's list of support for TensorFlow 1.15, name by name."""
    levels: dict[str, dict[str, str]] = api_map.load_map("tensorflow_levels")["levels"]
    return {
        f"{module}.{name}": LISTED.get(level, level)
        for level, modules in levels.items()
        for module, names in modules.items()
        for name in names.split()
    }


def _find_used_names(source: Source) -> Iterator[tuple[ast.AST, str]]:
    """Every whole name of TensorFlow or Horovod that is read: `tf.nn.relu`, not the `tf.nn` in it."""
    for node, name in source.names.whole_names:
        short = _shorten_name(name)
        if "." in short and short.split(".")[0] in ("tf", "horovod") and is_load(node):
            yield node, short


def _shorten_name(name: str) -> str:
    """`tensorflow.compat.v1.Session` as `tf.Session`."""
    head, _, rest = name.partition(".")
    if head != "tensorflow":
        return name
    return "tf." + re.sub(r"^compat\.v[12]\.", "", rest)
