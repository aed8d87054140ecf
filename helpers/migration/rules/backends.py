"""Switches of cuDNN and cuBLAS: accepted and without effect on an NPU. HF32 takes TF32's place.

cuDNN's own operators have no NPU kernel: the plain ones (conv2d, batch_norm) do.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from helpers.finding import Finding
from helpers.migration.knowledge import DOCUMENTED, NATIVE, Known
from helpers.migration.reading.calls import method, string
from helpers.migration.reading.source import Source
from helpers.migration.repair import ADVICE, MANUAL, UNSUPPORTED, found

CODE = "MIG119"
TOKENS = ("backends",)
WORDS = ("cuda", "cudnn")
NEEDS = ("torch",)
PATTERN = r"(?:\.|\bimport|[,(]) (?:backends|version)\b(?! =)|cudnn_"
KNOWN = Known(DOCUMENTED, NATIVE, hours={"cudnn_operator": 4.0})
#: cuDNN's operators by name: `torch.ops.aten.cudnn_convolution`, "aten::cudnn_convolution".
OPERATORS = re.compile(r"(torch\.(ops\.aten\.)?_?|aten::_?)cudnn_(?!is_acceptable|init_dropout_state)\w+")
FAMILIES = ("torch.backends.cudnn.", "torch.backends.cuda.")
#: Calls that raise, or answer something else, for None.
PARSERS = {"parse", "Version", "LooseVersion", "StrictVersion", "parse_version", "float", "int", "bool"}
EXAMPLES = (
    ("import torch.backends.cudnn as cudnn\ncudnn.benchmark = True  # 加速\n", "advice", None),
    ("import torch\ntorch.backends.cuda.matmul.allow_tf32 = True\n", "advice", None),
    ("import torch\nprint('版本', torch.version.cuda)\n", "advice", None),
    ("import torch\ntorch.backends.cuda.cufft_plan_cache.max_size = 8\n", "manual", None),
    ("import torch\ny = torch.ops.aten.cudnn_convolution(x, w)  # 卷积\n", "unsupported", None),
    ("import torch\nf = torch._C._jit_get_operation('aten::cudnn_convolution')\n", "unsupported", None),
    ("import torch\nbf16 = torch.version.cuda and 新\n", "manual", None),
    ("import torch\nold = int(torch.version.cuda.split('.')[0]) < 11\n", "manual", None),
    ("import torch\nfrom packaging import version\nnew = version.parse(torch.version.cuda) >= v\n", "manual", None),
)
NEAR_MISSES = (
    "import torch.backends.cudnn as cudnn  # 只导入\n",
    "import torch\ntorch.backends.mkldnn.enabled = False\n",
    "import torch\nprint(torch.version.hip)\n",
    "import torch\nprint('aten::cudnn_convolution')  # 只打印\n",
    "import torch\nnames = [torch.cudnn_convolution]\n",
    "import torch\ncudnn_ok = torch.ops.aten.convolution(x, w)\n",
)


def check(source: Source) -> Iterable[Finding]:
    for node, name in source.names.named:
        if name == "torch.version.cuda" and isinstance(node, ast.Attribute):
            decides = _decides(source, node)
            yield found(source, node, "MIG119.version_asked" if decides else "MIG119.version",
                        MANUAL if decides else ADVICE)  # fmt: skip
        if not isinstance(node, ast.Attribute) or isinstance(source.names.parent(node), ast.Attribute):
            continue
        if name.startswith(FAMILIES):
            if "cufft_plan_cache" in name:
                yield found(source, node, "MIG119.cufft", MANUAL, name=name)
                continue
            outcome = "tf32" if "tf32" in name or "precision" in name else "no_effect"
            yield found(source, node, f"MIG119.{outcome}", ADVICE, name=name)
        elif OPERATORS.match(name) and isinstance(source.names.parent(node), ast.Call):
            yield found(source, node, "MIG119.cudnn_operator", UNSUPPORTED, name=name)
    for call in source.nodes(ast.Call):
        if method(call) == "_jit_get_operation":
            inside = [string(inner) or "" for inner in ast.walk(call)]
            name = next((text for text in inside if OPERATORS.match(text)), "")
            if name:
                yield found(source, call, "MIG119.cudnn_operator", UNSUPPORTED, name=name)


def _decides(source: Source, node: ast.AST) -> bool:
    """Compared, parsed or asked for its truth; not where it is printed, kept, or asked whether it is None."""
    child = node
    for above in source.names.above(node):
        if isinstance(above, ast.Compare):
            return not any(isinstance(value, ast.Constant) and value.value is None for value in above.comparators)
        if isinstance(above, (ast.Attribute, ast.BoolOp)):
            return True
        if isinstance(above, (ast.If, ast.IfExp, ast.While, ast.Assert)):
            return above.test is child
        if isinstance(above, ast.Call):
            name = source.names.call(above) or getattr(above.func, "id", "") or getattr(above.func, "attr", "")
            return name.rpartition(".")[2] in PARSERS
        if isinstance(above, (ast.stmt, ast.JoinedStr, ast.Dict)):
            return False
        child = above
    return False
