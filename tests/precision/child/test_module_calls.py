"""In which module a call runs, and what made its inputs: of real captures, and of modules called in odd ways."""

from __future__ import annotations

import importlib.util
import json
import random
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import ascend_workbook.precision.capture
from ascend_workbook.precision.capture import capture
from ascend_workbook.precision.capturing import manifest
from ascend_workbook.precision.layouts import read_dump
from ascend_workbook.precision.record import Module, Run

CHILD = Path(ascend_workbook.precision.capture.__file__).parent / "child"
SCRIPT = Path(__file__).parents[1] / "data" / "modules_net.py"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"tested_{name}", CHILD / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


module_calls, recorder = load("module_calls"), load("recorder")


class Writer:
    """As msprobe's: keeps what would be construct.json."""

    def __init__(self) -> None:
        self.construct: dict[str, str | None] = {}
        self.dump_file_path: str | None = None

    def update_construct(self, entries: dict[str, str | None]) -> None:
        self.construct.update(entries)


class Collector:
    """As msprobe's: told of each call that has a name."""

    def __init__(self) -> None:
        self.config, self.data_writer = SimpleNamespace(level="L1"), Writer()

    def update_construct(self, name: str) -> None: ...

    def forward_input_data_collect(self, name: str, module: object, pid: int, values: Any) -> None: ...

    def forward_output_data_collect(self, name: str, module: object, pid: int, values: Any) -> None:
        self.update_construct(name)


class Recording:
    """A tracker that is watching, and calls of APIs told to it."""

    def __init__(self) -> None:
        self.collector = Collector()
        self.tracker = module_calls.Tracker(self.collector, recorder.plain_modules)
        self.count = 0

    def call(self, *inputs: Any, output: Any = None, **named: Any) -> str:
        """One call of an API that gives `output`; its name."""
        name = f"Functional.api.{self.count}.forward"
        self.count += 1
        values = SimpleNamespace(args=inputs, kwargs=named, output=output)
        self.collector.forward_input_data_collect(name, None, 0, values)
        self.collector.forward_output_data_collect(name, None, 0, values)
        return name

    def parent(self, name: str) -> str | None:
        return self.collector.data_writer.construct[name]

    def made_by(self, *inputs: Any, **named: Any) -> dict[str, str]:
        edges: dict[str, dict[str, str]] = self.tracker.sources.edges
        return edges.get(self.call(*inputs, **named), {})


@pytest.fixture
def recording() -> Iterator[Recording]:
    made = Recording()
    call = torch.nn.Module.__call__
    made.tracker.install()
    yield made
    made.tracker.remove()
    assert torch.nn.Module.__call__ is call and type(made.collector).update_construct is UPDATE


UPDATE = Collector.update_construct


class Calls(nn.Module):
    """Calls an API and what it holds, one after the other."""

    def __init__(self, recording: Recording, *inside: nn.Module, weight: bool = True) -> None:
        super().__init__()
        self.recording, self.names = [recording], list[str]()
        self.inside = nn.ModuleList(inside)
        self.weight = nn.Parameter(torch.ones(1)) if weight else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.names.append(self.recording[0].call(x))
        for module in self.inside:
            x = module(x)
        return x


X = torch.ones(2)


def test_modules_are_named_by_their_path(recording: Recording) -> None:
    leaf = Calls(recording)
    model = Calls(recording, leaf, Calls(recording, leaf))
    model(X)
    assert recording.parent(model.names[0]) == "Module.Calls.Calls.forward.0"
    assert [recording.parent(name) for name in leaf.names] == [
        "Module.inside.0.Calls.forward.0",
        "Module.inside.0.Calls.forward.1",  # shared: by its first path, a call more
    ]
    construct = recording.collector.data_writer.construct
    assert construct["Module.inside.0.Calls.forward.0"] == "Module.Calls.Calls.forward.0"
    assert construct["Module.inside.0.Calls.forward.1"] == "Module.inside.1.Calls.forward.0"
    assert recording.parent(recording.call()) is None, "outside any module"


def test_a_backward_belongs_where_its_forward_ran(recording: Recording) -> None:
    leaf = Calls(recording)
    Calls(recording, leaf)(X)
    recording.collector.update_construct(leaf.names[0].replace("forward", "backward"))
    construct = recording.collector.data_writer.construct
    assert construct[leaf.names[0].replace("forward", "backward")] == "Module.inside.0.Calls.backward.0"
    assert construct["Module.inside.0.Calls.backward.0"] == "Module.Calls.Calls.backward.0"
    recording.collector.update_construct("Functional.unknown.7.backward")
    assert construct["Functional.unknown.7.backward"] is None


