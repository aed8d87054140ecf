"""What a name means: `amp.autocast` after `from torch.cuda import amp` is `torch.cuda.amp.autocast`.

Scopes are followed as Python does it: a parameter or a local variable named `torch` hides the module.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Union

Function = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
OPENERS = frozenset((*Function, ast.ClassDef))
BINDERS = frozenset(
    (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign)
    + (ast.NamedExpr, ast.For, ast.AsyncFor, ast.comprehension, ast.AugAssign, ast.withitem, ast.ExceptHandler)
)
#: Nodes without any of interest below them.
LEAVES = frozenset((ast.Name, ast.Constant, ast.Pass, ast.Break, ast.Continue, ast.Import, ast.ImportFrom))
#: Fields that hold no node: names, operators, contexts.
PLAIN = {"ctx", "op", "ops", "id", "attr", "name", "names", "arg", "module", "level", "conversion", "simple"} | {
    "is_async", "kind", "type_comment", "type_ignores", "rest", "kwd_attrs", "tag",
}  # fmt: skip
#: Per type of node the fields that may hold others, the last first; filled as types are met.
FIELDS: dict[type[ast.AST], tuple[str, ...]] = {getattr(ast, "MatchSingleton", ast.Constant): ()}
NOTHING: frozenset[ast.AST] = frozenset()
#: A bound name: the dotted name it imports, or the expressions assigned to it (None: something unknown).
Bound = Union[str, None, ast.expr]


@dataclass
class Scope:
    """A module, class or function with the names it binds."""

    node: ast.AST
    parent: Scope | None = None
    bound: dict[str, list[Bound]] = field(default_factory=dict)

    def bind(self, name: str, value: Bound) -> None:
        self.bound.setdefault(name, []).append(value)


def load(node: ast.AST) -> bool:
    """A name that is read, not bound or deleted."""
    return isinstance(getattr(node, "ctx", None), ast.Load)


class Names:
    """Scopes, parents and resolved names of one tree."""

    def __init__(self, tree: ast.Module) -> None:
        self.parents: dict[ast.AST, ast.AST] = {}
        self.scopes: dict[ast.AST, Scope] = {}
        self.star_imports: list[ast.ImportFrom] = []
        self.by_type: dict[type[ast.AST], list[ast.AST]] = {}
        self._resolved: dict[ast.AST, str] = {}
        self._by_scope: dict[tuple[int, str], str] = {}
        self._visit(tree, Scope(tree))

    def resolve(self, node: ast.AST) -> str:
        """The full dotted name behind a Name or Attribute, or an empty string."""
        if not isinstance(node, (ast.Name, ast.Attribute)):
            return ""
        known = self._resolved.get(node)
        if known is None:
            self._resolved[node] = ""  # a name assigned from itself: `x = x.y`
            known = self._resolved[node] = self._resolve(node)
        return known

    @cached_property
    def named(self) -> list[tuple[ast.Name | ast.Attribute, str]]:
        """Every name and attribute of the tree that has a full dotted name, with it."""
        found: list[tuple[ast.Name | ast.Attribute, str]] = []
        known, scopes = self._by_scope, self.scopes
        for root in self.by_type.get(ast.Name, ()):
            assert isinstance(root, ast.Name)
            key = id(scopes[root]), root.id
            name = known[key] if key in known else known.setdefault(key, self.resolve(root))
            node: ast.AST = root
            while name and isinstance(node, (ast.Name, ast.Attribute)):
                found.append((node, name))
                self._resolved[node] = name
                node = self.parents[node]
                name = f"{name}.{node.attr}" if isinstance(node, ast.Attribute) else ""
        return found

    def _resolve(self, node: ast.Name | ast.Attribute) -> str:
        if isinstance(node, ast.Attribute):
            base = self.resolve(node.value)
            return f"{base}.{node.attr}" if base else ""
        values = self.values(node)
        names = {value for value in values if isinstance(value, str)}
        if len(names) == 1 and all(isinstance(value, (str, ast.Constant)) for value in values):
            return names.pop()  # once or more often; `name = None` in an except branch does not matter
        return self._alias(values, names) if values else ""

    def call(self, node: ast.AST) -> str:
        """The resolved name of what a call calls; empty where `node` is no call."""
        return self.resolve(node.func) if isinstance(node, ast.Call) else ""

    def values(self, node: ast.Name) -> list[Bound]:
        """What a name is bound to in the nearest scope that binds it."""
        return self.bound_at(node.id, node)

    def bound_at(self, name: str, node: ast.Name) -> list[Bound]:
        """What another name is bound to where `node` stands."""
        scope: Scope | None = self.scopes.get(node)
        first = True
        while scope:
            visible = first or not isinstance(scope.node, ast.ClassDef)
            if visible and name in scope.bound:
                return scope.bound[name]
            scope, first = scope.parent, False
        return []

    def parent(self, node: ast.AST) -> ast.AST | None:
        return self.parents.get(node)

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes around this one, from the inside out."""
        while node in self.parents:
            node = self.parents[node]
            yield node

    def function(self, node: ast.AST) -> ast.AST:
        """The function or module around a node."""
        return next(around for around in self.above(node) if isinstance(around, (*Function, ast.Module)))

    def _alias(self, values: list[Bound], names: set[str]) -> str:
        """Two imports in try/except, and `autocast = torch.cuda.amp.autocast`."""
        if len(names) > 1:  # two imports of one name: the first that is torch's own
            return next((name for name in sorted(names) if name.startswith("torch.")), "")
        if len(values) == 1 and isinstance(values[0], ast.Attribute):
            return self.resolve(values[0])
        return ""

    def _visit(self, node: ast.AST, scope: Scope) -> None:
        """Iterative: a file of thousands of `+` nests deeper than Python's own stack."""
        todo: list[tuple[ast.AST, Scope]] = [(node, scope)]
        parents, scopes, by_type = self.parents, self.scopes, self.by_type
        while todo:
            node, scope = todo.pop()
            kind = node.__class__
            if kind in by_type:
                by_type[kind].append(node)
            else:
                by_type[kind] = [node]
            if kind is ast.Name:
                scopes[node] = scope
                continue
            if kind in BINDERS:
                self._bind(node, scope)
            if kind in LEAVES:
                continue
            fields = FIELDS.get(kind)
            if fields is None:
                fields = FIELDS[kind] = tuple(name for name in reversed(kind._fields) if name not in PLAIN)
            inner, body = scope, NOTHING
            if kind in OPENERS:
                inner = Scope(node, scope)
                self._bind_arguments(node, inner)
                body = frozenset(_body(node))
            for field_name in fields:
                value = getattr(node, field_name, None)
                if value.__class__ is list:
                    for child in reversed(value):
                        if child is not None:
                            parents[child] = node
                            todo.append((child, inner if child in body else scope))
                elif value is not None:
                    parents[value] = node
                    todo.append((value, inner if value in body else scope))

    def _bind(self, node: ast.AST, scope: Scope) -> None:
        if isinstance(node, ast.Import):
            for name in node.names:
                scope.bind(
                    name.asname or name.name.split(".")[0], name.name if name.asname else name.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom):
            self._bind_from(node, scope)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            scope.bind(node.name, None)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                _bind_target(target, node.value, scope)
        elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)):
            if node.value is not None:
                _bind_target(node.target, node.value, scope)
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension, ast.AugAssign)):
            _bind_target(node.target, None, scope)
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            _bind_target(node.optional_vars, None, scope)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            scope.bind(node.name, None)

    def _bind_from(self, node: ast.ImportFrom, scope: Scope) -> None:
        base = "." * node.level + (node.module or "")
        for name in node.names:
            if name.name == "*":
                self.star_imports.append(node)
            else:
                joint = "" if not base or base.endswith(".") else "."
                scope.bind(name.asname or name.name, f"{base}{joint}{name.name}")

    @staticmethod
    def _bind_arguments(node: ast.AST, scope: Scope) -> None:
        if isinstance(node, Function):
            arguments = node.args
            named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
            for argument in filter(None, named):
                scope.bind(argument.arg, None)


def _body(node: ast.AST) -> list[ast.AST]:
    """The children that live in the scope which the node opens; decorators and defaults do not."""
    if isinstance(node, ast.Lambda):
        return [node.body]
    return list(node.body) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) else []


def _bind_target(target: ast.expr, value: ast.expr | None, scope: Scope) -> None:
    if isinstance(target, ast.Name):
        scope.bind(target.id, value)
    elif isinstance(target, (ast.Tuple, ast.List)):
        values = (
            value.elts if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts) else None
        )
        for at, element in enumerate(target.elts):
            _bind_target(element, values[at] if values else None, scope)
    elif isinstance(target, ast.Starred):
        _bind_target(target.value, None, scope)
