"""Lists of requirements: requirements.txt, setup.py, setup.cfg, pyproject.toml, environment.yml.

A distribution is looked up in the table of third-party libraries under the name it is imported by. NVIDIA's own
wheels and CUDA builds of torch have no place on an Ascend machine.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path

from ascend_workbook.findings.finding import Finding
from ascend_workbook.migration import api_map
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import (
    ASCEND,
    BY_ENTRY,
    DOCUMENTED,
    INSTALLING,
    MANUAL,
    VERSIONS,
    Findings,
    Known,
    found_at,
)

# Which lines of a file name what has to be installed: the rest (a project's own name, its keywords) is no
# requirement.

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
    if name.endswith((".yml", ".yaml")):
        return _read_yaml_lines(source)
    readers = {"setup.py": _read_setup_lines, "pyproject.toml": _read_toml_lines, "setup.cfg": _read_cfg_lines}
    return readers.get(name, _read_plain_lines)(source)


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
        bare = re.sub(r"\"[^\"]*\"|'[^']*'", "", line)  # brackets in strings (`torch[cuda]`) open nothing
        depth = max(0, depth + len(re.findall(r"[\[{]", bare)) - len(re.findall(r"[\]}]", bare)))


def _read_cfg_lines(source: Source) -> Iterator[Line]:
    section, key = "", ""
    for start, line in _read_plain_lines(source):
        header = SECTION.match(line)
        key_match = KEY.match(line)  # at the line's begin: what is set in has no key
        if header:
            section, key = header.group(1), ""
            continue
        key = key_match.group(1) if key_match else key
        if section == "options.extras_require" or CFG_KEYS.match(key):
            at = key_match.end() if key_match else 0
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
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        adds = node.func.attr in ("append", "extend", "insert")  # `requires.append`
        yield from node.args if adds and SETUP_NAMES.search(_name_of_node(node.func.value)) else ()


def _name_of_node(node: ast.expr) -> str:
    node = node.value if isinstance(node, ast.Subscript) else node
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


CODE = "MIG128"
#: A line of a list costs little; what its library costs stands at the imports.
HOURS = {"library": 0.25, "toolkit": 0.1, "cuda_build": 0.25, "index": 0.1, "too_old": 1.0}
KNOWN = Known(DOCUMENTED, INSTALLING, BY_ENTRY, HOURS, {"too_old": ASCEND + "torch_npu/contrib/apis_config.json"})
NAMES = ("setup.py", "setup.cfg", "pyproject.toml", "environment.yml", "environment.yaml", "conda.yml", "conda.yaml")
#: A name at the start of a line, of a YAML item or of a quoted string, behind its conda channel and up to its version.
REQUIREMENT = re.compile(
    r"(?:^\s*(?:-\s+)?|['\"])(?:[\w./-]+::)?([A-Za-z][A-Za-z0-9._-]*)(\[[\w, -]*\])?\s*(?=$|[=<>!~;@#'\"\s])"
)
TORCH = {"torch", "pytorch", "torchvision", "torchaudio"}
CUDA_BUILD = re.compile(r"\+cu\d+|[=_]cuda|cu1[0-9]{2}\b")
#: A repository to install from; its name stands for the library.
REPOSITORY = re.compile(r"git\+(?:https?|ssh)://[^\s'\"@#]*?/([\w.-]+?)(?:\.git)?/?(?=$|[\s'\"@#])")
INDEX = re.compile(r"download\.pytorch\.org/whl/(?:[\w/]*/)?cu\d+|pypi\.(?:ngc\.)?nvidia\.com")
INSTALL = re.compile(r"(?<![\w-])(?:(?:uv\s+)?pip[\d.]*|conda|mamba|micromamba)\s+install\s+([^;|&]*)")
#: An argument of an installer; options that take one swallow it.
ARGUMENT = re.compile(
    r"(?:-(?:r|c|i|f|n|p|t)|--(?:requirement|constraint|index-url|extra-index-url|find-links|channel|name|prefix|target))"
    r"(?:\s+|=)\S+|-\S*|(?P<quote>['\"]?)(?P<given>[^\s'\"]+)(?P=quote)"
)
#: Distribution -> import name, where `-` for `_` is not enough; a trailing `*` stands for any ending.
IMPORTED: dict[str, str] = api_map.list_names("distributions")
#: The first version of a library that knows NPUs, and what asks for an older one.
SINCE = {"transformers": "4.32", "accelerate": "0.22", "peft": "0.5", "trl": "0.5"}
OLDER = re.compile(r"\s*(?P<pin>(?P<sign>===?|=|~=|<=?)\s*(?P<version>\d+(?:\.\d+)*))(?![\w*.])")
#: Parts of the CUDA toolkit and libraries built for it.
TOOLKIT = re.compile(
    r"(?:nvidia-[\w-]+-cu\d+|cudatoolkit|cuda-toolkit|pytorch-cuda|cudnn|nccl|cuda-nvcc|cuda-python|onnxruntime-gpu"
    r"|tensorflow-gpu|faiss-gpu[\w-]*|paddlepaddle-gpu|jax\[cuda)"
)


def is_requirements(name: str) -> bool:
    return name in NAMES or bool(re.fullmatch(r"(.*[-_.])?(requirements?|reqs?)([-_.].*)?\.(txt|in)", name))


def check(source: Source) -> Findings:
    for start, line in dependency_lines(source):
        yield from _judge_requirements(source, read_requirement(start, line))
        yield from _check_repositories(source, start, line)
        index, named = INDEX.search(line), REQUIREMENT.match(line)  # wheels of torch for CUDA
        if index and not (named and named.group(1).lower() in TORCH):
            yield found_at(source, start + index.start(), "MIG128.index", MANUAL, library=index.group())


def read_requirement(start: int, line: str) -> Iterator[tuple[int, str, str]]:
    """Read what a line of a list asks for: where, the name and what stands behind it. `start`: the line's offset."""
    for match in REQUIREMENT.finditer(line):
        yield start + match.start(1), match.group(1), line[match.end() :]


