"""The lowest Python is one number everywhere, and the code holds to it: its syntax, and what its library has."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ascend_workbook.machine import versions
from tests.conftest import ROOT
from tools.resolve import PYTHONS

PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
LOWEST = tuple(int(part) for part in re.findall(r'^requires-python = ">=(\d+)\.(\d+)"', PYPROJECT, re.M)[0])
TEXT = ".".join(map(str, LOWEST))
#: What newer libraries have, by the version that brought it.
NEWER_MODULES = {"tomllib": (3, 11), "wsgiref.types": (3, 11), "asyncio.taskgroups": (3, 11)}
NEWER_NAMES = {
    "itertools": {"pairwise": (3, 10), "batched": (3, 12)},
    "datetime": {"UTC": (3, 11)},
    "types": {"NoneType": (3, 10), "UnionType": (3, 10), "EllipsisType": (3, 10)},
    "typing": {
        "TypeAlias": (3, 10),
        "ParamSpec": (3, 10),
        "Concatenate": (3, 10),
        "TypeGuard": (3, 10),
        "Self": (3, 11),
        "LiteralString": (3, 11),
        "assert_never": (3, 11),
        "override": (3, 12),
    },
    "enum": {"StrEnum": (3, 11)},
    "contextlib": {"aclosing": (3, 10), "chdir": (3, 11)},
    "inspect": {"get_annotations": (3, 10)},
    "sys": {"stdlib_module_names": (3, 10), "exception": (3, 11)},
    "hashlib": {"file_digest": (3, 11)},
    "statistics": {"correlation": (3, 10), "linear_regression": (3, 10), "covariance": (3, 10)},
}
NEWER_KEYWORDS = {
    "zip": {"strict": (3, 10)},
    "dataclass": {"slots": (3, 10), "kw_only": (3, 10)},
    "glob": {"root_dir": (3, 10)},
    "entry_points": {"group": (3, 10)},
}
NEWER_METHODS = {"bit_count": (3, 10), "hardlink_to": (3, 10), "walk_up": (3, 12)}
BUILTINS = {
    "aiter": (3, 10),
    "anext": (3, 10),
    "ExceptionGroup": (3, 11),
    "BaseExceptionGroup": (3, 11),
    "EncodingWarning": (3, 10),
}


def files() -> list[Path]:
    """List the Python files; examples of rules are texts with marks between their lines."""
    listed = subprocess.run(["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True, check=False)
    named = [ROOT / name for name in listed.stdout.splitlines()]
    apart = {".venv", "examples"}
    return [path for path in named or ROOT.rglob("*.py") if path.is_file() and not apart & {*path.parts}]


#: What a file without any of these has no need to be looked through for.
WORTH_A_LOOK = re.compile(
    "|".join(
        [
            *NEWER_MODULES,
            *(name for names in NEWER_NAMES.values() for name in names),
            *NEWER_METHODS,
            *BUILTINS,
            *(f"{word} ?=" for words in NEWER_KEYWORDS.values() for word in words),
            r"is(?:instance|subclass)\([^\n]*\|",
            r"cast\([^\n]*\|",
        ]
    )
)
LATER = "from __future__ import annotations"


def too_new(text: str, lowest: tuple[int, ...] = LOWEST) -> list[str]:
    """What the lowest Python lacks; raises SyntaxError where it can't even read the text."""
    tree = ast.parse(text, feature_version=(lowest[0], lowest[1]))
    if not WORTH_A_LOOK.search(text) and (LATER in text or "|" not in text):
        return []
    return sorted({name for name, since in _used(tree) if since > lowest})


def _used(tree: ast.Module) -> Iterator[tuple[str, tuple[int, int]]]:
    late = any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, NEWER_MODULES[alias.name]) for alias in node.names if alias.name in NEWER_MODULES)
        elif isinstance(node, ast.ImportFrom):
            yield from _from_import(node)
        elif isinstance(node, ast.Attribute):
            yield from _attribute(node)
        elif isinstance(node, ast.Call):
            yield from _call(node)
        elif isinstance(node, ast.Name) and node.id in BUILTINS:
            yield node.id, BUILTINS[node.id]
        elif isinstance(node, (ast.FunctionDef, ast.AnnAssign)) and not late:
            yield from _annotations(node)


def _from_import(node: ast.ImportFrom) -> Iterator[tuple[str, tuple[int, int]]]:
    module = node.module or ""
    if module in NEWER_MODULES:
        yield module, NEWER_MODULES[module]
    for alias in node.names:
        if alias.name in NEWER_NAMES.get(module, {}):
            yield f"{module}.{alias.name}", NEWER_NAMES[module][alias.name]


