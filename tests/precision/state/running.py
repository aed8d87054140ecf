"""Runs a training in a process of its own under the capture's plugin, and leaves a capture of fingerprints behind."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import traceback
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import torch._dynamo
import torch.utils.checkpoint
from torch.utils._python_dispatch import TorchDispatchMode

from ascend_workbook.machine import device
from ascend_workbook.precision.capturing import manifest
from ascend_workbook.precision.child import capture_plugin
from tests.precision.state import ranks, trainings
from tests.precision.state.dumping import Dumps

#: What a device computes with other roundings: forward and backward, not the optimizer's own arithmetic.
# ruff: noqa: SIM905 - a column of names reads better without quotes
COMPUTED = """
mm addmm bmm baddbmm convolution convolution_backward native_layer_norm native_layer_norm_backward _softmax
_softmax_backward_data gelu gelu_backward native_batch_norm native_batch_norm_backward sum mean tanh sigmoid
_log_softmax _log_softmax_backward_data cudnn_batch_norm mul add linear_backward var_mean
""".split()
UPDATED = ("lerp_", "addcdiv_", "addcmul_", "_foreach_lerp_", "_foreach_addcdiv_", "_foreach_addcmul_")
NOISES = ("none", "ulp", "reordered", "update", "other loop", "start")


class Noise(TorchDispatchMode):
    """Moves two thirds of the elements of what is computed by one unit in the last place."""

    def __init__(self, seed: int, names: tuple[str, ...]) -> None:
        super().__init__()
        self.draw, self.names = torch.Generator().manual_seed(seed), frozenset(names)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        name = func._schema.name.partition("::")[2]
        if name in self.names:
            outputs = result if isinstance(result, (tuple, list)) else (result,)
            if name in UPDATED:
                outputs = args[0] if isinstance(args[0], (list, tuple)) else (args[0],)
            moved = [self.move(value, name in UPDATED) for value in outputs]
            if name not in UPDATED:
                result = type(result)(moved) if isinstance(result, (tuple, list)) else moved[0]
        return result

    def move(self, value: Any, in_place: bool) -> Any:
        if not isinstance(value, torch.Tensor) or not value.is_floating_point() or not value.numel():
            return value
        if hasattr(value, "_local_tensor"):  # a shard: what is updated is its own part
            if in_place:
                self.move(value._local_tensor, in_place)
            return value
        step = torch.randint(-1, 2, value.shape, generator=self.draw)
        toward = torch.where(step > 0, torch.inf, -torch.inf).to(value.dtype)
        moved = torch.where(step == 0, value, torch.nextafter(value.detach(), toward.detach()))
        moved = torch.where(value == 0, value, moved)
        return value.copy_(moved) if in_place else moved


class Reordered(TorchDispatchMode):
    """Products are summed in another order: in float64 over halves, rounded at the end."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func._schema.name.partition("::")[2]
        if name in ("mm", "bmm") and args[0].dtype == torch.float32:
            left, right = args[0], args[1]
            half = left.shape[-1] // 2
            return func(left[..., half:], right[..., half:, :]) + func(left[..., :half], right[..., :half, :])
        if name == "sum" and args[0].is_floating_point() and len(args) > 1:
            return func(args[0].double(), *args[1:], **(kwargs or {})).to(args[0].dtype)
        return func(*args, **(kwargs or {}))


@contextlib.contextmanager
def noise_of(kind: str, seed: int) -> Iterator[None]:
    if kind == "ulp":
        with Noise(seed, tuple(COMPUTED)):
            yield
    elif kind == "update":
        with Noise(seed, (*COMPUTED, *UPDATED)):
            yield
    elif kind == "reordered":
        with Reordered():
            yield
    else:
        yield


def record(
    folder: Path,
    name: str,
    fault: str = "",
    start: int = 1,
    noise: str = "none",
    seed: int = 0,
    draws: str = "device",
    dumps: Dumps | None = None,
) -> Path:
    """Train in a child for each rank; the capture of it, its operators too where there are `dumps`."""
    folder.mkdir(parents=True, exist_ok=True)
    world = ranks.WORLD if name in ranks.RECIPES else 1
    sys.stdout.flush()
    pids = []
    for rank in range(world):
        pid = os.fork()
        if pid == 0:
            _run_child(folder, name, fault, start, noise, seed, draws, rank, world, dumps)
        pids.append(pid)
    ends = [os.waitpid(pid, 0)[1] for pid in pids]
    if any(ends):
        raise RuntimeError("\n".join(path.read_text() for path in folder.glob("trouble*.txt")))
    sides = {f"rank{rank}": json.loads((folder / f"side.rank{rank}.json").read_text()) for rank in range(world)}
    tier = "npu-simulated" if trainings.DEVICE[0] == "npu" else "cpu"
    about = {"tier": tier, "device": tier, "args": [], "seed": 1, "level": "L1", "task": "fingerprints"}
    about.update(script="train.py", root=str(folder.parent), steps=trainings.STEPS, dump_steps=[0], nproc=world)
    about.update({"draws": draws} if draws != "device" else {})
    if dumps is not None:
        about.update(task=dumps.task, dump_steps=list(range(trainings.STEPS)))
    manifest.Manifest(folder, True, about, manifest.list_files(folder), sides).write_file()
    return folder


