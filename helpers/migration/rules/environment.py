"""Environment variables of CUDA, cuBLAS, cuDNN and NCCL, and what an NPU reads instead.

ASCEND_RT_VISIBLE_DEVICES takes the place of CUDA_VISIBLE_DEVICES, which an NPU does not read: a job given
two cards would take all of them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from helpers.finding import Edit, Finding
from helpers.migration.knowledge import DOCUMENTED, VARIABLES, Known
from helpers.migration.reading.calls import argument, method, string, within_string
from helpers.migration.reading.source import Source
from helpers.migration.repair import ADVICE, MANUAL, REWRITE, found

CODE = "MIG107"
WORDS = ("CUDA", "NCCL", "CUBLAS", "CUDNN", "NVIDIA_")
KNOWN = Known(DOCUMENTED, VARIABLES + "env_variable_list.md")
PATTERN = "CUDA_|CUDNN_|CUBLAS_|NCCL_|NVIDIA_"
#: Same meaning, other name.
RENAMED = {
    "CUDA_VISIBLE_DEVICES": "ASCEND_RT_VISIBLE_DEVICES",
    "CUDA_LAUNCH_BLOCKING": "ASCEND_LAUNCH_BLOCKING",
    "PYTORCH_CUDA_ALLOC_CONF": "PYTORCH_NPU_ALLOC_CONF",
}
#: Read by nothing on an NPU; CUDA_DEVICE_MAX_CONNECTIONS is asked for by Megatron and MindSpeed and must stay.
WITHOUT_EFFECT = {
    "CUBLAS_WORKSPACE_CONFIG", "CUDA_DEVICE_ORDER", "CUDNN_BENCHMARK", "NVIDIA_TF32_OVERRIDE",
    "TORCH_CUDNN_V8_API_ENABLED", "CUDA_MODULE_LOADING", "CUDA_CACHE_PATH",
}  # fmt: skip
#: Where a build finds NCCL: nothing that a run reads.
OF_A_BUILD = re.compile(r"NCCL_(INCLUDE_DIRS?|LIB_DIRS?|LIBRARY|LIBRARIES|ROOT(_DIR)?|HOME|VERSION)")
#: By what hosts find one another: HCCL reads its own, and a job of several hosts may not start without.
MEETING = {"NCCL_SOCKET_IFNAME", "NCCL_SOCKET_FAMILY"}
#: What the new variable takes, where a value is written out, and how a message says it.
TAKES = {
    "CUDA_VISIBLE_DEVICES": (re.compile(r"\d+(,\d+)*"), "0,1"),
    "CUDA_LAUNCH_BLOCKING": (re.compile(r"[01]"), "0 / 1"),
    "PYTORCH_CUDA_ALLOC_CONF": (
        re.compile(
            r"expandable_segments:True"
            r"|(expandable_segments:False|(max_split_size_mb|garbage_collection_threshold):[\d.]+)"
            r"(,(expandable_segments:False|(max_split_size_mb|garbage_collection_threshold):[\d.]+))*"
        ),
        "expandable_segments:True / max_split_size_mb:N,garbage_collection_threshold:X",
    ),
}
#: A variable that a command sets: `X=1 python`, `export X="1"`; it may follow an escape: `"cd a\nX=1 python"`.
COMMAND = re.compile(
    r"(?:(?<![\w-])|(?<=\\[nt]))(?P<name>[A-Z][A-Z0-9_]+)=(?P<quote>\\?['\"])?"
    r"(?P<value>(?(quote)[^'\"]*|[^\s;&|'\"\\]*))"
)
#: A shell's or a format's expression.
UNTOLD = re.compile(r"[$`{%]")
RUNNERS = re.compile(r"subprocess\.|os\.(system|popen)\Z")
READERS = {"os.getenv", "os.environ.get", "os.environ.setdefault", "os.environ.pop", "os.putenv", "os.unsetenv"}
EXAMPLES = (
    (
        "import os\nos.environ['CUDA_VISIBLE_DEVICES'] = '0'  # 只用一张卡\n",
        "rewrite",
        "import os\nos.environ['ASCEND_RT_VISIBLE_DEVICES'] = '0'  # 只用一张卡\n",
    ),
    (
        "import os\n卡 = os.getenv(\"CUDA_VISIBLE_DEVICES\", '0')\n",
        "rewrite",
        "import os\n卡 = os.getenv(\"ASCEND_RT_VISIBLE_DEVICES\", '0')\n",
    ),
    (
        "from os import environ\nenviron.setdefault('CUDA_LAUNCH_BLOCKING', '1')\n",
        "rewrite",
        "from os import environ\nenviron.setdefault('ASCEND_LAUNCH_BLOCKING', '1')\n",
    ),
    ("import os\nos.environ['CUBLAS_WORKSPACE_CONFIG'] = ':4096:8'\n", "advice", None),
    ("import os\nos.environ['NCCL_IB_DISABLE'] = '1'\n", "advice", None),
    (
        "import os\ne = {**os.environ, 'CUDA_VISIBLE_DEVICES': '0'}\n",
        "rewrite",
        "import os\ne = {**os.environ, 'ASCEND_RT_VISIBLE_DEVICES': '0'}\n",
    ),
    (
        "import os\ne = dict(os.environ, CUDA_VISIBLE_DEVICES='0')\n",
        "rewrite",
        "import os\ne = dict(os.environ, ASCEND_RT_VISIBLE_DEVICES='0')\n",
    ),
    (
        "import os\nos.system('CUDA_VISIBLE_DEVICES=1 python 训练.py')\n",
        "rewrite",
        "import os\nos.system('ASCEND_RT_VISIBLE_DEVICES=1 python 训练.py')\n",
    ),
    ("import os\nos.environ.update({'NCCL_DEBUG': 'INFO'})\n", "advice", None),
    ("import os\n有 = os.environ.get('TORCH_NCCL_BLOCKING_WAIT')\n", "advice", None),
    ("import os\ndirs = os.getenv('NCCL_INCLUDE_DIRS')\n", "advice", None),
    ("import os\nos.environ['NCCL_SOCKET_IFNAME'] = 'eth0'\n", "manual", None),
    ("import os\nos.environ['PYTORCH_CUDA_ALLOC_CONF'] = 'backend:cudaMallocAsync'\n", "manual", None),
    (
        "import os\nos.environ.setdefault('PYTORCH_CUDA_ALLOC_CONF', "
        "'expandable_segments:True,max_split_size_mb:64')\n",
        "manual",
        None,
    ),
    ("import os\nos.environ['CUDA_VISIBLE_DEVICES'] = '-1'  # 不用显卡\n", "manual", None),
    ("import os\ne = dict(os.environ, CUDA_VISIBLE_DEVICES='')\n", "manual", None),
    ("import os\nos.putenv('CUDA_VISIBLE_DEVICES', 'MIG-GPU-abc')\n", "manual", None),
    ("import os\nos.system('CUDA_VISIBLE_DEVICES=\"\" python t.py')\n", "manual", None),
    ("import os\nk = 'CUDA_VISIBLE_DEVICES'\nos.environ[k] = '0'\n", "manual", None),
    (
        "import os\nos.environ['PYTORCH_CUDA_ALLOC_CONF'] = 'max_split_size_mb:64,garbage_collection_threshold:0.8'\n",
        "rewrite",
        "import os\nos.environ['PYTORCH_NPU_ALLOC_CONF'] = 'max_split_size_mb:64,garbage_collection_threshold:0.8'\n",
    ),
    (
        "import os\nos.environ['CUDA_VISIBLE_DEVICES'] = str(卡)\n",
        "rewrite",
        "import os\nos.environ['ASCEND_RT_VISIBLE_DEVICES'] = str(卡)\n",
    ),
    (
        "import os\nos.system('CUDA_LAUNCH_BLOCKING=1 CUDA_VISIBLE_DEVICES=0,1 python t.py')\n",
        "rewrite",
        "import os\nos.system('ASCEND_LAUNCH_BLOCKING=1 ASCEND_RT_VISIBLE_DEVICES=0,1 python t.py')\n",
    ),
    (
        "import os\nos.system(f'cd a\\nCUDA_VISIBLE_DEVICES={n} python t.py')\n",
        "rewrite",
        "import os\nos.system(f'cd a\\nASCEND_RT_VISIBLE_DEVICES={n} python t.py')\n",
    ),
    (
        "import os\nos.system('export CUDA_VISIBLE_DEVICES=' + 卡 + ' && CUDA_VISIBLE_DEVICES=%s python t.py' % n)\n",
        "rewrite",
        "import os\nos.system('export ASCEND_RT_VISIBLE_DEVICES=' + 卡 + "
        "' && ASCEND_RT_VISIBLE_DEVICES=%s python t.py' % n)\n",
    ),
    (
        "import os\nenv = os.environ.copy()\nenv |= {'CUDA_VISIBLE_DEVICES': '0'}\n",
        "rewrite",
        "import os\nenv = os.environ.copy()\nenv |= {'ASCEND_RT_VISIBLE_DEVICES': '0'}\n",
    ),
    (
        "import os\ne = os.environ | {'CUDA_VISIBLE_DEVICES': '0'}\n",
        "rewrite",
        "import os\ne = os.environ | {'ASCEND_RT_VISIBLE_DEVICES': '0'}\n",
    ),
)
NEAR_MISSES = (
    "print('请设置 CUDA_VISIBLE_DEVICES')\n",
    "import os\nos.environ['CUDA_DEVICE_MAX_CONNECTIONS'] = '1'\n",
    "import os\nos.environ['MY_CUDA_VISIBLE_DEVICES'] = '1'\n",
    "d = {}\nd['CUDA_VISIBLE_DEVICES'] = 1\n",
    "d = {'CUDA_VISIBLE_DEVICES': 1}\nprint('CUDA_VISIBLE_DEVICES=0')\n",
    "import os\nos.environ['ASCEND_RT_VISIBLE_DEVICES'] = '0'\n",
    "import os\nos.system('MY_CUDA_VISIBLE_DEVICES=0 python 训练.py --CUDA_VISIBLE_DEVICES=0')\n",
    "import os\nk = 'HOME'\nprint(os.environ[k], 'CUDA')\nd |= {'CUDA_VISIBLE_DEVICES': '0'}\n",
)


def check(source: Source) -> Iterable[Finding]:
    for node, text in source.strings:
        if text.isupper() and (_is_variable(source, node) or _is_entry(source, node)):
            edits = within_string(source, node, text, RENAMED.get(text, text))
            yield from _judge(source, node, text, edits, _set_to(source, node))
        elif "=" in text:
            yield from _command(source, node)
    for name in source.nodes(ast.Name) if _keeps_names(source) else ():
        if _is_variable(source, name):
            yield from _kept_name(source, name)
    for keyword in source.nodes(ast.keyword):
        if keyword.arg and keyword.arg.isupper() and _adds(source, source.names.parent(keyword)):
            start, _ = source.span(keyword)
            edit = Edit(start, start + len(keyword.arg), RENAMED.get(keyword.arg, keyword.arg))
            yield from _judge(source, keyword, keyword.arg, (edit,), _set_to(source, keyword))


def takes(name: str, value: str | None) -> bool:
    """Whether what a variable is set to means the same under its new name; None where the text does not tell."""
    return value is None or name not in TAKES or TAKES[name][0].fullmatch(value) is not None


def of_nccl(name: str) -> str:
    """The class of a variable of NCCL's own: read by nothing on an NPU, unless hosts meet by it."""
    return MANUAL if name in MEETING else ADVICE


