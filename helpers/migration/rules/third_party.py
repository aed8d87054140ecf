"""Libraries that bring GPU code of their own, from data/third_party.json: one finding at the import."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

from helpers.finding import Finding
from helpers.migration import api_map
from helpers.migration.knowledge import DOCUMENTED, Known
from helpers.migration.repair import found
from helpers.migration.source import Source

CODE = "MIG113"
TOKENS = {name.split(".")[0] for name in api_map.load("third_party")["names"]}
KNOWN = Known(DOCUMENTED, "https://www.hiascend.com/document", versions="as the entry says")
ELSEWHERE = {"triton"}  # triton.py
EXAMPLES = (
    ("from flash_attn import flash_attn_func  # 注意力\n", "unsupported", None),
    ("try:\n    import apex\nexcept ImportError:\n    apex = None\n", "manual", None),
    ("import nvidia.dali as dali\n", "unsupported", None),
    ("import deepspeed\n", "advice", None),
    ("def f():\n    import pynvml\n", "manual", None),
)
NEAR_MISSES = (
    "import transformers  # 已支持\n",
    "from .apex import tools\n",
    "from mine import flash_attn\n",
    "import apexpy\n",
    "print('import flash_attn')\n",
    "import mindspeed.megatron_adaptor\nfrom megatron.core import mpu  # 已适配\n",
)


def check(source: Source) -> Iterable[Finding]:
    adapted = any(_is_adaptor(node) for node in source.nodes(ast.Import))
    for node in (*source.nodes(ast.Import), *source.nodes(ast.ImportFrom)):
        for library in dict.fromkeys(filter(None, map(_library, _modules(node)))):
            if library not in ELSEWHERE and not _is_own(source, library.split(".")[0]):
                if library == "megatron" and adapted:
                    continue
                said = api_map.entry("third_party", library)
                assert said is not None
                yield found(source, node, "MIG113.library", said["class"], library=library, use=said["use"])


def _is_adaptor(node: ast.Import) -> bool:
    return any(name.name == "mindspeed.megatron_adaptor" for name in node.names)


def _is_own(source: Source, library: str) -> bool:
    """The file is part of the library itself, or the library's sources lie beside it (Megatron's still count)."""
    folders = source.file.resolve().parents if source.file else Path(source.path).parents
    if any(folder.name == library for folder in folders):
        return True
    beside = [folder / library for folder in list(folders)[:8]] if source.file and library != "megatron" else []
    return any((folder / "__init__.py").is_file() for folder in beside)


def _modules(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (name.name for name in node.names)
    elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
        yield from (f"{node.module}.{name.name}" for name in node.names)


def _library(module: str) -> str:
    """The longest leading part of the module's name that the table knows."""
    parts = module.split(".")
    return next((".".join(parts[:n]) for n in (2, 1) if api_map.entry("third_party", ".".join(parts[:n]))), "")