def _run_child(
    folder: Path,
    name: str,
    fault: str,
    start: int,
    noise: str,
    seed: int,
    draws: str,
    rank: int,
    world: int,
    dumps: Dumps | None,
) -> None:
    code = 1
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            if world > 1:
                os.environ.update(RANK=str(rank), WORLD_SIZE=str(world), LOCAL_RANK=str(rank))
                store = torch.distributed.FileStore(str(folder / "store"), world)
                torch.distributed.init_process_group("gloo", store=store, rank=rank, world_size=world)
            _train(folder, name, fault, start, noise, seed, draws, rank, world, dumps)
        code = 0
    except BaseException:  # noqa: BLE001 - a child of a fork ends here, whatever happened
        (folder / f"trouble{rank}.txt").write_text(traceback.format_exc())
    os._exit(code)


def _train(
    folder: Path,
    name: str,
    fault: str,
    start: int,
    noise: str,
    seed: int,
    draws: str,
    rank: int,
    world: int,
    dumps: Dumps | None,
) -> None:
    from ascend_workbook.machine.launch.child import hooks
    from ascend_workbook.machine.launch.child.gpulog import GpuLog
    from ascend_workbook.machine.launch.child.observer import Observer

    torch.set_num_threads(1)
    if draws == "host":
        from ascend_workbook.machine.launch.child.draws import install_draws

        install_draws(draws, False, lambda *args, **kwargs: None)
    log = GpuLog(folder / f"gpulog.rank{rank}.json", {"parameter_devices": [], "seeds": [], "tier": "cpu"})
    observer = Observer(log, folder, None, rank, world, True)
    hooks.install_hooks(observer)
    hooks.force_seed(seed, False)
    config: Any = {"dumps": False, "iterations": list(range(trainings.STEPS))}
    config["settings_path"] = str(Path(settings_file()))
    capture_plugin.attach(observer, config)
    trainings.COMPILED[0] = noise == "compiled"
    with noise_of(noise, seed + 7):
        foreach = False if noise == "other loop" else None
        if world > 1:
            training = ranks.train(name, fault, start, seed, foreach, rank)
        else:
            training = trainings.train(name, fault, start, seed, foreach)
        for step in training:
            if step == 0 and noise == "start":
                _perturb(training)
            if dumps is not None:
                dumps.begin_step(folder, step, rank)
        if dumps is not None:
            dumps.end_step()
    observer.finish("finished", None)


def _perturb(training: Any) -> None:
    """Initial weights as another device would have computed them: a few units off in the last place."""
    frame: types.FrameType = training.gi_frame
    if training.gi_yieldfrom is not None:
        frame = training.gi_yieldfrom.gi_frame
    draw = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for model in [value for value in frame.f_locals.values() if isinstance(value, torch.nn.Module)]:
            for value in model.parameters():
                own = value.to_local() if hasattr(value, "to_local") else value
                own.mul_(1 + 2e-7 * torch.randint(-1, 2, own.shape, generator=draw).to(own.device))


def settings_file() -> str:
    from ascend_workbook.machine.settings.child import settings

    return str(settings.__file__)


def record_once(folder: Path, *args: Any, record: Any = record, **options: Any) -> Path:
    """Record where the folder holds no whole capture yet."""
    if not (folder / manifest.NAME).is_file():
        record(folder, *args, **options)
    return folder


class Simulated:
    """A process that sees the simulated NPU, which records there what it is told, line by line."""

    def __init__(self, numerics: str = "ascend") -> None:
        environment = device.child_environment("npu-simulated", os.environ)
        environment.update(ASCEND_WORKBOOK_SIM_NUMERICS=numerics, OMP_NUM_THREADS="1")
        command = [sys.executable, "-m", "tests.precision.state.running"]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment)

    def record(self, folder: Path, *args: Any, **options: Any) -> Path:
        """As `record`, on the simulated NPU."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps([str(folder), args, options]) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if answer != "done":
            raise RuntimeError(json.loads(answer) if answer else "the simulated NPU's process ended")
        return folder

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(timeout=60)


def serve() -> None:
    """Record on the simulated NPU what stdin asks for."""
    import torch_npu  # noqa: F401

    trainings.DEVICE[0] = "npu"
    for line in sys.stdin:
        folder, args, options = json.loads(line)
        try:
            record(Path(folder), *args, **options)
            print("done", flush=True)
        except RuntimeError as error:
            print(json.dumps(str(error)), flush=True)


if __name__ == "__main__":
    serve()