def _judge(
    source: Source, node: ast.AST, name: str, edits: tuple[Edit, ...], value: str | None = None
) -> Iterable[Finding]:
    if name in RENAMED and not takes(name, value):
        form = TAKES[name][1]
        yield found(source, node, "MIG107.value", MANUAL, name=name, new=RENAMED[name], value=value, form=form)
    elif name in RENAMED:
        yield found(source, node, "MIG107.renamed", REWRITE, edits, name=name, new=RENAMED[name])
    elif name in WITHOUT_EFFECT or OF_A_BUILD.fullmatch(name):
        yield found(source, node, "MIG107.no_effect", ADVICE, name=name)
    elif name.startswith(("NCCL_", "TORCH_NCCL_")):
        yield found(source, node, "MIG107.nccl", of_nccl(name), name=name)


def _command(source: Source, node: ast.Constant) -> Iterable[Finding]:
    """`os.system("CUDA_LAUNCH_BLOCKING=1 CUDA_VISIBLE_DEVICES=0 python train.py")`."""
    if not any(RUNNERS.match(source.names.call(up)) for up in source.names.above(node)):
        return
    start, end = source.span(node)
    end -= source.text[end - 1] in "'\""
    part = isinstance(source.names.parent(node), ast.JoinedStr)
    for match in COMMAND.finditer(source.text, start, end):
        name, value = match.group("name", "value")
        if f"{name}=" in str(node.value):
            edits = (Edit(match.start("name"), match.end("name"), RENAMED.get(name, name)),)
            goes_on = match.end() == end and (part or not value)
            yield from _judge(source, node, name, edits, None if goes_on or UNTOLD.search(value) else value)