def _attribute(node: ast.Attribute) -> Iterator[tuple[str, tuple[int, int]]]:
    if isinstance(node.value, ast.Name) and node.attr in NEWER_NAMES.get(node.value.id, {}):
        yield f"{node.value.id}.{node.attr}", NEWER_NAMES[node.value.id][node.attr]
    if node.attr in NEWER_METHODS:
        yield f".{node.attr}", NEWER_METHODS[node.attr]


def _call(node: ast.Call) -> Iterator[tuple[str, tuple[int, int]]]:
    name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
    for keyword in node.keywords:
        if keyword.arg in NEWER_KEYWORDS.get(name, {}):
            yield f"{name}({keyword.arg}=)", NEWER_KEYWORDS[name][str(keyword.arg)]
    if name in ("isinstance", "issubclass") and len(node.args) == 2 and isinstance(node.args[1], ast.BinOp):
        yield f"{name}(x, A | B)", (3, 10)
    if name == "cast" and node.args and isinstance(node.args[0], ast.BinOp):
        yield "cast(A | B, x)", (3, 10)


def _annotations(node: ast.FunctionDef | ast.AnnAssign) -> Iterator[tuple[str, tuple[int, int]]]:
    """`A | B` in an annotation is computed where annotations are not left as text."""
    if isinstance(node, ast.AnnAssign):
        found = [node.annotation]
    else:
        found = [one.annotation for one in (*node.args.args, *node.args.kwonlyargs) if one.annotation]
        found += [node.returns] if node.returns else []
    if any(isinstance(part, ast.BinOp) and isinstance(part.op, ast.BitOr) for each in found for part in ast.walk(each)):
        yield "A | B in an annotation", (3, 10)


def test_every_file_is_of_the_lowest_python() -> None:
    found = {str(path.relative_to(ROOT)): too_new(path.read_text(encoding="utf-8")) for path in files()}
    assert len(found) > 500
    assert not {name: new for name, new in found.items() if new}


@pytest.mark.parametrize(
    "text",
    [
        "import tomllib",
        "from datetime import UTC",
        "import datetime\ndatetime.UTC",
        "for a, b in zip(x, y, strict=True): pass",
        "@dataclass(slots=True)\nclass A: pass",
        "isinstance(x, int | str)",
        "def f(x: int | None = None): pass",
        "from itertools import pairwise",
        "x: int | str = 1",
        "raise ExceptionGroup('a', [])",
        "(3).bit_count()",
        "cast(int | str, x)",
    ],
)
def test_what_is_too_new_is_found(text: str) -> None:
    assert too_new(text, (3, 9)) and not too_new(text, (3, 13))


@pytest.mark.parametrize("text", ["match x:\n    case 1: pass", "type A = int", "def f[T](x: T): pass"])
def test_newer_syntax_is_no_syntax(text: str) -> None:
    with pytest.raises(SyntaxError):
        too_new(text, (3, 9))


@pytest.mark.parametrize(
    "text",
    [
        "from __future__ import annotations\ndef f(x: int | None): pass",
        "a | b",
        "zip(x, y)",
    ],
)
def test_what_is_old_enough(text: str) -> None:
    assert not too_new(text, (3, 9))


def test_one_number_everywhere() -> None:
    assert f'target-version = "py{LOWEST[0]}{LOWEST[1]}"' in PYPROJECT
    assert PYTHONS[0] == TEXT
    bootstrap = (ROOT / "tools" / "bootstrap.py").read_text(encoding="utf-8")
    assert f"Python >= {TEXT}" in bootstrap and f"sys.version_info < {LOWEST}" in bootstrap
    assert f"needs {TEXT};" in (ROOT / "ascend_workbook/environment/rules/python.py").read_text(encoding="utf-8")


def with_the_pair() -> list[str]:
    """Pythons that `make resolve` looks at and that have wheels of the pair the simulated NPU is built with."""
    torch_npu = re.findall(r"^torch_npu==(\S+)", (ROOT / "requirements-torch.txt").read_text(encoding="utf-8"), re.M)[0]
    wheel = versions.find_wheel(torch_npu, "x86_64")
    assert wheel is not None
    return [python for python in PYTHONS if python in wheel["python"]]


def test_the_pages_name_the_pythons_that_have_the_pair() -> None:
    lowest, *_, highest = with_the_pair()
    assert f"Python {lowest} to {highest}" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"Python {lowest} 至 {highest}" in (ROOT / "README.zh-CN.md").read_text(encoding="utf-8")
    above = f"3.{int(highest.split('.')[1]) + 1}"
    assert f"python>={lowest},<{above}" in (ROOT / "environment.yml").read_text(encoding="utf-8")
