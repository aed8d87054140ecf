"""Refuse the old dialect as names of functions, parameters and variables; `--report` prints the measures."""

from __future__ import annotations

import argparse
import ast
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("helpers", "ascend_workbook", "ascend_simulator", "course", "tools")
#: Words that name nothing: which file, which finding, which text?
DIALECT = frozenset(("one", "found", "told", "said", "kept", "made", "given"))
_IRREGULAR = """
begun bent bought bound broken brought built burnt caught chosen dealt done drawn driven eaten fallen felt forgiven
forgotten fought found frozen given gone grown held hidden kept known laid learnt led left lent lost made meant met paid
proven risen said seen sent shaken shown slept sold spent spoken spun stood stolen stuck sunk sworn swept swung taken
taught thrown told torn understood undone unread woken won worn written
"""
IRREGULAR = frozenset(_IRREGULAR.split())
#: What a notebook's cell calls, and operators of torch_npu.
PUBLIC = frozenset(("broken", "checked", "marked", "measured", "one_", "predicted", "raised", "supposed"))
PROPERTIES = {"property", "cached_property", "functools.cached_property"}
#: They end in `ed` and are no participles.
_PRESENT = "bed bleed breed embed exceed feed heed need proceed red seed shed speed succeed weed"
PRESENT = frozenset(_PRESENT.split())


def is_participle(name: str) -> bool:
    """Say whether a name is one bare past participle."""
    word = name.strip("_").lower()
    return "_" not in word and (word in IRREGULAR or (word.endswith("ed") and word not in PRESENT))


def python_files(package: str) -> list[Path]:
    """List the Python files of a package, in order."""
    return sorted(path for path in (ROOT / package).rglob("*.py") if "__pycache__" not in path.parts)


def function_names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Walk the functions and methods; no dunders, no names that stay, no properties, which are read as fields are."""
    for node in ast.walk(tree):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or node.name.startswith("__"):
            continue
        if node.name not in PUBLIC and not any(
            ast.unparse(decorator) in PROPERTIES for decorator in node.decorator_list
        ):
            yield node.name, node.lineno


def variable_names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Walk the names that are bound: parameters, assignments, loops, comprehensions, `with`, `except`; no fields."""
    fields = {
        target
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for line in node.body
        if isinstance(line, (ast.Assign, ast.AnnAssign))
        for target in (line.targets if isinstance(line, ast.Assign) else [line.target])
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node not in fields:
            yield node.id, node.lineno
        elif isinstance(node, ast.ExceptHandler) and node.name:
            yield node.name, node.lineno


def refusals(text: str, place: str) -> Iterator[str]:
    """Walk the names of a file that the lint refuses, one line each."""
    tree = ast.parse(text)
    for name, line in function_names(tree):
        if name.strip("_") in DIALECT or is_participle(name):
            yield f"{place}:{line}: function {name}: a verb with its object says what it does"
    for name, line in variable_names(tree):
        if name.strip("_") in DIALECT:
            yield f"{place}:{line}: variable {name}: name the thing that it holds"


def measure(files: list[Path]) -> Counter[str]:
    """Count what the report shows of some files."""
    counts: Counter[str] = Counter(files=len(files))
    for path in files:
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        functions = [name for name, _ in function_names(tree)]
        counts["lines"] += len(text.splitlines())
        counts["functions"] += len(functions)
        counts["one word"] += sum("_" not in name.strip("_") for name in functions)
        counts["participles"] += sum(map(is_participle, functions))
        bound = [*functions, *(name for name, _ in variable_names(tree))]
        counts["dialect"] += sum(name.strip("_") in DIALECT for name in bound)
        counts["Any"] += sum(isinstance(node, ast.Name) and node.id == "Any" for node in ast.walk(tree))
    return counts


def print_report(folders: dict[str, list[Path]]) -> None:
    """Print one row per folder and the sum."""
    columns = ("files", "lines", "functions", "one word", "participles", "dialect", "Any")
    rows = {name: measure(files) for name, files in folders.items()}
    rows["sum"] = sum(rows.values(), Counter())
    print(f"{'':36}" + "".join(f"{column:>13}" for column in columns))
    for name, counts in rows.items():
        print(f"{name:36}" + "".join(f"{counts[column]:13}" for column in columns))
    every = max(rows["sum"]["functions"], 1)
    print(f"one-word function names {rows['sum']['one word'] / every:.1%}", end=", ")
    print(f"participles {rows['sum']['participles'] / every:.1%}")


def main(words: list[str] | None = None) -> int:
    """Run the lint or the report; the exit code is 1 where a name is refused."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--report", action="store_true", help="print the measures and refuse nothing")
    parser.add_argument("--folders", action="store_true", help="with --report: a row per folder instead of per package")
    asked = parser.parse_args(words)
    files = {package: python_files(package) for package in PACKAGES if (ROOT / package).is_dir()}
    if asked.report:
        folders: dict[str, list[Path]] = {}
        for path in [path for package in files.values() for path in package]:
            parts = path.relative_to(ROOT).parts[:-1]
            folders.setdefault("/".join(parts[: 2 if asked.folders else 1]), []).append(path)
        print_report(folders)
        return 0
    every = [path for package in files.values() for path in package]
    refused = [row for path in every for row in refusals(path.read_text("utf-8"), str(path.relative_to(ROOT)))]
    print(*refused, *([f"{len(refused)} names are refused"] if refused else []), sep="\n")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