def _set_to(source: Source, node: ast.AST) -> str | None:
    """The text that a variable's name is given: assigned, as an entry of a dict, or as the next argument."""
    above = source.names.parent(node)
    value: ast.AST | None = None
    if isinstance(node, ast.keyword):
        value = node.value
    elif isinstance(above, ast.Dict):
        value = above.values[above.keys.index(node)]  # type: ignore[arg-type]
    elif isinstance(above, ast.Subscript):
        assign = source.names.parent(above)
        value = assign.value if isinstance(assign, ast.Assign) and above in assign.targets else None
    elif isinstance(above, ast.Call) and method(above) in ("setdefault", "putenv"):
        value = argument(above, 1)
    return string(value)


def _keeps_names(source: Source) -> bool:
    """Some name of the file is given a text in capitals."""
    bound = (value for scope in source.names.opened for values in scope.bound.values() for value in values)
    return any(isinstance(value, ast.Constant) and (string(value) or "").isupper() for value in bound)


def _kept_name(source: Source, node: ast.Name) -> Iterable[Finding]:
    """`key = "CUDA_VISIBLE_DEVICES"; os.environ[key]`: who else reads the name is not told here."""
    for value in source.names.values(node):
        text = string(value) if isinstance(value, ast.Constant) else None
        if text and text.isupper():
            yield from _judge(source, node, text, ())


