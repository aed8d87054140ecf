"""What a name means: `amp.autocast` after `from torch.cuda import amp` is `torch.cuda.amp.autocast`.

Scopes are followed as Python does it: a parameter or a local variable named `torch` hides the module.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter
from typing import Any, Callable, Union

# The modules that a text imports, by their full names.

TRANSFER = "torch_npu.contrib.transfer_to_npu"


def list_imported_names(tree: ast.AST) -> set[str]:
    """List the full names of what is imported anywhere below; relative imports as `.name`."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            names |= {f"{base}.{name.name}" for name in node.names} | {base}
    return names


Function = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
OPENERS = frozenset((*Function, ast.ClassDef))
BINDERS = frozenset(
    (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign)
    + (ast.NamedExpr, ast.For, ast.AsyncFor, ast.comprehension, ast.AugAssign, ast.withitem, ast.ExceptHandler)
)
DEFINERS = frozenset((ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
LOOPS = frozenset((ast.For, ast.AsyncFor, ast.comprehension, ast.AugAssign))
SPECIAL = OPENERS | BINDERS
#: Fields that hold no node: names, operators, contexts.
PLAIN = set(
    """
    ctx op ops id attr name names arg module level conversion simple is_async kind type_comment type_ignores rest
    kwd_attrs tag
    """.split()
)
#: Per type of node what gives the values of the fields that may hold others; filled as types are met.
CHILDREN: dict[type[ast.AST], Callable[[ast.AST], Iterable[Any]]] = {}
#: Types with one field that holds a node, `value`.
CHAINED = frozenset((ast.Attribute, ast.keyword, ast.Expr, ast.Return, ast.Await, ast.Starred, ast.YieldFrom))
#: How deep a tree may nest; Python's own parser gives up sooner.
DEEPEST = 10_000
NOTHING: frozenset[ast.AST] = frozenset()
#: A bound name: the dotted name it imports, or the expressions assigned to it (None: something unknown).
Bound = Union[str, None, ast.expr]


@dataclass
class Scope:
    """A module, class or function with the names it binds."""

    node: ast.AST
    parent: Scope | None = None
    bound: dict[str, list[Bound]] = field(default_factory=dict)

    def bind_name(self, name: str, value: Bound) -> None:
        if name in self.bound:
            self.bound[name].append(value)
        else:
            self.bound[name] = [value]


#: Visits a node in a scope, and what is below it.
Visitor = Callable[[ast.AST, Scope, Any], None]


class Names:
    """Scopes, parents and resolved names of one tree."""

    def __init__(self, tree: ast.Module) -> None:
        self.parents: dict[ast.AST, ast.AST] = {}
        self.scopes: dict[ast.AST, Scope] = {}
        self.star_imports: list[ast.ImportFrom] = []
        self.by_type: dict[type[ast.AST], list[ast.AST]] = defaultdict(list)
        self._resolved: dict[ast.AST, str] = {}
        self._by_scope: dict[tuple[int, str], str] = {}
        self.opened = [Scope(tree)]
        self._visit_tree(tree, self.opened[0])

    def resolve_name(self, node: ast.AST) -> str:
        """Return the full dotted name behind a Name or Attribute of the tree, or an empty string."""
        return self._full_names.get(node, "")

    @cached_property
    def _full_names(self) -> dict[ast.AST, str]:
        return dict(self.named_nodes)

    def _follow_name(self, node: ast.AST) -> str:
        if not isinstance(node, (ast.Name, ast.Attribute)):
            return ""
        known = self._resolved.get(node)
        if known is None:
            self._resolved[node] = ""  # a name assigned from itself: `x = x.y`
            known = self._resolved[node] = self._resolve_node(node)
        return known

    @cached_property
    def named_nodes(self) -> list[tuple[ast.Name | ast.Attribute, str]]:
        """Every name and attribute of the tree that has a full dotted name, with it."""
        name_pairs: list[tuple[ast.Name | ast.Attribute, str]] = []
        known, scopes, parents, meant_names = self._by_scope, self.scopes, self.parents, self._meant_names
        for root in [node for node in self.by_type.get(ast.Name, ()) if node.id in meant_names]:  # type: ignore[attr-defined]
            key = (id(scopes[root]), root.id)  # type: ignore[attr-defined]
            name = known.get(key)
            if name is None:
                name = known[key] = self._follow_name(root)
            if not name:
                continue
            name_pairs.append((root, name))  # type: ignore[arg-type]
            node = parents[root]
            while node.__class__ is ast.Attribute:
                name = f"{name}.{node.attr}"
                name_pairs.append((node, name))
                node = parents[node]
        return name_pairs

    @cached_property
    def whole_names(self) -> list[tuple[ast.Name | ast.Attribute, str]]:
        """The `named_nodes` that are no part of a longer name: of `torch.cuda.nvtx.mark` that alone."""
        return [(node, name) for node, name in self.named_nodes if not isinstance(self.parents[node], ast.Attribute)]

    @cached_property
    def calls_by_name(self) -> dict[str, list[ast.Call]]:
        """The calls of each full dotted name, in the order of the text."""
        calls_by_full_name: dict[str, list[ast.Call]] = defaultdict(list)
        for node in self.by_type.get(ast.Call, ()):
            name = self._full_names.get(node.func)  # type: ignore[attr-defined]
            if name:
                calls_by_full_name[name].append(node)  # type: ignore[arg-type]
        return calls_by_full_name

    @cached_property
    def calls_by_method(self) -> dict[str, list[ast.Call]]:
        """The calls of each method or function of a module, `f` of `a.b.f()`, in the order of the text."""
        calls_of_method: dict[str, list[ast.Call]] = defaultdict(list)
        for node in self.by_type.get(ast.Call, ()):
            function = node.func  # type: ignore[attr-defined]
            if function.__class__ is ast.Attribute:
                calls_of_method[function.attr].append(node)  # type: ignore[arg-type]
        return calls_of_method

    @cached_property
    def calls_by_keyword(self) -> dict[str, list[ast.Call]]:
        """The calls that are given each keyword."""
        calls_of_keyword: dict[str, list[ast.Call]] = defaultdict(list)
        for node in self.by_type.get(ast.keyword, ()):
            call = self.parents[node]
            if isinstance(call, ast.Call):
                calls_of_keyword[node.arg].append(call)  # type: ignore[attr-defined]
        return calls_of_keyword

    @cached_property
    def _meant_names(self) -> set[str]:
        """The names that any scope binds to an import or to another name: no other has a full dotted name."""
        kinds = (str, ast.Attribute, ast.Name, ast.IfExp)
        bound = (pair for scope in self.opened for pair in scope.bound.items())
        return {name for name, values in bound if any(isinstance(value, kinds) for value in values)}

    def _resolve_node(self, node: ast.Name | ast.Attribute) -> str:
        if isinstance(node, ast.Attribute):
            base = self._follow_name(node.value)
            return f"{base}.{node.attr}" if base else ""
        values = self.bound_values(node)
        names = {value for value in values if isinstance(value, str)}
        instances = [value for value in values if isinstance(value, ast.Call) and not value.args and not value.keywords]
        plain = [value for value in values if isinstance(value, (str, ast.Constant))]
        if len(names) == 1 and len(instances) + len(plain) == len(values):
            return names.pop()
        if len(names) > 1:  # two imports of one name, in try and except: the first that is torch's own
            return next((name for name in sorted(names) if name.startswith("torch.")), "")
        if len(values) == 1 and isinstance(values[0], ast.Attribute):  # `autocast = torch.cuda.amp.autocast`
            return self._follow_name(values[0])
        return ""

    @cached_property
    def assigned_attributes(self) -> dict[str, list[tuple[str, ast.expr]]]:
        """Collect what is assigned to attributes: by last name, the dump of what stands before it and the value."""
        assignments: dict[str, list[tuple[str, ast.expr]]] = defaultdict(list)
        for assign in self.by_type.get(ast.Assign, ()):
            assert isinstance(assign, ast.Assign)
            for target in assign.targets:
                if isinstance(target, ast.Attribute):
                    assignments[target.attr].append((ast.dump(target.value), assign.value))
        return assignments

    def resolve_call(self, node: ast.AST) -> str:
        """Return the resolved name of what a call calls; empty where `node` is no call."""
        return self._full_names.get(node.func, "") if isinstance(node, ast.Call) else ""

    def bound_values(self, node: ast.Name) -> list[Bound]:
        """Return what a name is bound to in the nearest scope that binds it."""
        return self.bound_at(node.id, node)

    def bound_at(self, name: str, node: ast.Name) -> list[Bound]:
        """Return what another name is bound to where `node` stands."""
        scope: Scope | None = self.scopes.get(node)
        first = True
        while scope:
            visible = first or not isinstance(scope.node, ast.ClassDef)
            if visible and name in scope.bound:
                return scope.bound[name]
            scope, first = scope.parent, False
        return []

    def parent_of(self, node: ast.AST) -> ast.AST | None:
        return self.parents.get(node)

    def nodes_above(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the nodes around this one, from the inside out."""
        while node in self.parents:
            node = self.parents[node]
            yield node

    def enclosing_function(self, node: ast.AST) -> ast.AST:
        """Return the function or module around a node."""
        return next(around for around in self.nodes_above(node) if isinstance(around, (*Function, ast.Module)))

    def _visit_tree(self, tree: ast.AST, scope: Scope) -> None:
        """A file of thousands of `+` nests deeper than Python's own limit. Raises RecursionError beyond DEEPEST."""
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, DEEPEST))
        visit = self._make_visitor()
        try:
            visit(tree, scope, visit)
        finally:
            sys.setrecursionlimit(limit)

    def _make_visitor(self) -> Visitor:
        """A quarter of a scan's time is spent here: what every node needs is at hand, and a leaf costs no call.

        The function is handed itself: one that held itself would keep the tree until the next garbage collection."""
        parents, scopes, by_type = self.parents, self.scopes, self.by_type
        bind, open_scope = self._bind_names, self._open_scope
        names, constants = by_type[ast.Name], by_type[ast.Constant]

        def visit_node(node: ast.AST, scope: Scope, again: Visitor) -> None:
            kind = node.__class__
            by_type[kind].append(node)
            inner, body = scope, NOTHING
            if kind in SPECIAL:
                if kind in BINDERS:
                    bind(node, scope)
                if kind in OPENERS:
                    inner, body = open_scope(node, scope)
            children = CHILDREN.get(kind)
            if children is None:
                children = CHILDREN[kind] = _make_child_reader(kind)
            for value in children(node):
                for child in value if value.__class__ is list else (value,):
                    above, kind = node, child.__class__
                    home = inner if body and child in body else scope
                    while kind in CHAINED:  # `a.b.c`: one node below each
                        by_type[kind].append(child)
                        parents[child] = above
                        above, child = child, child.value
                        kind = child.__class__
                    if kind is ast.Name:
                        parents[child] = above
                        scopes[child] = home
                        names.append(child)
                    elif kind is ast.Constant:
                        parents[child] = above
                        constants.append(child)
                    elif child is not None:
                        parents[child] = above
                        again(child, home, again)

        return visit_node

    def _open_scope(self, node: ast.AST, scope: Scope) -> tuple[Scope, frozenset[ast.AST]]:
        """The scope that a function or class opens, and its children that live in it."""
        inner = Scope(node, scope)
        self.opened.append(inner)
        if isinstance(node, Function):
            arguments = node.args
            named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
            for argument in filter(None, named):
                inner.bind_name(argument.arg, None)
        if isinstance(node, ast.Lambda):
            return inner, frozenset((node.body,))
        return inner, frozenset(node.body)  # type: ignore[attr-defined]  # decorators and defaults live outside

    def _bind_names(self, node: ast.AST, scope: Scope) -> None:
        kind = node.__class__
        if kind is ast.Assign:
            for target in node.targets:  # type: ignore[attr-defined]
                _bind_target(target, node.value, scope)  # type: ignore[attr-defined]
        elif kind in DEFINERS:
            scope.bind_name(node.name, None)  # type: ignore[attr-defined]
        elif kind in LOOPS:
            _bind_target(node.target, None, scope)  # type: ignore[attr-defined]
        elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)):
            if node.value is not None:
                _bind_target(node.target, node.value, scope)
        elif isinstance(node, ast.ImportFrom):
            self._bind_from(node, scope)
        elif isinstance(node, ast.Import):
            for name in node.names:
                first = name.name.split(".")[0]
                scope.bind_name(name.asname or first, name.name if name.asname else first)
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            _bind_target(node.optional_vars, None, scope)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            scope.bind_name(node.name, None)

    def _bind_from(self, node: ast.ImportFrom, scope: Scope) -> None:
        base = "." * node.level + (node.module or "")
        for name in node.names:
            if name.name == "*":
                self.star_imports.append(node)
            else:
                joint = "" if not base or base.endswith(".") else "."
                scope.bind_name(name.asname or name.name, f"{base}{joint}{name.name}")


def _make_child_reader(kind: type[ast.AST]) -> Callable[[ast.AST], Iterable[Any]]:
    """What gives the values of a type's fields that may hold nodes of interest: a node, a list of them or None."""
    none = kind in (ast.Import, ast.ImportFrom, getattr(ast, "MatchSingleton", None))
    fields = () if none else tuple(name for name in kind._fields if name not in PLAIN)
    if len(fields) > 1:
        return attrgetter(*fields)
    return (lambda node: (getattr(node, fields[0]),)) if fields else (lambda node: ())


def _bind_target(target: ast.expr, value: ast.expr | None, scope: Scope) -> None:
    if isinstance(target, ast.Name):
        scope.bind_name(target.id, value)
    elif isinstance(target, (ast.Tuple, ast.List)):
        values = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
        for at, element in enumerate(target.elts):
            _bind_target(element, values[at] if len(values) == len(target.elts) else None, scope)
    elif isinstance(target, ast.Starred):
        _bind_target(target.value, None, scope)
