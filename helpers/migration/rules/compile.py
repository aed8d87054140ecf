"""torch.compile: the default backend, inductor, generates Triton code and does not work under transfer_to_npu.

It raises at the first call (get_gpu_type.cache_clear, torch_npu/_inductor/utils.py). `backend="eager"` runs
everywhere and compiles nothing: right values, no gain.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from helpers.finding import Edit, Finding
from helpers.migration.knowledge import ASCEND, MEASURED, Known
from helpers.migration.reading.calls import argument, string, within_string
from helpers.migration.reading.source import Source
from helpers.migration.repair import MANUAL, REWRITE, found

CODE = "MIG111"
TOKENS = ("compile", "torch_compile", "_dynamo", "inductor")
NEEDS = ("torch", "torch_compile")  # the second: a Trainer's switch, where torch need not be named
#: re.compile is everywhere; a name alone is torch's only where it is imported.
PATTERN = (
    r"(?<!\bre)\. compile\b (?:[](),=:;#\r\n]|(?:if|else|or|and)\b|\Z)"
    r"|(?:\bimport|[,(]) compile\b|torch_compile|_dynamo\b[^\n]*\boptimize\b|\boptimize (?:\(|as\b)|['\"]inductor['\"]"
)
KNOWN = Known(MEASURED, ASCEND + "torch_npu/_inductor/utils.py", inferred=("backend",))
HERE = {"eager", "aot_eager"}
EXAMPLES = (
    (
        "import torch\nm = torch.compile(m)  # 编译\n",
        "rewrite",
        'import torch\nm = torch.compile(m, backend="eager")  # 编译\n',
    ),
    (
        "import torch\nm = torch.compile(m, mode='max-autotune')\n",
        "rewrite",
        "import torch\nm = torch.compile(m, mode='max-autotune', backend=\"eager\")\n",
    ),
    (
        "import torch\nm = torch.compile(m, backend='inductor')\n",
        "rewrite",
        "import torch\nm = torch.compile(m, backend='eager')\n",
    ),
    (
        "import torch\n@torch.compile\ndef f(x):\n    return x\n",
        "rewrite",
        'import torch\n@torch.compile(backend="eager")\ndef f(x):\n    return x\n',
    ),
    (
        "import torch\n@torch.compile()\ndef f(x):\n    return x\n",
        "rewrite",
        'import torch\n@torch.compile(backend="eager")\ndef f(x):\n    return x\n',
    ),
    ("import torch\nm = torch.compile(m, backend=args.backend)\n", "manual", None),
    ("import torch\nm = torch.compile(m, backend='cudagraphs')\n", "manual", None),
    ("import torch\nf = partial(torch.compile, dynamic=True)\n", "manual", None),
    ("import torch\nf = torch._dynamo.optimize('inductor')(f)\n", "manual", None),
    ("import torch\nmodel.compile(mode='max-autotune')\n", "manual", None),
    ("import torch\nmodel.compile()\n", "manual", None),
    ("import torch\ndef 编译(m, backend='inductor'):\n    pass\n", "manual", None),
    ("import torch\np.add_argument('--torchcompile', nargs='?', const='inductor')\n", "manual", None),
    ("import torch\na = TrainingArguments('out', torch_compile=True)\n", "manual", None),
    (
        "import torch\nm = torch.compile(\n    m,\n)\n",
        "rewrite",
        'import torch\nm = torch.compile(\n    m, backend="eager",\n)\n',
    ),
)
NEAR_MISSES = (
    "import re\np = re.compile('显卡')\n",
    "import torch\nm = torch.compile(m, backend='eager')\n",
    "import torch\nprint(hasattr(torch, 'compile'))\n",
    "code = compile('1', '<s>', 'eval')\n",
    "import torch\nmodel.compile(optimizer='adam', loss='mse')\n",
    "import torch\nimport re\npattern = re.compile('a')\n",
    "import torch\na = TrainingArguments('out', torch_compile=False)\n",
    "import torch\nknown = {'inductor', 'eager'}\nprint('inductor')\n",
    "import torch\nbackend = 'eager'\nm = torch.compile(m, backend=backend)\n",
)


def check(source: Source) -> Iterable[Finding]:
    for call in source.names.called.get("torch.compile", ()):
        yield from _judge(source, call)
    for decorated in (*source.nodes(ast.FunctionDef), *source.nodes(ast.ClassDef), *source.nodes(ast.AsyncFunctionDef)):
        decorators: list[ast.expr] = getattr(decorated, "decorator_list", [])
        for decorator in decorators:
            if source.names.resolve(decorator) == "torch.compile":
                _, end = source.span(decorator)
                yield found(source, decorator, "MIG111.inductor", REWRITE, (Edit(end, end, '(backend="eager")'),))
    yield from _other_ways(source)


def _other_ways(source: Source) -> Iterable[Finding]:
    """Handed on under another name, Dynamo's own entry, Module.compile(), and the Trainer's switch."""
    for node, name in source.names.named:
        above = source.names.parent(node)
        passed = isinstance(above, (ast.Assign, ast.IfExp)) or (isinstance(above, ast.Call) and node in above.args)
        if name == "torch.compile" and passed:
            yield found(source, node, "MIG111.backend", MANUAL)
    for constant, text in source.strings:
        if text == "inductor" and _is_given(source, constant):
            yield found(source, constant, "MIG111.backend", MANUAL)
    dynamo, modules = source.names.called.get("torch._dynamo.optimize", ()), source.names.methods.get("compile", ())
    ways = [call for call in dynamo if string(argument(call, 0, "backend")) not in HERE]
    ways += [call for call in source.names.given.get("torch_compile", ()) if _is_switched_on(call)]
    ways += [call for call in modules if not source.names.call(call) and _is_module_compile(call)]
    for call in dict.fromkeys(ways):
        yield found(source, call, "MIG111.backend", MANUAL)


def _is_given(source: Source, node: ast.AST) -> bool:
    """A default, an option's value or an assignment, on its way to a compile call elsewhere."""
    above = source.names.parent(node)
    if isinstance(above, ast.keyword):
        return above.arg in ("default", "const", "torch_compile_backend", "dynamo_backend")
    return isinstance(above, (ast.arguments, ast.Assign, ast.AnnAssign))