def _is_entry(source: Source, node: ast.Constant) -> bool:
    """A key of `{**os.environ, "X": "1"}`, of what is joined to os.environ, or of a process's `env`."""
    above = source.names.parent(node)
    if not isinstance(above, ast.Dict) or node not in above.keys:
        return False
    given = source.names.parent(above)
    copied = any(key is None and _is_environment(source, value) for key, value in zip(above.keys, above.values))
    if isinstance(given, ast.AugAssign) and isinstance(given.op, ast.BitOr):
        return _is_environment(source, given.target)
    if isinstance(given, ast.BinOp) and isinstance(given.op, ast.BitOr):
        return _is_environment(source, given.left) or _is_environment(source, given.right)
    return copied or _adds(source, given) or (isinstance(given, ast.keyword) and given.arg == "env")


def _adds(source: Source, node: ast.AST | None) -> bool:
    """`os.environ.update(...)` or `dict(os.environ, ...)`."""
    if not isinstance(node, ast.Call):
        return False
    copied = getattr(node.func, "id", "") == "dict" and node.args and _is_environment(source, node.args[0])
    return bool(copied) or source.names.call(node) == "os.environ.update"


def _is_variable(source: Source, node: ast.expr) -> bool:
    """A key of os.environ or an argument of getenv; a copy (`env = os.environ.copy()`) counts too."""
    above = source.names.parent(node)
    if isinstance(above, ast.Subscript) and above.slice is node:
        return _is_environment(source, above.value)
    if isinstance(above, ast.Compare) and above.left is node:
        return _is_environment(source, above.comparators[0])
    if isinstance(above, ast.Call) and above.args[:1] == [node]:
        name = source.names.call(above)
        base = above.func.value if isinstance(above.func, ast.Attribute) else None
        return name in READERS or (
            method(above) in ("get", "setdefault", "pop") and base is not None and _is_environment(source, base)
        )
    return False


def _is_environment(source: Source, node: ast.expr) -> bool:
    if source.names.resolve(node) == "os.environ":
        return True
    if isinstance(node, ast.Name):
        return any(isinstance(value, ast.Call) and source.names.call(value) in ("os.environ.copy", "dict", "copy.copy")
                   and "environ" in ast.dump(value) for value in source.names.values(node))  # fmt: skip
    return False
