"""TensorFlow scripts, coarsely: the levels of Ascend's own converter, name by name where it matters.

convert_tf2npu changes the script itself (TensorFlow 1.15: npu_bridge; 2.6: npu_device). The level says what to
expect of it: `tool` (it is changed by the tool), `by_hand`, `no_effect`, `unsupported`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from helpers.finding import Finding
from helpers.migration import api_map
from helpers.migration.calls import argument, string
from helpers.migration.knowledge import DOCUMENTED, Known
from helpers.migration.names import load
from helpers.migration.repair import MANUAL, found
from helpers.migration.source import Source

CODE = "MIG136"
TOKENS = ("tensorflow", "horovod")
LEVELS = api_map.load("tensorflow")["names"]
KNOWN = Known(
    DOCUMENTED,
    "https://gitcode.com/Ascend/tensorflow",
    versions="TensorFlow 1.15 and 2.6.5",
    hours={"tool": 0.5, "by_hand": 2.0, "script": 4.0},
)
EXAMPLES = (
    ("import tensorflow as tf\ns = tf.Session()  # 会话\n", "manual", None),
    ("import tensorflow as tf\nwith tf.device('/gpu:0'):\n    pass\n", "manual", None),
    ("import tensorflow as tf\nr = tf.distribute.TPUStrategy()\n", "unsupported", None),
    ("import tensorflow.compat.v1 as tf\nc = tf.ConfigProto()\n", "manual", None),
    ("import horovod.tensorflow as hvd\nhvd.init()\n", "manual", None),
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
    for node in (*source.nodes(ast.Import), *source.nodes(ast.ImportFrom)):
        if _is_tensorflow(node):
            yield found(source, node, "MIG136.script", MANUAL, level="script")
            break
    for reference, name in source.names.named:
        said = LEVELS.get(_short(name))
        if said and load(reference):
            yield found(source, reference, f"MIG136.{said['level']}", said["class"], name=name, level=said["level"])
    for call in source.nodes(ast.Call):
        device = string(argument(call, 0, "device_name")) if _short(source.names.call(call)) == "tf.device" else None
        if device and "gpu" in device.lower():
            yield found(source, call, "MIG136.by_hand", MANUAL, name=f"tf.device({device!r})", level="by_hand")


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
