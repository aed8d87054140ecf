"""A training script in Python: the configuration that it builds or loads, read from its text. Nothing is run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Place
from ascend_workbook.planning.strategy.model import known_types
from ascend_workbook.planning.strategy.stated import SETTING_OF, Stated, Value, settings_of

LOADERS = ("from_pretrained", "from_config", "from_json_file")


@dataclass
class Script:
    """What a script's text gives: constants, defaults of its arguments, and its calls."""

    path: Path
    tree: ast.Module
    constants: dict[str, object] = field(default_factory=dict)
    defaults: dict[str, object] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)

    def evaluate(self, node: ast.expr) -> object:
        """Return the value of an expression as far as the text tells it, else None."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return self.constants.get(node.id)
        if isinstance(node, ast.Attribute):
            return self.defaults.get(node.attr, self.constants.get(node.attr))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            value = self.evaluate(node.operand)
            return -value if isinstance(value, (int, float)) else None
        if isinstance(node, ast.BinOp):
            return self._calculate(node)
        return None

    def _calculate(self, node: ast.BinOp) -> object:
        left, right = self.evaluate(node.left), self.evaluate(node.right)
        if not (isinstance(left, (int, float)) and isinstance(right, (int, float))):
            return None
        if isinstance(node.op, ast.Mult):
            return left * right
        if isinstance(node.op, ast.Add):
            return left + right
        if isinstance(node.op, ast.Sub):
            return left - right
        if isinstance(node.op, ast.FloorDiv) and right:
            return left // right
        return None

    def calls(self) -> Iterator[tuple[str, ast.Call]]:
        """Yield each call with the last part of the name that is called."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)):
                yield node.func.id if isinstance(node.func, ast.Name) else node.func.attr, node

    def keywords(self, call: ast.Call) -> dict[str, object]:
        """Return the keywords of a call whose values the text tells, those of `**name` too."""
        values: dict[str, object] = {}
        for keyword in call.keywords:
            if keyword.arg is not None:
                values[keyword.arg] = self.evaluate(keyword.value)
            elif isinstance(keyword.value, ast.Name):
                values.update(_as_dict(self.constants.get(keyword.value.id)))
        return {name: value for name, value in values.items() if value is not None}


def _as_dict(value: object) -> dict[str, object]:
    return {str(name): item for name, item in value.items()} if isinstance(value, dict) else {}


def parse_script(path: Path, text: str) -> Script:
    """Return the script. Raises WorkbookError where it is no Python."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError) as cause:
        line = getattr(cause, "lineno", 0) or 0
        raise WorkbookError("strategy.no_python", path=str(Place(str(path), line)), error=str(cause)) from cause
    script = Script(path, tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            _keep_constant(script, node.targets[0].id, node.value)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            _keep_constant(script, node.target.id, node.value)
    for name, call in script.calls():
        if name == "add_argument" and call.args:
            _keep_default(script, call)
    return script


def _keep_constant(script: Script, name: str, node: ast.expr) -> None:
    value = script.evaluate(node)
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values)
        value = {key.value: script.evaluate(item) for key, item in pairs if isinstance(key, ast.Constant)}
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict":
        value = script.keywords(node)
    if value is not None and name not in script.constants:
        script.constants[name] = value
        script.places.setdefault(name.lower(), Place(str(script.path), node.lineno, node.col_offset + 1))


def _keep_default(script: Script, call: ast.Call) -> None:
    flags = [node.value for node in call.args if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    keywords = script.keywords(call)
    long = [flag for flag in flags if flag.startswith("--")] or flags
    name = str(keywords.get("dest") or (long[0] if long else "")).lstrip("-").replace("-", "_")
    if name and "default" in keywords:
        script.defaults[name] = keywords["default"]
        script.places[name] = Place(str(script.path), call.lineno, call.col_offset + 1)


def find_config(script: Script) -> tuple[dict[str, object], str]:
    """Return the fields of the configuration that the script builds, or the path or name that it loads one from.

    Raises WorkbookError where the text tells neither."""
    for name, call in script.calls():
        kind = _type_of_class(name)
        if kind:
            return {**known_types()[kind].get("defaults", {}), **script.keywords(call), "model_type": kind}, ""
    loads = [call for name, call in script.calls() if name in LOADERS and call.args]
    for call in sorted(loads, key=lambda call: not _loads_config(call)):
        place = script.evaluate(call.args[0])
        if isinstance(place, str) and place:
            return {}, place
    dimensions = {**script.constants, **script.defaults}
    known = {name.lower(): value for name, value in dimensions.items()}
    if {"hidden_size", "vocab_size"} <= known.keys() or {"n_embd", "vocab_size"} <= known.keys():
        return {"model_type": "gpt2" if "n_embd" in known else "llama", **known}, ""
    raise WorkbookError("strategy.no_config", path=str(script.path))


def _loads_config(call: ast.Call) -> bool:
    """Say whether a call loads a configuration or a model, not a tokenizer."""
    owner = ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else ""
    return "Config" in owner or "Model" in owner or "For" in owner


def _type_of_class(name: str) -> str:
    """Return the type whose configuration class has this name, or an empty text."""
    return next((kind for kind, row in known_types().items() if name == f"{row['class']}Config"), "")


def find_settings(script: Script) -> Stated:
    """Return what the script states of batch, learning rate and the like: defaults of its arguments, and keywords."""
    pairs: dict[str, Value] = {}
    for name, value in {**script.constants, **script.defaults}.items():
        if name.lower() in SETTING_OF and isinstance(value, (int, float, str)):
            pairs[name.lower()] = Value(str(value), script.places.get(name.lower()) or script.places.get(name))
    for name, call in script.calls():
        place = Place(str(script.path), call.lineno, call.col_offset + 1)
        if name == "clip_grad_norm_" and len(call.args) > 1:
            _keep_value(pairs, "max_grad_norm", script.evaluate(call.args[1]), place)
        if name == "clip_grad_norm_" or name.endswith(("Arguments", "AdamW", "Adam", "Config")):
            for keyword, value in script.keywords(call).items():
                _keep_value(pairs, "max_grad_norm" if keyword == "max_norm" else keyword, value, place)
    return Stated(settings_of(pairs))


def _keep_value(pairs: dict[str, Value], name: str, value: object, place: Place) -> None:
    if name in SETTING_OF and isinstance(value, (int, float, str)):
        pairs[name] = Value(str(value), place)
