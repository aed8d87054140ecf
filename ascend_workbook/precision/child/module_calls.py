"""Rides in the training process: in which module an API ran, and which call made each of its inputs. Loaded by path.

At level L1 msprobe leaves construct.json empty, and nothing ties `Functional.conv2d.1` to a module. Here the modules
that run are kept on a stack per thread; where msprobe gives a call its name, the innermost of them becomes its parent
in construct.json, in the form that msprobe itself writes at level mix, so that its graph tools read it too. Of
edges.json see `Sources`. What cannot be told is left out."""

from __future__ import annotations

import functools
import json
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

EDGES = "edges.json"
FORWARD, BACKWARD = "forward", "backward"
#: What a tensor of an odd kind raises when it is asked for its version or its storage.
ODD = (RuntimeError, NotImplementedError, AttributeError, TypeError)
#: Of msprobe's DataCollector: where a call has its name, with what it is given and what it gives.
METHODS = ("update_construct", "forward_input_data_collect", "forward_output_data_collect")


class Names:
    """The names of modules: the path below the outermost module that runs, without torch's wrappers.

    The outermost module itself goes by its class. Of several models in one process the first that has parameters has
    plain paths (`layer1.0`), those of any other begin with its class (`Discriminator.layer1`, `Discriminator_1...`)."""

    def __init__(self, plain_modules: Callable[[torch.nn.Module], Iterator[tuple[str, torch.nn.Module]]]) -> None:
        self.plain_modules = plain_modules
        self.known: dict[int, tuple[weakref.ref[torch.nn.Module], str]] = {}
        self.prefixes: dict[int, tuple[weakref.ref[torch.nn.Module], str]] = {}
        self.first: weakref.ref[torch.nn.Module] | None = None
        self.roots: Counter[str] = Counter()

    def find_name(self, module: torch.nn.Module, root: torch.nn.Module, above: str) -> str:
        """Return `path.Class`; empty for a wrapper. `above` is the path of the module that calls it: one that no
        module holds is named below that."""
        name = self._look_up(module)
        if name is None:
            self._read_root(root)
            name = self._look_up(module)
        if name is None:
            kind = type(module).__name__
            name = f"{above}.{kind}.{kind}" if above else f"{kind}.{kind}"
            self.known[id(module)] = weakref.ref(module), name
        return name

    def _look_up(self, module: torch.nn.Module) -> str | None:
        entry = self.known.get(id(module))
        return entry[1] if entry is not None and entry[0]() is module else None

    def _read_root(self, root: torch.nn.Module) -> None:
        for module in root.modules():  # a wrapper has no name
            self.known[id(module)] = weakref.ref(module), ""
        inside = list(self.plain_modules(root))
        own = inside[0][1]
        kind, prefix = type(own).__name__, self._choose_prefix(own, inside)
        for path, module in inside:
            where = prefix + path if path else prefix.rstrip(".") or kind
            self.known[id(module)] = weakref.ref(module), f"{where}.{type(module).__name__}"

    def _choose_prefix(self, own: torch.nn.Module, inside: list[tuple[str, torch.nn.Module]]) -> str:
        first = self.first() if self.first is not None else None
        entry = self.prefixes.get(id(own))
        if any(module is first for _, module in inside):  # the first, or a model that holds it
            self.first = weakref.ref(own)
            return ""
        if entry is not None and entry[0]() is own:
            return entry[1]
        if getattr(own, "_is_replica", False):  # nn.DataParallel's copy on another device
            return ""
        kind = type(own).__name__
        if self.first is None and next(own.parameters(), None) is not None:
            self.first = weakref.ref(own)
            prefix = ""
        else:
            number = self.roots[kind]
            self.roots[kind] += 1
            prefix = f"{kind}_{number}." if number else f"{kind}."
        self.prefixes[id(own)] = weakref.ref(own), prefix
        return prefix


class Stack(threading.local):
    """The modules that run in a thread, the outermost first: [module, its call's name once an API ran in it]."""

    def __init__(self) -> None:
        self.running: list[list[Any]] = []


