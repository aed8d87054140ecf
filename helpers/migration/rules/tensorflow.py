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
from collections.abc import Iterable, Iterator
from functools import cache

from helpers.finding import Finding
from helpers.migration import api_map
from helpers.migration.knowledge import DOCUMENTED, Known
from helpers.migration.reading.calls import argument, string
from helpers.migration.reading.names import load
from helpers.migration.reading.source import Source
from helpers.migration.repair import ADVICE, MANUAL, found

CODE = "MIG136"
TOKENS = ("tensorflow", "horovod")
PATTERN = r"(?:\b(?:import|from)|,) (?:tensorflow|horovod)\b"
LEVELS = api_map.load("tensorflow")["names"]
KNOWN = Known(
    DOCUMENTED,
    "https://github.com/Ascend/tensorflow/tree/82507eb26ab120c02bf217610975754100686970/convert_tf2npu",
    versions="TensorFlow 1.15, 2.6.5",
    hours={"tool": 0.5, "by_hand": 2.0, "script": 4.0},
)
#: Levels that only the list of 2021 gives, and what it calls them.
LISTED = {"analysing": "analysing", "deprecated": "deprecated", "unsupported": "listed_unsupported",
          "by_hand": "dynamic"}  # fmt: skip
EXAMPLES = (
    ("import tensorflow as tf\ns = tf.Session()  # 会话\n", "manual", None),
    ("import tensorflow as tf\nwith tf.device('/gpu:0'):\n    pass\n", "manual", None),
    ("import tensorflow as tf\nr = tf.distribute.TPUStrategy()\n", "unsupported", None),
    ("import tensorflow.compat.v1 as tf\nc = tf.ConfigProto()\n", "manual", None),
    ("import horovod.tensorflow as hvd\nhvd.init()\n", "manual", None),
    ("import tensorflow as tf\nx = tf.contrib.layers.layer_norm(y)  # 已弃用\n", "advice", None),
    ("import tensorflow as tf\nx = tf.nn.conv3d(y, w)\nz = tf.nn.conv3d(x, w)\n", "advice", None),
)
NEAR_MISSES = (
    "from torch.utils.tensorboard import SummaryWriter  # 无关\n",
    "from mine import tensorflow as tf\ntf.Session()\n",
    "print('import tensorflow')\n",
    "import tensorflow_datasets as tfds\n",
    "import torch\nimport tensorflow as tf\ntf.config.set_visible_devices([], 'GPU')  # 只读数据\n",
)


def check(source: Source) -> Iterable[Finding]:
    if _uses_torch(source):  # a PyTorch script that reads data or exports with TensorFlow's help
        return
    used = [(node, name, level_of(name)) for node, name in _used(source)]
    counts = Counter(name for _, name, _ in used)
    script = next((node for node in _imports(source) if _is_tensorflow(node)), None)
    if script is not None:
        names = [[name, level_of(name), count] for name, count in sorted(counts.items())]
        yield found(source, script, "MIG136.script", MANUAL, level="script", names=names)
    seen: set[str] = set()
    for node, name, level in used:
        if name in LEVELS or level == "tool":
            kind = LEVELS[name]["class"] if name in LEVELS else MANUAL
            if name != "tf.device":  # judged below, by what it is given
                yield found(source, node, f"MIG136.{level}", kind, name=name, level=level)
        elif level in LISTED.values() and name not in seen:
            seen.add(name)
            yield found(source, node, f"MIG136.{level}", ADVICE, name=name, level=level, count=counts[name])
    for call in source.nodes(ast.Call):
        device = string(argument(call, 0, "device_name")) if _short(source.names.call(call)) == "tf.device" else None
        if device and "gpu" in device.lower():
            yield found(source, call, "MIG136.by_hand", MANUAL, name=f"tf.device({device!r})", level="by_hand")


def level_of(name: str) -> str:
    """The level of a name, or of the class or module it belongs to; one of helpers.migration.tensorflow.LEVELS."""
    while "." in name:
        if name in LEVELS:
            return str(LEVELS[name]["level"])
        if name in _listed():
            return _listed()[name]
        name = name.rpartition(".")[0]
    return "unknown"


@cache
def _listed() -> dict[str, str]:
    """Ascend's list of support for TensorFlow 1.15, name by name."""
    levels: dict[str, dict[str, str]] = api_map.load("tensorflow_levels")["levels"]
    return {
        f"{module}.{name}": LISTED.get(level, level)
        for level, modules in levels.items()
        for module, names in modules.items()
        for name in names.split()
    }


def _used(source: Source) -> Iterator[tuple[ast.AST, str]]:
    """Every whole name of TensorFlow or Horovod that is read: `tf.nn.relu`, not the `tf.nn` in it."""
    for node, name in source.names.named:
        short = _short(name)
        if "." not in short or short.split(".")[0] not in ("tf", "horovod") or not load(node):
            continue
        above = source.names.parent(node)
        if not (isinstance(above, ast.Attribute) and above.value is node):
            yield node, short


def _imports(source: Source) -> Iterator[ast.stmt]:
    yield from source.nodes(ast.Import)
    yield from source.nodes(ast.ImportFrom)


def _uses_torch(source: Source) -> bool:
    plain = {name.name.split(".")[0] for node in source.nodes(ast.Import) for name in node.names}
    return "torch" in plain or any((node.module or "").startswith("torch.") for node in source.nodes(ast.ImportFrom))


def _is_tensorflow(node: ast.stmt) -> bool:
    if isinstance(node, ast.Import):
        return any(name.name.split(".")[0] == "tensorflow" for name in node.names)
    return isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").split(".")[0] == "tensorflow"


def _short(name: str) -> str:
    """`tensorflow.compat.v1.Session` as `tf.Session`."""
    head, _, rest = name.partition(".")
    if head != "tensorflow":
        return name
    return "tf." + re.sub(r"^compat\.v[12]\.", "", rest)
