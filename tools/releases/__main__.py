"""Reads what releases of torch_npu have from their wheels, and writes ascend_workbook/migration/data/releases.json.

    pip download --no-deps --python-version 3.10 --only-binary=:all: torch_npu==2.7.1 -d WHEELS    # and the others
    python -m tools.releases WHEELS                  # write the data
    python -m tools.releases WHEELS --check          # say whether the data is what the wheels have

Nothing of a wheel is imported or run: sources are parsed, headers and operator lists are searched as text."""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import re
import sys
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ascend_workbook.machine.versions import parse_version
from ascend_workbook.migration.release import DATA

TRANSFER = "torch_npu/contrib/transfer_to_npu.py"
OPERATORS = (
    "torch_npu/csrc/aten/npu_native_functions.yaml",
    "torch_npu/csrc/aten/npu_native_functions_by_codegen.yaml",
)
HEADERS = re.compile(r"torch_npu/include/third_party/acl/inc/acl/acl_base(_rt)?\.h")
#: Packages whose public names a script takes from torch_npu.
PACKAGES = {"torch_npu.optim": "torch_npu/optim/__init__.py", "torch_npu.contrib": "torch_npu/contrib/__init__.py"}
#: The lists of transfer_to_npu, and what their names are attributes of.
LISTS = {
    "torch_fn_white_list": "torch",
    "torch_tensor_fn_white_list": "torch.Tensor",
    "torch_module_fn_white_list": "torch.nn.Module",
    "torch_cuda_fn_white_list": "torch.cuda",
}
ABOUT = (
    "What releases of torch_npu have, by kind: cuda (public names of torch.npu), mapped (names that transfer_to_npu "
    "replaces, or whose device it does), operators (of aten and npu), names (of torch_npu itself and two packages), "
    "types (of ACL's tensors). Each kind: the releases that have them -> the names. Read from wheels, nothing run."
)


def read_release(wheel: Path) -> dict[str, set[str]]:
    """Return the names that a wheel has, by kind."""
    with zipfile.ZipFile(wheel) as archive:
        members = archive.namelist()

        def read(name: str) -> str:
            return archive.read(name).decode("utf-8")

        headers = [read(name) for name in members if HEADERS.fullmatch(name)]
        lists = [read(name) for name in OPERATORS]
        packages = {name: read(file) for name, file in PACKAGES.items()}
        operators = set(find_operators(lists))
        own = {f"torch_npu.{name}" for name in operators if name.startswith("npu_")}
        return {
            "cuda": set(find_bound("torch_npu/npu/__init__.py", read)),
            "mapped": set(find_mapped(read(TRANSFER))),
            "operators": operators,
            "names": own | {f"{name}.{public}" for name, text in packages.items() for public in find_public(text)},
            "types": {name for text in headers for name in find_types(text)},
        }


def find_operators(lists: Iterable[str]) -> Iterator[str]:
    """Yield the operators of lists, without their overloads."""
    for text in lists:
        for line in text.splitlines():
            match = re.match(r"\s*-?\s*(?:func:\s*)?([a-zA-Z_]\w*)(?:\.\w+)?(?:\(.*)?$", line)
            entry = re.match(r"\s*(?:- (?!\w+: )|(?:- )?func: )", line)
            if match and entry:
                yield match[1]


def find_bound(name: str, read: Callable[[str], str]) -> Iterator[str]:
    """Yield the public names that a module binds: its list, what it defines and imports, stars of its folder too."""
    text = read(name)
    yield from find_public(text)
    for node in ast.parse(text).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
            yield node.name
        if not isinstance(node, ast.ImportFrom) or not (node.level or (node.module or "").startswith("torch_npu")):
            continue
        for imported in node.names:
            if imported.name == "*" and node.level == 1 and node.module:
                yield from find_bound(f"{name.rpartition('/')[0]}/{node.module.replace('.', '/')}.py", read)
            elif imported.name != "*" and not (imported.asname or imported.name).startswith("_"):
                yield imported.asname or imported.name


def find_public(text: str) -> Iterator[str]:
    """Yield the names of a module's `__all__`; of one without what it imports by name."""
    tree = ast.parse(text)
    listed = False
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
            listed = True
            yield from (str(part.value) for part in ast.walk(node) if isinstance(part, ast.Constant) and part.value)
    if not listed:
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        yield from (name.name for node in imports for name in node.names if not name.name.startswith("_"))


def find_mapped(text: str) -> Iterator[str]:
    """Yield the names that transfer_to_npu wraps or replaces: those of its lists, calls and assignments."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Assign):
            target = ast.unparse(node.targets[0])
            if target in LISTS:
                yield from (f"{LISTS[target]}.{name}" for name in ast.literal_eval(node.value))
            elif target.startswith("torch."):
                yield target.replace(".__init__", "").replace(".__new__", "")
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("device_wrapper") and len(node.args) == 2:
            if isinstance(node.args[1], ast.List):
                yield from (f"{ast.unparse(node.args[0])}.{name}" for name in ast.literal_eval(node.args[1]))
            elif ast.unparse(node.args[1]) == "torch_distributed_fn_white_list":
                yield ast.unparse(node.args[0])
        elif isinstance(node, ast.List) and len(node.elts) == 2 and ast.unparse(node.elts[1]).startswith("torch_npu."):
            yield f"torch.{ast.literal_eval(node.elts[0])}"


def find_types(text: str) -> Iterator[str]:
    """Yield the members of aclDataType."""
    body, end, _ = text.partition("} aclDataType;")
    if end:
        yield from re.findall(r"\bACL_(\w+)\s*=", body.rpartition("typedef enum")[2])


def make_content(wheels: Sequence[Path], date: str) -> dict[str, Any]:
    """Make the data of all wheels."""
    releases = {wheel.name.split("-")[1]: wheel for wheel in wheels}
    order = sorted(releases, key=parse_version)
    read = {release: read_release(releases[release]) for release in order}
    kinds: dict[str, dict[str, list[str]]] = {}
    for kind in next(iter(read.values())):
        sets: dict[str, list[str]] = defaultdict(list)
        for name in sorted(set().union(*(read[release][kind] for release in order))):
            sets[" ".join(release for release in order if name in read[release][kind])].append(name)
        kinds[kind] = {having: wrap_names(names) for having, names in sorted(sets.items())}
    sources = {
        release: {"wheel": releases[release].name, "sha256": hashlib.sha256(releases[release].read_bytes()).hexdigest()}
        for release in order
    }
    return {"about": ABOUT, "date": date, "source": "https://pypi.org/simple/torch-npu/", "wheels": sources} | kinds


def wrap_names(names: Iterable[str]) -> list[str]:
    """Return lines of names of at most 110 columns."""
    lines = [""]
    for name in names:
        if len(lines[-1]) + len(name) > 109:
            lines.append("")
        lines[-1] = f"{lines[-1]} {name}".strip()
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the data, or say whether it is what the wheels have."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("wheels", type=Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(arguments)
    wheels = sorted(options.wheels.glob("torch_npu-*.whl"))
    before = json.loads(DATA.read_text(encoding="utf-8")) if DATA.is_file() else {}
    date = before["date"] if options.check else datetime.now(timezone.utc).date().isoformat()
    content = make_content(wheels, date)
    if options.check:
        print("as the wheels have it" if content == before else "differs from the wheels")
        return int(content != before)
    DATA.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    print(f"{len(wheels)} wheels read: {DATA}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