def test_wrappers_of_torch_have_no_name(recording: Recording) -> None:
    leaf = Calls(recording)
    nn.DataParallel(Calls(recording, leaf), device_ids=[])(X)
    assert recording.parent(leaf.names[0]) == "Module.inside.0.Calls.forward.0"
    assert "DataParallel" not in str(recording.collector.data_writer.construct)


class Critic(Calls):
    """Another model."""


def test_several_models_are_told_apart(recording: Recording) -> None:
    data = Calls(recording, weight=False)  # a transform of the data, say: it has no parameters
    first, leaf = Calls(recording, Calls(recording)), Calls(recording)
    others = [Critic(recording, leaf), Critic(recording, Calls(recording))]
    for model in (data, first, *others, first, others[0]):
        model(X)
    assert [recording.parent(model.names[-1]) for model in (data, first, *others)] == [
        "Module.Calls.Calls.forward.0",
        "Module.Calls.Calls.forward.2",
        "Module.Critic.Critic.forward.1",
        "Module.Critic_1.Critic.forward.0",
    ]
    assert recording.parent(first.inside[0].names[0]) == "Module.inside.0.Calls.forward.0"
    assert recording.parent(leaf.names[1]) == "Module.Critic.inside.0.Calls.forward.1"


def test_a_part_that_runs_before_its_model_takes_its_name_from_it(recording: Recording) -> None:
    leaf = Calls(recording)
    leaf(X)
    Critic(recording, leaf)(X)
    assert [recording.parent(name) for name in leaf.names] == [
        "Module.Calls.Calls.forward.0",
        "Module.inside.0.Calls.forward.0",
    ]


def test_a_module_that_no_other_holds_is_named_below_its_caller(recording: Recording) -> None:
    loose = Critic(recording)
    holder = Calls(recording)
    holder.forward = lambda x: loose(x)  # type: ignore[method-assign]
    Calls(recording, holder)(X)
    assert recording.parent(loose.names[0]) == "Module.inside.0.Critic.Critic.forward.0"


def test_an_exception_leaves_the_stack_as_it_was(recording: Recording) -> None:
    class Fails(Calls):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            super().forward(x)
            raise KeyError

    class Catches(Calls):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            with pytest.raises(KeyError):
                self.inside[0](x)
            self.names.append(self.recording[0].call(x))
            return x

    model = Catches(recording, Calls(recording, Fails(recording)))
    model(X)
    assert recording.parent(model.names[0]) == "Module.Catches.Catches.forward.0"
    assert recording.parent(recording.call()) is None


def test_a_checkpoint_runs_its_modules_again_by_the_same_names(recording: Recording) -> None:
    class Saves(Calls):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return checkpoint(self.inside[0], x * self.weight, use_reentrant=False).sin()

    class Sin(Calls):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return super().forward(x).sin()

    leaf = Sin(recording)
    Saves(recording, leaf)(X).sum().backward()
    assert [recording.parent(name) for name in leaf.names] == [
        "Module.inside.0.Sin.forward.0",
        "Module.inside.0.Sin.forward.1",
    ]
    assert recording.tracker.stack.running == []


def test_threads_have_stacks_of_their_own(recording: Recording) -> None:
    inside, done = threading.Event(), threading.Event()

    class Waits(Calls):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            inside.set()
            assert done.wait(5)
            return super().forward(x)

    waiting = Waits(recording)
    thread = threading.Thread(target=waiting, args=(X,))
    thread.start()
    assert inside.wait(5)
    name = recording.call()
    done.set()
    thread.join()
    assert recording.parent(name) is None
    assert recording.parent(waiting.names[0]) == "Module.Waits.Waits.forward.0"


def test_a_step_that_ends_inside_a_module_is_no_trouble(recording: Recording) -> None:
    class Steps(Calls):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            super().forward(x)
            recording.tracker.clear()
            return super().forward(x)

    model = Steps(recording)
    model(X)
    assert recording.parent(model.names[1]) == "Module.Steps.Steps.forward.0"


def test_other_levels_have_the_construct_of_msprobe(recording: Recording) -> None:
    recording.collector.config.level = "mix"
    Calls(recording)(X)
    assert recording.collector.data_writer.construct == {}


def test_inputs_are_traced_to_what_made_them(recording: Recording) -> None:
    a, b, weight = torch.randn(4), torch.randn(4), torch.randn(4)
    first = recording.call(weight, output=a)
    second = recording.call(a, output=[b, {"more": b * 2}])
    assert recording.made_by(a, [b, weight], weight, key=b, plain=3) == {
        "input.0": first,
        "input.1.0": second,
        "input.key": second,
    }


