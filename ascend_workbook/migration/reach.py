"""What of a tree a training reaches from its entry script: the rest is counted apart, for it does not weigh.

Followed are the imports, those within functions too, in the entry's folder and in the folders around it up to the
tree's root. Texts that a person reads before a run (requirements, Dockerfiles, setup.py) count where they lie in one of
these folders. A module that imports by a name that is made at run time may bring any of its folder: all of that counts,
and it is said.
"""

from __future__ import annotations

import ast
import functools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Place, Status
from ascend_workbook.findings.sentence import Scalar
from ascend_workbook.migration.closure import HOMES, is_file, is_folder, list_file_imports, list_imports, map_imports
from ascend_workbook.migration.files import Tree
from ascend_workbook.migration.reading.calls import dynamic_module
from ascend_workbook.migration.reading.names import list_imported_names
from ascend_workbook.migration.reading.source import Source, read_source
from ascend_workbook.migration.reading.undecoded import Unreadable
from ascend_workbook.migration.repair import (
    CLASSES,
    INFERRED,
    MANUAL,
    UNSUPPORTED,
    Known,
    add_knowledge,
    class_of,
    finding_at,
    is_conditional,
    places_of,
)
from ascend_workbook.migration.verdict import UNREAD, stops_training

FOLDED, OPEN, RESTS = "MIG320", "MIG321", "MIG322"
WEIGHT = 900.0
#: Rules about CUDA code that a project builds itself.
BUILT = {"MIG114", "MIG137"}
CUDA_SOURCES = "MIG100.cuda_sources"
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
#: Calls that import by a name.
BY_NAME = ("importlib.import_module", "__import__")


@dataclass(frozen=True)
class Reach:
    """The files of a tree that an entry script reaches, and what each of them imports itself (`edges`); `homes` are
    the folders in which its imports are found."""

    tree: Tree
    entry: Path
    homes: tuple[Path, ...]
    files: frozenset[Path]
    edges: Mapping[Path, Sequence[Path]]

    def holds(self, name: str) -> bool:
        """Return whether a file of the tree, as reports call it, is reached."""
        file = self.tree.root / name
        return _follow(file) in self.files or (
            file not in self.tree.python and file not in self.tree.notebooks and _follow(file.parent) in self.homes
        )


def find_reach(tree: Tree, entry: str | Path) -> Reach:
    """Find what the entry script reaches; its path is taken from here, or from the tree's root.

    Raises WorkbookError where it is no Python file of the tree."""
    root = tree.root.resolve()
    script = next((path.resolve() for path in (Path(entry), root / entry) if is_file(path)), None)
    if script is None or script.suffix not in (".py", ".pyw") or not script.is_relative_to(root):
        raise WorkbookError("migration.no_entry", entry=str(entry), root=str(tree.root))
    around = [folder for folder in script.parents if folder.is_relative_to(root)]
    homes = [home for folder in around for home in (folder / name for name in HOMES) if is_folder(home)]
    roots = (script.parent, *homes)
    edges = map_imports([script], roots)
    for folder in _open_folders(tree, edges):
        more = [file for file in _list_scripts(tree) if file.is_relative_to(folder) and file not in edges]
        edges |= map_imports(more, roots) if more else {}
    files = {*map(_follow, edges)}
    files |= {folder / "setup.py" for folder in around if is_file(folder / "setup.py")}
    return Reach(tree, script, tuple(dict.fromkeys(home.resolve() for home in homes)), frozenset(files), edges)


def _follow(path: Path) -> Path:
    """Return where a path leads; itself where its links lead in a circle."""
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        return path


def _list_scripts(tree: Tree) -> list[Path]:
    """List the Python files of a tree where they stand in it, wherever their links lead."""
    return [tree.root.resolve() / tree.name_of(file) for file in tree.python]


def fold_unreached(reach: Reach, findings: list[Finding]) -> tuple[list[Finding], dict[str, object]]:
    """Return the findings that weigh, with what is said of the others, and the numbers of those."""
    counted = [finding for finding in findings if _is_reached(reach, finding)]
    if not any(finding.rule in BUILT for finding in counted):  # kernels that nothing reached builds or calls
        counted = [finding for finding in counted if finding.key != CUDA_SOURCES]
    folded = [finding for finding in findings if class_of(finding) and finding not in counted]
    counts: Counter[str] = Counter()
    for finding in folded:
        counts[class_of(finding)] += places_of(finding)
    entry = reach.entry.relative_to(reach.tree.root.resolve()).as_posix()
    numbers: dict[str, Scalar] = {name: counts[name] for name in CLASSES}
    facts: dict[str, object] = {"entry": entry, "reached": len(reach.files), **numbers}
    carried = {
        (finding.place.path, finding.place.line) for finding in counted if finding.rule == RESTS and finding.place
    }
    rests = (finding for finding in _report_rests(reach, counted) if finding.place)
    rests = (finding for finding in rests if finding.place and (finding.place.path, finding.place.line) not in carried)
    beside = [*rests, *_report_open_imports(reach)]
    if folded:
        files = len({finding.place.path for finding in folded if finding.place})
        args: dict[str, Scalar] = {"count": sum(counts.values()), "files": files, "entry": entry, **numbers}
        beside.insert(0, Finding(FOLDED, Status.NOTE, "MIG320.folded", args, weight=WEIGHT))
    return [*counted, *beside], facts


def _is_reached(reach: Reach, finding: Finding) -> bool:
    path = finding.place.path if finding.place else str(finding.args.get("path", "")) if finding.key == UNREAD else ""
    return not path or reach.holds(path)


def _open_folders(tree: Tree, files: Iterable[Path]) -> set[Path]:
    """The folders, but for the tree's own, of modules that import by a name that is made at run time."""
    folders = {file.parent for file in files for _ in _find_open_imports(tree, file)}
    return folders - {tree.root.resolve()}


