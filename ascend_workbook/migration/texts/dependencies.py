"""Which lines of a file name what has to be installed: the rest (a project's own name, its keywords) is no requirement.

A line is (offset in the text, its characters without comment). A kind of file that is not known here gives all lines.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from pathlib import Path

from ascend_workbook.migration.reading.source import Source

Line = tuple[int, str]
COMMENT = re.compile(r"(?:^|\s)#.*$")
SECTION = re.compile(r"^\s*\[+\s*([^\[\]]+?)\s*\]+\s*$")
KEY = re.compile(r"^([\w.\"'-]+)\s*[=:]")
#: Sections of pyproject.toml that hold nothing but requirements, and keys that do in other sections.
TOML_SECTIONS = re.compile(r"(?:^|\.)(?:[\w-]*dependencies|dependency-groups)$|^dependency-groups|index|source$")
TOML_KEYS = re.compile(r"^(?:[\w-]*dependencies|requires|extra-index-url|index-url|find-links)$")
CFG_KEYS = re.compile(r"^(?:install_requires|setup_requires|tests_require|dependency_links|requires|deps)$")
#: Names in setup.py whose strings are requirements.
SETUP_NAMES = re.compile(r"require|depend|extras|\bdeps\b|_deps|packages_to_install", re.IGNORECASE)


def dependency_lines(source: Source) -> Iterator[Line]:
    name = Path(source.path).name
    if name == "setup.py":
        return _read_setup_lines(source)
    if name == "pyproject.toml":
        return _read_toml_lines(source)
    if name == "setup.cfg":
        return _read_cfg_lines(source)
    if name.endswith((".yml", ".yaml")):
        return _read_yaml_lines(source)
    return _read_plain_lines(source)


def _read_plain_lines(source: Source) -> Iterator[Line]:
    for number, start in enumerate(source.line_starts, 1):
        yield start, COMMENT.sub("", source.read_line(number))


def _read_toml_lines(source: Source) -> Iterator[Line]:
    section, key, depth = "", "", 0
    for start, line in _read_plain_lines(source):
        header = SECTION.match(line) if not depth else None
        if header:
            section, key = header.group(1), ""
            continue
        key_match = KEY.match(line) if not depth else None
        key = key_match.group(1).strip("\"'") if key_match else key
        if TOML_SECTIONS.search(section) or TOML_KEYS.match(key):
            yield start, line
        depth = max(0, depth + _count_open_brackets(line))


def _count_open_brackets(line: str) -> int:
    """How many more brackets a line opens than it closes, those in strings (`torch[cuda]`) left out."""
    bare = re.sub(r"\"[^\"]*\"|'[^']*'", "", line)
    return sum(bare.count(sign) for sign in "[{") - sum(bare.count(sign) for sign in "]}")


def _read_cfg_lines(source: Source) -> Iterator[Line]:
    section, key = "", ""
    for start, line in _read_plain_lines(source):
        header = SECTION.match(line)
        key_match = KEY.match(line)
        if header:
            section, key = header.group(1), ""
        elif key_match and not line[:1].isspace():
            key = key_match.group(1)
        if header or not (section == "options.extras_require" or CFG_KEYS.match(key)):
            continue
        at = key_match.end() if key_match and not line[:1].isspace() else 0
        yield start + at, line[at:]


def _read_yaml_lines(source: Source) -> Iterator[Line]:
    """The items under `dependencies:`, those of pip in them too; all lines where there is no such key."""
    lines = list(_read_plain_lines(source))
    if not any(re.match(r"\s*dependencies\s*:", line) for _, line in lines):
        return
    inside = False
    for start, line in lines:
        if re.match(r"[\w\"'-]", line):
            inside = line.startswith("dependencies")
        if inside:
            yield start, line


def _read_setup_lines(source: Source) -> Iterator[Line]:
    """The strings that stand in what is named after requirements; all lines where Python cannot read the file."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        yield from _read_plain_lines(source)
        return
    seen: set[int] = set()
    for node in ast.walk(tree):
        for value in _requirement_values(node):
            for text in ast.walk(value):
                if isinstance(text, ast.Constant) and isinstance(text.value, str):
                    at, end = source.span_of(text)
                    if at not in seen:
                        seen.add(at)
                        yield at, source.text[at:end]


def _requirement_values(node: ast.AST) -> Iterator[ast.expr]:
    """What a node gives to a name that speaks of requirements."""
    if isinstance(node, ast.keyword) and node.arg and SETUP_NAMES.search(node.arg):
        yield node.value
    elif isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)) and node.value is not None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if any(SETUP_NAMES.search(_name_of_node(target)) for target in targets):
            yield node.value
    elif isinstance(node, ast.Call) and _adds_requirements(node.func):
        yield from node.args


def _adds_requirements(function: ast.expr) -> bool:
    """`requires.append`."""
    if not isinstance(function, ast.Attribute) or function.attr not in ("append", "extend", "insert"):
        return False
    return bool(SETUP_NAMES.search(_name_of_node(function.value)))


def _name_of_node(node: ast.expr) -> str:
    node = node.value if isinstance(node, ast.Subscript) else node
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