def test_views_and_writes_in_place_keep_their_maker(recording: Recording) -> None:
    x, start = torch.randn(4), torch.randn(2, 2)
    made = recording.call(output=x)
    view = x.view(2, 2)
    assert recording.made_by(view) == {"input.0": made}, "a view that no call made"
    viewed = recording.call(x, output=view)
    assert recording.made_by(view, x) == {"input.0": viewed, "input.1": made}, "a view does not take over its base"
    x.add_(1)
    written = recording.call(x, output=x)
    assert recording.made_by(x, x.view(2, 2), view) == dict.fromkeys(("input.0", "input.1", "input.2"), written)
    recording.call(start, output=start.view(4))
    assert recording.made_by(start) == {}, "what was an input first has no maker"


def test_memory_that_is_given_anew_is_not_taken_for_the_old(recording: Recording) -> None:
    """Against what really made each tensor, over a random run that frees tensors all the time."""
    chance = random.Random(7)
    alive: list[tuple[torch.Tensor, str | None]] = []
    for _ in range(600):
        if alive and chance.random() < 0.5:
            alive.pop(chance.randrange(len(alive)))
        fresh = torch.empty(chance.choice((8, 64)))
        if chance.random() < 0.4:
            alive.append((fresh, None))  # made by something that was not recorded
        else:
            alive.append((fresh, recording.call(output=fresh)))
        tensor, maker = chance.choice(alive)
        assert recording.made_by(tensor) == ({"input.0": maker} if maker else {})


def test_tensors_of_odd_kinds_are_left_out(recording: Recording) -> None:
    sparse = torch.eye(2).to_sparse()
    recording.call(output=sparse)
    with torch.inference_mode():
        inference = torch.ones(2)
    made = recording.call(output=inference)
    assert recording.made_by(inference, torch.ones(2, device="meta")) == {"input.0": made}


def test_a_release_that_names_calls_elsewhere_is_left_alone() -> None:
    tracker = module_calls.Tracker(SimpleNamespace(data_writer=Writer()), recorder.plain_modules)
    call = torch.nn.Module.__call__
    tracker.install()
    assert torch.nn.Module.__call__ is call
    tracker.write()
    tracker.remove()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Run]:
    folder = tmp_path_factory.mktemp("modules")
    capture(SCRIPT, out=folder, device="npu-simulated", steps=2, dump_steps=(1,), task="statistics")
    (run,) = read_dump(folder / manifest.DUMP)
    return folder, run


def test_a_capture_on_the_simulator_knows_its_modules(made: tuple[Path, Run]) -> None:
    run = made[1]
    named = {op.name: op.module.path if op.module else None for op in run.operators}
    forward = [(op.api, named[op.name]) for op in run.operators if op.direction == "forward"]
    linears = [where for api, where in forward if api == "linear"]
    blocks = ["module.block.first", "module.block.first", "module.block.second"]
    saved = ["module.saved.first", "module.saved.second"]
    assert linears[:8] == ["module.shared", "module.shared", *blocks, *saved, "module.head"]
    assert linears[8:] == saved, "the checkpoint's second run, which ends inside the last"
    assert ("tanh", "module") in forward and ("sigmoid", "module") in forward and ("relu", "module.block") in forward
    assert ("softmax", None) in forward and ("cross_entropy", "CrossEntropyLoss") in forward
    for operator in run.operators:
        if operator.direction == "backward":
            assert named[operator.name] == named[operator.name.replace("backward", "forward")]
    assert run.around[Module("module.saved.first", "Linear")] == Module("module.saved", "Block")
    assert run.around[Module("module", "Net")] == Module("Wrapper", "Wrapper")
    assert run.around[Module("Wrapper", "Wrapper")] is None


def test_a_capture_on_the_simulator_knows_what_made_its_inputs(made: tuple[Path, Run]) -> None:
    folder, run = made
    sources = {taker: set(makers) for taker, makers in run.sources.items()}
    assert sources["Torch.tanh.0.forward"] == {"Functional.linear.0.forward"}
    assert sources["Functional.linear.1.forward"] == {"Torch.tanh.0.forward"}
    added = next(name for name in sources if "__add__" in name)
    assert sources[added] == {"Functional.linear.3.forward", "Functional.linear.4.forward"}, "the shortcut"
    order = {operator.name: operator.order for operator in run.operators}  # msprobe leaves some that it names out
    known = [(maker, taker) for taker, makers in sources.items() for maker in makers if maker in order]
    assert len(known) > 20 and all(order[maker] < order[taker] for maker, taker in known)
    about = manifest.load_manifest(folder)
    assert about is not None and not about.changed_files()
    (listed,) = (name for name in about.files if name.endswith("/edges.json"))
    assert json.loads((folder / listed).read_text()) and about.sides["rank0"]["hooks"]["left"] == []