def _report_open_imports(reach: Reach) -> Iterator[Finding]:
    """Say where a reached file imports by a name that is made at run time."""
    named = {_follow(file): file for file in (*reach.files, *reach.edges)}  # a link by its name in the tree
    places = [place for file in sorted(named.values()) for place in _find_open_imports(reach.tree, file)]
    if places:
        args: dict[str, Scalar] = {"count": len(places), "first": str(places[0])}
        yield Finding(OPEN, Status.NOTE, "MIG321.open", args, places[0])


def _find_open_imports(tree: Tree, file: Path) -> Iterator[Place]:
    """The calls in a file of the tree that import by a name that is made at run time; none of a file that cannot be
    read."""
    root = tree.root.resolve()
    if not file.is_relative_to(root):
        return
    try:
        data = file.read_bytes()
        if b"import_module" not in data and b"__import__" not in data:
            return
        source = read_source(file, file.relative_to(root).as_posix())
    except (Unreadable, OSError):
        return  # the scan says so
    for call in source.nodes_of_type(ast.Call):
        called = source.names.resolve_call(call) or getattr(call.func, "id", "")
        if called in BY_NAME and not dynamic_module(source, call):
            yield source.place_of(call)


def _report_rests(reach: Reach, findings: list[Finding]) -> Iterator[Finding]:
    """Say at an import of the entry script, once for each package, that what it brings rests on CUDA code that the
    project builds: whenever it is imported, or where it comes to be called."""
    root = reach.tree.root.resolve()
    built: dict[Path, Finding] = {}
    for finding in findings:
        if finding.rule in BUILT and finding.place and (root / finding.place.path) != reach.entry:
            file = root / finding.place.path
            if file not in built or _stops_import(file, finding):
                built[file] = finding
    try:
        source = read_source(reach.entry, reach.entry.relative_to(root).as_posix())
    except (Unreadable, OSError):
        return
    packages: set[str] = set()
    for node in source.imports if built else ():
        package = next(iter(list_imported_names(node)), "").split(".")[0]
        hits = [(module, built[module]) for module in _walk_from(reach, node) if module in built]
        if hits and package not in packages:
            packages.add(package)
            stopping = [finding for module, finding in hits if _stops_import(module, finding)]
            yield _make_rests(source, node, package, stopping[0] if stopping else hits[0][1], stops=bool(stopping))


def _stops_import(file: Path, finding: Finding) -> bool:
    """Return whether a place runs whenever its file is imported: in no function, and under no condition."""
    if not stops_training(finding) or finding.place is None or finding.key.endswith(".call"):
        return False
    line = finding.place.line
    try:
        functions = [node for node in ast.walk(read_source(file).tree) if isinstance(node, FUNCTIONS)]
    except (Unreadable, OSError):
        return False
    return not any(node.lineno <= line <= (node.end_lineno or line) for node in functions)


def carry_builds(tree: Tree, findings: list[Finding]) -> Iterator[Finding]:
    """Say at every import of a module that builds or loads CUDA code whenever it is imported, or of a package that
    brings it."""
    root = tree.root.resolve()
    own = ((root / finding.place.path, finding) for finding in findings if finding.rule in BUILT and finding.place)
    built = {file: finding for file, finding in own if file.suffix == ".py" and _stops_import(file, finding)}
    if not built:
        return
    words = {file.parent.name if file.stem == "__init__" else file.stem for file in built}
    words |= {file.parent.name for file in built}
    imports_of = functools.cache(list_file_imports)  # a package is imported from many files
    for file in _list_scripts(tree):
        try:
            data = file.read_bytes()
            if file in built or not any(word.encode() in data for word in words):
                continue
            source = read_source(file, file.relative_to(root).as_posix())
        except (Unreadable, OSError):
            continue  # the scan says so
        yield from _carry_to_file(source, file, root, built, imports_of)


def _carry_to_file(
    source: Source,
    file: Path,
    root: Path,
    built: Mapping[Path, Finding],
    imports_of: Callable[[Path, tuple[Path, ...]], list[Path]],
) -> Iterator[Finding]:
    around = [folder for folder in file.parents if folder.is_relative_to(root)]
    homes = tuple(folder / home for folder in around for home in HOMES)
    for node in source.imports:
        modules = list_imports(file, ast.Module([node], []), homes)
        packages = [module for module in modules if module.name == "__init__.py" and module != file]
        brought = [more for package in packages for more in imports_of(package, homes)]
        worst = next((built[module] for module in (*modules, *brought) if module in built), None)
        if worst is not None and not is_conditional(source, node):
            name = next(iter(list_imported_names(node)), "")
            yield _make_rests(source, node, name, worst, stops=True)


def _walk_from(reach: Reach, node: ast.stmt) -> list[Path]:
    """List the modules that one import of the entry script brings, directly or not."""
    todo = list_imports(reach.entry, ast.Module([node], []), (reach.entry.parent, *reach.homes))
    modules: dict[Path, None] = {}
    while todo:
        module = todo.pop()
        if module not in modules and module != reach.entry:
            modules[module] = None
            todo += reach.edges.get(module, ())
    return [module.resolve() for module in modules]


def _make_rests(source: Source, node: ast.stmt, package: str, worst: Finding, *, stops: bool) -> Finding:
    repair, key = (UNSUPPORTED, "MIG322.import") if stops else (MANUAL, "MIG322.calls")
    known = Known(INFERRED, worst.args.get("link"), worst.args.get("versions"), {"import": 0.0, "calls": 0.0})
    return add_knowledge(finding_at(source, node, key, repair, name=package, first=str(worst.place)), known)