class Sources:
    """Which call made a tensor: edges.json holds {consumer: {slot of its input: producer}}.

    A tensor is known by itself while nobody wrote into it; else (a view, a copy that hooks made, an operator that
    writes in place) by its storage, whose last writer counts. What was first seen as an input has no producer."""

    def __init__(self) -> None:
        self.edges: dict[str, dict[str, str]] = {}
        self.tensors: dict[int, tuple[weakref.ref[torch.Tensor], int, str]] = {}
        self.storages: dict[int, tuple[StorageWeakRef, str]] = {}

    def take_inputs(self, consumer: str, args: object, kwargs: object) -> None:
        """Note who made the inputs of a call."""
        made_by = {}
        for slot, tensor in (*_tensors_in(args, "input"), *_tensors_in(kwargs, "input")):
            try:
                producer = self._find_producer(tensor)
            except ODD:
                continue
            if producer:
                made_by[slot] = producer
        if made_by:
            self.edges[consumer] = made_by

    def take_outputs(self, producer: str, output: object) -> None:
        """Note what a call made."""
        for _, tensor in _tensors_in(output, "output"):
            try:
                self.tensors[id(tensor)] = weakref.ref(tensor), _version_of(tensor), producer
                storage = tensor.untyped_storage()
                self.storages[storage._cdata] = StorageWeakRef(storage), producer
            except ODD:
                continue

    def _find_producer(self, tensor: torch.Tensor) -> str:
        entry, version = self.tensors.get(id(tensor)), _version_of(tensor)
        if entry is not None and entry[0]() is tensor and entry[1] == version:
            return entry[2]
        # the reference keeps the number of a storage that is gone from being given to another
        held = self.storages.get(tensor.untyped_storage()._cdata)
        producer = held[1] if held is not None else ""
        self.tensors[id(tensor)] = weakref.ref(tensor), version, producer
        return producer

    def clear(self) -> None:
        for table in (self.edges, self.tensors, self.storages):
            table.clear()


