"""Rides in the training process: msprobe's PrecisionDebugger around steps of an unmodified script.

An iteration is an attempt at an update: one that a GradScaler left out counts, because its operators ran.
Beside msprobe's folders it writes `side.rank<R>.json`: what the comparison must know about this side (reduced
formats and settings in force, fingerprints of the weights before the first forward and of each step's batch, and
what experiment_facts.py reads). Which module a call ran in, and what made its inputs, see module_calls.py."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypedDict

import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

if TYPE_CHECKING:
    from ascend_workbook.machine.launch.child.observer import Observer
    from ascend_workbook.precision.child.release import Kept

#: Exit code of a capture that would have written more than it may.
OVER_LIMIT = 87
#: One that would write more than it may, and has not begun.
OVER_BUDGET = 88
WATCH_EVERY_S = 0.2


class Config(TypedDict):
    """`config_path` is msprobe's, `settings_path` the file that reads the settings in force. `dumps` False:
    fingerprints alone, without msprobe. `estimates`: whether to tell first how much will be written. `ranks` says how
    many dump, `only` which; none named: all. `dumps_here` is filled in by `attach`."""

    config_path: str
    dump_path: str
    iterations: list[int]
    limit_bytes: int
    block_torch_npu: bool
    settings_path: str
    dumps: bool
    estimates: bool
    dry_path: str
    saves_tensors: bool
    ranks: int
    only: list[int]
    dumps_here: bool


def attach(observer: Observer, config: Config) -> None:
    """Capture the wanted iterations of the run."""
    if not config["dumps"]:
        _Capture(observer, config, None, None, {}).install()
        return
    if config["block_torch_npu"]:
        # msprobe takes an importable torch_npu for a sign that this run is on an NPU
        sys.modules.setdefault("torch_npu", None)  # type: ignore[arg-type]
    if observer.world_size > 1:  # it compiles functions as it is imported, which msprobe's replacements do not bear
        with contextlib.suppress(Exception):
            importlib.import_module("torch.distributed.optim")
    with collecting.importing():
        from msprobe.pytorch import PrecisionDebugger

    config["dumps_here"] = not config["only"] or observer.rank in config["only"]
    estimate: dict[str, Any] = (dry.fork(observer, config) if config["estimates"] else None) or {}
    if "step_bytes" in estimate:
        estimate["bytes"] = estimate["step_bytes"] * len(config["iterations"]) * config["ranks"]
    if estimate:
        _write_json(observer.out / f"budget.rank{observer.rank}.json", estimate)
        print(f"[capture] {json.dumps(estimate)}", flush=True)
    if estimate.get("bytes", 0) > config["limit_bytes"]:
        os._exit(OVER_BUDGET)  # before a byte is written where more would be than may be
    originals = release.Kept()
    threading.Thread(target=_end_over_limit, args=(config, observer.out), name="dump-size", daemon=True).start()
    _Capture(observer, config, _Debugger(PrecisionDebugger, config["config_path"]), originals, estimate).install()


class _Debugger:
    """msprobe's, driven by the capture alone: calls of a script that has msprobe in it already do nothing, but for
    `save`, which level debug is made of."""

    def __init__(self, debugger: Any, config_path: str) -> None:
        self.start, self.stop, self.step = debugger.start, debugger.stop, debugger.step
        self.made = debugger(config_path=config_path)
        for name in ("start", "stop", "step"):
            setattr(debugger, name, staticmethod(lambda *_, **__: None))
        self.calls = module_calls.Tracker(self.made.service.data_collector, recorder.plain_modules)
        self.calls.install()


def _write_json(path: Path, content: object) -> None:
    aside = path.with_name(f"{path.name}.part")
    aside.write_text(json.dumps(content), encoding="utf-8")
    aside.replace(path)


def _load_file(path: Path) -> ModuleType:
    """A file of the workbook's that needs nothing else of it, under a name of its own."""
    spec = importlib.util.spec_from_file_location(f"_workbook_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


collecting = _load_file(Path(__file__).parents[2] / "machine" / "launch" / "child" / "collecting.py")
facts, dry, release, module_calls, recorder, state, shards, collectives, standing = (
    _load_file(Path(__file__).with_name(f"{name}.py"))
    for name in (
        "experiment_facts",
        "dry",
        "release",
        "module_calls",
        "recorder",
        "state",
        "shards",
        "collectives",
        "standing",
    )
)


def keep_uncompiled(hook: Callable[..., None]) -> Callable[..., None]:
    """Return a hook that torch.compile calls as it is: traced, it would be compiled anew for each batch that it reads,
    and would part the graph of the network."""
    dynamo = sys.modules.get("torch._dynamo")
    plain_hook: Callable[..., None] = dynamo.disable(hook) if dynamo is not None else hook
    return plain_hook


class _Capture:
    """Turns msprobe on for the wanted iterations, from a training forward to the optimizer's update.

    The update itself is left out: which operators it calls depends on the device (foreach on an accelerator, a
    loop on the CPU), and what it does shows in the next step's weights."""

    def __init__(
        self,
        observer: Observer,
        config: Config,
        debugger: _Debugger | None,
        originals: Kept | None,
        budget: dict[str, object],
    ) -> None:
        self.observer = observer
        self.kept, self.released = originals, False
        self.wanted = set(config["iterations"])
        self.debugger = debugger
        self.settings = _load_file(Path(config["settings_path"]))
        self.facts = facts.Facts(observer)
        self.state = state.State(observer, self.wanted, facts.sketching, recorder)
        self.collectives: Any = None
        if observer.world_size > 1:
            self.state.shards = shards.Shards(observer, facts.sketching)
            self.collectives = collectives.Collectives(observer, self.state, facts.sketching, shards.list_groups)
            self.collectives.find_line = state.find_place
            self.collectives.standing = standing.Standing(
                observer.out, observer.rank, observer.world_size, self.keep_records, state.find_place
            )
        self.iteration = 0
        #: The iteration and the module whose batch was fingerprinted last.
        self.fed = (-1, 0)
        self.running = False
        self.side: dict[str, Any] = {
            "rank": observer.rank,
            "iterations": [],
            "weights": {},
            "batches": {},
            "experiment": self.facts.told,
            "budget": budget,
        }

    def install(self) -> None:
        self.observer.on_model(self.read_model)
        self.observer.on_forward(self.begin_forward)
        self.observer.on_step(lambda _: self.end_iteration())
        self.observer.on_skip(lambda: self.end_iteration(skipped=True))
        self.observer.on_end(self.finish)
        register_optimizer_step_pre_hook(self.update)
        self.facts.install()
        self.state.install()
        if self.collectives is not None:
            self.collectives.install()
            self.collectives.standing.start()

    def read_model(self, model: torch.nn.Module) -> None:
        seeds = [dict(seed) for seed in self.observer.log.content["meta"]["seeds"]]
        self.side["settings"] = {**self.settings.read(), "seeds": seeds}
        with torch.no_grad():
            self.side["weights"] = {name: facts.fingerprint(value) for name, value in model.state_dict().items()}
        self.facts.model(model)

    def begin_forward(self, module: torch.nn.Module) -> None:
        """Before an outermost forward; one without gradients is an evaluation and no part of a step."""
        if not torch.is_grad_enabled():
            return
        if self.fed == (self.iteration, id(module)):
            self.further = module.register_forward_pre_hook(keep_uncompiled(self.add_batch), with_kwargs=True)
        if self.running:
            return
        if self.collectives is not None:
            self.collectives.begin_iteration()
        self.state.begin_iteration()
        fingerprinted, wanted = str(self.iteration) in self.side["batches"], self.iteration in self.wanted
        if wanted or (not fingerprinted and len(self.side["batches"]) < facts.MOST_ITERATIONS):
            self.once = module.register_forward_pre_hook(keep_uncompiled(self.batch), with_kwargs=True)
        if wanted:
            self.side["numerics"] = dict(zip(("conv", "matmul"), self.settings.formats(torch)))
            self.running = True

    def batch(self, module: torch.nn.Module, args: object, kwargs: object) -> None:
        """Fingerprints the batch, then starts msprobe: what it hooks from here on is the forward itself."""
        self.once.remove()
        tensors = [leaf for leaf in facts.list_leaves([args, kwargs]) if isinstance(leaf, torch.Tensor)]
        self.fed = (self.iteration, id(module))
        self.side["batches"].setdefault(str(self.iteration), [facts.fingerprint(tensor) for tensor in tensors])
        self.facts.batch(self.iteration, tensors)
        if self.running and self.debugger:
            self.debugger.start(model=self.observer.model or module)

    def add_batch(self, module: torch.nn.Module, args: object, kwargs: object) -> None:
        """The samples of a further small batch."""
        self.further.remove()
        leaves = facts.list_leaves([args, kwargs])
        self.facts.add_batch(self.iteration, [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)])

    def update(self, optimizer: torch.optim.Optimizer, args: object, kwargs: object) -> None:
        self.stop_debugger()
        if self.observer.active and not self.observer.known.is_inner(optimizer):
            self.facts.update(self.iteration, optimizer)
            self.state.begin_update(optimizer)

    def stop_debugger(self) -> None:
        """Before an update; a further forward in this iteration (another network of a GAN) starts it again."""
        if self.running and self.debugger:
            self.debugger.stop()
            self.debugger.calls.write()
        self.running = False

    def end_iteration(self, skipped: bool = False) -> None:
        self.stop_debugger()
        self.state.end_iteration(skipped)
        if self.iteration in self.wanted:
            self.side["iterations"].append(self.iteration)
        if not self.released and self.debugger:
            self.debugger.step()
            self.debugger.calls.clear()
        self.iteration += 1
        if self.iteration > max(self.wanted):
            self.release()

    def release(self) -> None:
        """Nothing more is to be captured: the rest of the run is as it would be without msprobe."""
        if not self.released:
            self.released = True
            if self.debugger:
                self.debugger.calls.remove()
            nothing = {"replaced": 0, "hooks": 0, "left": []}  # msprobe never came
            self.side["hooks"] = self.kept.restore(self.observer.model) if self.kept else nothing
            if self.collectives is not None:
                self.collectives.install()

    def finish(self, status: str) -> None:
        self.stop_debugger()
        self.release()
        self.side["status"] = status
        self.keep_records()
        if self.collectives is not None:
            self.collectives.standing.end(status)
        _write_json(self.observer.out / f"side.rank{self.observer.rank}.json", self.side)

    def keep_records(self) -> None:
        """Write what the steps did and what the ranks gave to one another, as far as it is recorded."""
        self.state.write(self.observer.out / f"state.rank{self.observer.rank}.json")
        if self.collectives is not None:
            self.collectives.write(self.observer.out / f"ranks.rank{self.observer.rank}.json")


def _end_over_limit(config: Config, out: Path) -> None:
    """Ends the process as soon as the dump is larger than it may be: a full disk would hurt more than it."""
    size = 0
    while size <= config["limit_bytes"]:
        time.sleep(WATCH_EVERY_S)
        size = 0
        for base, _, names in os.walk(config["dump_path"]):
            for name in names:
                with contextlib.suppress(FileNotFoundError):  # renamed while we looked
                    size += os.stat(os.path.join(base, name)).st_size  # noqa: PTH116, PTH118 - thousands of files
    (out / "over_limit.json").write_text(json.dumps({"bytes": size}), encoding="utf-8")
    os._exit(OVER_LIMIT)
