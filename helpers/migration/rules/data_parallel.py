"""nn.DataParallel: one process for several cards. torch_npu does not support it on any hardware.

https://www.hiascend.com/document (torch_npu native API list, torch.nn.DataParallel: not supported); run under
transfer_to_npu its forward raises.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from helpers.finding import Finding
from helpers.migration.knowledge import MEASURED, NATIVE, Known
from helpers.migration.reading.names import load
from helpers.migration.reading.source import Source
from helpers.migration.repair import UNSUPPORTED, found

CODE = "MIG109"
WORDS = ("DataParallel",)
TOKENS = ("BaseModelDP", "data_parallel", "replicate", "parallel_apply", "scatter", "gather")
PATTERN = "arallel|BaseModelDP"
KNOWN = Known(MEASURED, NATIVE, hours={"no_kernel": 4.0, "wrapper": 4.0}, inferred=("wrapper",))
NAMES = {
    "torch.nn.DataParallel",
    "torch.nn.parallel.DataParallel",
    "torch.nn.parallel.data_parallel.DataParallel",
    "torch.nn.parallel.data_parallel",
    "torch.nn.parallel.data_parallel.data_parallel",
    "torch.nn.parallel.replicate",
    "torch.nn.parallel.replicate.replicate",
    "torch.nn.parallel.parallel_apply",
    "torch.nn.parallel.parallel_apply.parallel_apply",
    "torch.nn.parallel.scatter",
    "torch.nn.parallel.scatter_gather.scatter",
    "torch.nn.parallel.scatter_gather.scatter_kwargs",
    "torch.nn.parallel.gather",
    "torch.nn.parallel.scatter_gather.gather",
}
#: Other libraries' and a project's own classes that are nn.DataParallel underneath.
WRAPPERS = {
    "bert4torch.models.BaseModelDP",
    "torch_geometric.nn.DataParallel",
    "torch_geometric.nn.data_parallel.DataParallel",
}
WRAPPER = re.compile(
    r"(?!.*(?:Distributed|Sharded|NPU|MLU|XPU))(?!paddle|torch\.)[\w.]*?\.(?:[A-Z]\w*DataParallel|DataParallelWithCallback|DataParallelCriterion)"
)
EXAMPLES = (
    ("import torch.nn as nn\nm = nn.DataParallel(m)  # 多卡\n", "unsupported", None),
    ("from torch.nn.parallel import DataParallel as DP\nm = DP(m)\n", "unsupported", None),
    ("from torch import nn\nclass 并行(nn.DataParallel):\n    pass\n", "unsupported", None),
    ("from torch import nn\nwrap = nn.DataParallel if many else keep\n", "unsupported", None),
    ("from torch.nn.parallel import replicate\nms = replicate(m, [0, 1])\n", "unsupported", None),
    ("from torch.nn.parallel.scatter_gather import gather as g\ny = g(各卡, 0)\n", "unsupported", None),
    ("from utils.parallel import BalancedDataParallel\nm = BalancedDataParallel(4, m)  # 均衡\n", "unsupported", None),
    ("from sync_batchnorm import DataParallelWithCallback as DP\nm = DP(m)\n", "unsupported", None),
    ("from bert4torch.models import BaseModelDP\nm = BaseModelDP(m)\n", "unsupported", None),
    ("from torch.nn.parallel.parallel_apply import parallel_apply\ny = parallel_apply(ms, xs)\n", "unsupported", None),
)
NEAR_MISSES = (
    "import torch.nn as nn\n模型 = nn.parallel.DistributedDataParallel(m)\n",
    "import torch.nn as nn\nok = isinstance(m, nn.DataParallel)\n",
    "from mine import LegacyDistributedDataParallel as D, NPUDataParallel\nm = NPUDataParallel(D(m))\n",
    "from fairscale.nn import ShardedDataParallel\nm = ShardedDataParallel(m)  # 分片\n",
    "from mine import DataParallelCoordinator\nc = DataParallelCoordinator()\n",
    "from mmcv.parallel import DataParallel\nm = DataParallel(m)\n",
    "import torch.nn.parallel\ny = torch.gather(x, 0, i)  # 张量\nx.scatter(0, i, 1)\n",
    "import torch.distributed as dist\ndist.gather(x)  # DataParallel\ndist.scatter(x)\n",
)


def check(source: Source) -> Iterable[Finding]:
    for call in source.nodes(ast.Call):
        name = source.names.call(call)
        if name in NAMES:
            yield found(source, call, "MIG109.no_kernel", UNSUPPORTED)
        elif name in WRAPPERS or WRAPPER.fullmatch(name):
            yield found(source, call, "MIG109.wrapper", UNSUPPORTED, name=name)
    for node, name in source.names.named:
        above = source.names.parent(node)
        given = isinstance(above, (ast.Assign, ast.IfExp)) or (isinstance(above, ast.ClassDef) and node in above.bases)
        if given and name in NAMES and load(node):
            yield found(source, node, "MIG109.no_kernel", UNSUPPORTED)