def _is_module_compile(call: ast.Call) -> bool:
    """`model.compile()`, with torch.compile's own options or none; Keras names an optimizer and a loss."""
    given = {pair.arg for pair in call.keywords}
    own = given <= {"mode", "fullgraph", "dynamic", "backend", "options", "disable"} and not call.args
    return own and string(argument(call, 99, "backend")) not in HERE


def _is_switched_on(call: ast.Call) -> bool:
    value = argument(call, 99, "torch_compile")
    return isinstance(value, ast.Constant) and value.value is True


def _judge(source: Source, call: ast.Call) -> Iterable[Finding]:
    backend = argument(call, 99, "backend")
    name = string(backend)
    if name in HERE:
        return
    if name == "inductor":
        assert isinstance(backend, ast.Constant)
        yield found(source, call, "MIG111.inductor", REWRITE, within_string(source, backend, "inductor", "eager"))
    elif backend is not None:
        values = source.names.values(backend) if isinstance(backend, ast.Name) else []
        if not values or not all(isinstance(value, ast.Constant) and value.value in HERE for value in values):
            yield found(source, call, "MIG111.backend", MANUAL)
    else:
        yield found(source, call, "MIG111.inductor", REWRITE, _edits(source, call))


def _edits(source: Source, call: ast.Call) -> tuple[Edit, ...]:
    """Behind the last argument; none where `**options` may already name a backend."""
    if any(pair.arg is None for pair in call.keywords):
        return ()
    last = max((source.span(value)[1] for value in (*call.args, *(pair.value for pair in call.keywords))), default=None)
    if last is None:
        _, end = source.span(call)
        return (Edit(end - 1, end - 1, 'backend="eager"'),)
    if _closes_late(source, call, last):
        return ()
    return (Edit(last, last, ', backend="eager"'),)


def _closes_late(source: Source, call: ast.Call, last: int) -> bool:
    """The last argument stands in brackets of its own: `torch.compile((m))`."""
    _, end = source.span(call)
    return ")" in source.text[last : end - 1]