def read_install_command(start: int, line: str) -> Iterator[tuple[int, str, str]]:
    """Read what a command line gives to pip or conda, as `read_requirement` does."""
    for command in INSTALL.finditer(line):
        for argument in ARGUMENT.finditer(line, command.start(1), command.end(1)):
            text = argument.group("given") or ""
            name = REQUIREMENT.match(text)
            if name:
                yield start + argument.start("given") + name.start(1), name.group(1), text[name.end() :]


def check_install_command(source: Source, start: int, line: str) -> Iterator[Finding]:
    """Check what a command line installs by pip or conda: `pip install "flash-attn>=2" -c pytorch`."""
    yield from _judge_requirements(source, read_install_command(start, line))
    if INSTALL.search(line):
        yield from _check_repositories(source, start, line)


def _check_repositories(source: Source, start: int, line: str) -> Iterator[Finding]:
    """Libraries by their repositories, unless the line names the library itself."""
    named = REQUIREMENT.match(line)
    own = import_name(named.group(1).lower()) if named else ""
    repositories = (match for match in REPOSITORY.finditer(line) if import_name(match.group(1).lower()) != own)
    yield from _judge_requirements(source, ((start + match.start(1), match.group(1), "") for match in repositories))


def _judge_requirements(source: Source, requirements: Iterable[tuple[int, str, str]]) -> Iterator[Finding]:
    yield from filter(None, (_judge_requirement(source, *requirement) for requirement in requirements))


def _judge_requirement(source: Source, at: int, name: str, rest: str) -> Finding | None:
    entry = api_map.find_entry("third_party", import_name(name.lower()))
    if entry is not None and entry["class"] != "advice":
        alternative = api_map.describe_alternative(entry)
        return found_at(source, at, "MIG128.library", entry["class"], library=name, **alternative)
    if TOOLKIT.match(name.lower()):
        return found_at(source, at, "MIG128.toolkit", MANUAL, library=name)
    if name.lower() in TORCH and CUDA_BUILD.search(rest.split(",")[0]):
        return found_at(source, at, "MIG128.cuda_build", MANUAL, library=name)
    return _too_old(source, at, name, rest)


def _too_old(source: Source, at: int, name: str, rest: str) -> Finding | None:
    """A pin that leaves out every version that knows NPUs."""
    since, match = SINCE.get(name.lower()), OLDER.match(rest)
    if since is None or match is None:
        return None
    asked_version, first = (tuple(map(int, text.split("."))) for text in (match.group("version"), since))
    sign = match.group("sign")
    later = sign == "~=" and len(asked_version) == 2  # up to the next whole number
    if later or asked_version > first or (asked_version == first and sign != "<"):
        return None
    pin = match.group("pin")
    return found_at(source, at, "MIG128.too_old", MANUAL, library=name, pin=pin, since=since, versions=VERSIONS)


def import_name(name: str) -> str:
    """Return what Python imports for a distribution of this name, in small letters."""
    for pattern, imported in IMPORTED.items():
        if name == pattern or (pattern.endswith("*") and name.startswith(pattern[:-1])):
            return imported
    return name.replace("-", "_")