class Tracker:
    """Modules and sources of the calls that `collector`, msprobe's, records. `plain_modules` is recorder.py's."""

    def __init__(self, collector: Any, plain_modules: Callable[[Any], Iterator[tuple[str, Any]]]) -> None:
        self.collector = collector
        self.names, self.stack, self.sources = Names(plain_modules), Stack(), Sources()
        self.parents: dict[str, str | None] = {}
        self.counts: Counter[str] = Counter()
        self.methods: dict[str, Any] = {}
        self.call: Any = None

    def install(self) -> None:
        """Watch modules and msprobe's collector. A release of msprobe that names calls elsewhere is left alone."""
        kind = type(self.collector)
        if not all(callable(getattr(kind, name, None)) for name in METHODS):
            return
        self.methods = {name: getattr(kind, name) for name in METHODS}
        construct, inputs, outputs = self.methods.values()
        tracker = self

        @functools.wraps(construct)
        def update_construct(collector: Any, name: str) -> Any:
            tracker.place_call(collector, name)
            return construct(collector, name)

        @functools.wraps(inputs)
        def collect_inputs(collector: Any, name: str, module: object, pid: int, values: Any) -> Any:
            tracker.place_call(collector, name)  # here too: a checkpoint's second run ends inside its last call
            tracker.sources.take_inputs(name, values.args, values.kwargs)
            return inputs(collector, name, module, pid, values)

        @functools.wraps(outputs)
        def collect_outputs(collector: Any, name: str, module: object, pid: int, values: Any) -> Any:
            tracker.sources.take_outputs(name, values.output)
            return outputs(collector, name, module, pid, values)

        for name, method in zip(METHODS, (update_construct, collect_inputs, collect_outputs)):
            setattr(kind, name, method)
        self._watch_modules()

    def _watch_modules(self) -> None:
        original, stack = torch.nn.Module.__call__, self.stack
        compiling = getattr(getattr(torch, "compiler", None), "is_compiling", bool)  # torch 2.3

        @functools.wraps(original)
        def call_module(module: torch.nn.Module, *args: object, **kwargs: object) -> object:
            if compiling():  # Dynamo traces this function with the model
                return original(module, *args, **kwargs)
            running = stack.running
            running.append([module, None])
            try:
                return original(module, *args, **kwargs)
            finally:  # also where forward raises, and where a checkpoint ends its second run early
                running.pop()

        self.call, self.original = call_module, original
        torch.nn.Module.__call__ = call_module

    def remove(self) -> None:
        """Put back what was there."""
        for name, method in self.methods.items():
            setattr(type(self.collector), name, method)
        if self.call is not None and torch.nn.Module.__call__ is self.call:
            torch.nn.Module.__call__ = self.original
        self.methods = {}
        self.clear()

    def place_call(self, collector: Any, name: str) -> None:
        """Give the call its place in construct.json where msprobe leaves that empty."""
        if collector.config.level == "L1":
            collector.data_writer.update_construct(self._list_entries(name))

    def _list_entries(self, name: str) -> dict[str, str | None]:
        """The call with its parent, and the parents of that, as construct.json has them."""
        if name.endswith(f".{BACKWARD}"):  # it runs when its module has long returned: in its forward call's place
            parent = self.parents.get(f"{name[: -len(BACKWARD)]}{FORWARD}")
            entries = {_turn(child): above and _turn(above) for child, above in self._list_chain(parent)}
            return {**entries, name: parent and _turn(parent)}
        parent = self._find_parent()
        self.parents[name] = parent
        return {**dict(self._list_chain(parent)), name: parent}

    def _list_chain(self, node: str | None) -> list[tuple[str, str | None]]:
        """The node and those around it with their parents, the outermost first."""
        chain: list[tuple[str, str | None]] = []
        while node is not None:
            above = self.parents.get(node)  # gone where the step ended inside its module
            chain.append((node, above))
            node = above
        return chain[::-1]

    def _find_parent(self) -> str | None:
        """Find the name of the innermost module's call; calls are numbered when the first API runs in them."""
        above: str | None = None
        running = self.stack.running
        for frame in running:
            if frame[1] is None:
                path = above.split(".", 1)[1].rsplit(".", 3)[0] if above else ""
                name = self.names.find_name(frame[0], running[0][0], path)
                frame[1] = node = f"Module.{name}.{FORWARD}.{self.counts[name]}" if name else ""
                if node:
                    self.counts[name] += 1
                    self.parents[node] = above
            above = frame[1] or above
        return above

    def write(self) -> None:
        """Write the edges beside msprobe's files of this step."""
        place = getattr(self.collector.data_writer, "dump_file_path", None)
        if place and self.sources.edges and Path(place).parent.is_dir():
            path = Path(place).with_name(EDGES)
            aside = path.with_name(f"{path.name}.part")
            aside.write_text(json.dumps(self.sources.edges, separators=(",", ":")), encoding="utf-8")
            aside.replace(path)

    def clear(self) -> None:
        """Begin another step: call numbers begin anew."""
        self.sources.clear()
        self.parents.clear()
        self.counts.clear()


def _turn(node: str) -> str:
    """The backward node of a module's forward one."""
    head, _, number = node.rsplit(".", 2)
    return f"{head}.{BACKWARD}.{number}"


def _version_of(tensor: torch.Tensor) -> int:
    return -1 if tensor.is_inference() else tensor._version


def _tensors_in(value: object, slot: str) -> Iterator[tuple[str, torch.Tensor]]:
    """Every tensor of a nested value with msprobe's slot: `input.0`, `input.1.0`, `input.weight`."""
    if isinstance(value, torch.Tensor):
        yield slot if "." in slot else f"{slot}.0", value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _tensors_in(item, f"{slot}.{key}")
    elif isinstance(value, (list, tuple)):
        for at, item in enumerate(value):
            yield from _tensors_in(item, f"{slot}.{at}")
