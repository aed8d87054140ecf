"""Switches of cuDNN and cuBLAS: accepted and without effect on an NPU. HF32 takes TF32's place."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from helpers.finding import Finding
from helpers.migration.knowledge import DOCUMENTED, NATIVE, Known
from helpers.migration.reading.source import Source
from helpers.migration.repair import ADVICE, MANUAL, found

CODE = "MIG119"
WORDS = ("backends", "cuda")
NEEDS = "torch"
KNOWN = Known(DOCUMENTED, NATIVE)
FAMILIES = ("torch.backends.cudnn.", "torch.backends.cuda.")
#: Calls that raise, or answer something else, for None.
PARSERS = {"parse", "Version", "LooseVersion", "StrictVersion", "parse_version", "float", "int", "bool"}
EXAMPLES = (
    ("import torch.backends.cudnn as cudnn\ncudnn.benchmark = True  # 加速\n", "advice", None),
    ("import torch\ntorch.backends.cuda.matmul.allow_tf32 = True\n", "advice", None),
    ("import torch\nprint('版本', torch.version.cuda)\n", "advice", None),
    ("import torch\ntorch.backends.cuda.cufft_plan_cache.max_size = 8\n", "manual", None),
    ("import torch\nbf16 = torch.version.cuda and 新\n", "manual", None),
    ("import torch\nold = int(torch.version.cuda.split('.')[0]) < 11\n", "manual", None),
    ("import torch\nfrom packaging import version\nnew = version.parse(torch.version.cuda) >= v\n", "manual", None),
)
NEAR_MISSES = (
    "import torch.backends.cudnn as cudnn  # 只导入\n",
    "import torch\ntorch.backends.mkldnn.enabled = False\n",
    "import torch\nprint(torch.version.hip)\n",
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
