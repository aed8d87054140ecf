"""Child process: `replay_child.py JOB ANSWER`. Runs recorded operators again in float64 on the CPU.

Started by path; imports torch and nothing of ours. Only API names on the job's list are ever looked up, so a dump from
elsewhere cannot call anything else. Answers {"found": {name: [per output [target, baseline, rounding, reduced]]},
"skipped": {name: why}, "handed": [per handing [target, baseline, rounding, reduced], or null]}; of a job with a
"device" what answer_device says."""

from __future__ import annotations

import contextlib
import gc
import itertools
import json
import math
import runpy
import sys
import time
from collections import OrderedDict
from pathlib import Path
from typing import Any

gc.disable()  # a third of the import's time goes into collecting what lives until the end
import torch  # noqa: E402

gc.freeze()
gc.enable()

#: Bytes of recorded tensors per operator and side; larger ones are judged by amplification.
LIMIT = 1 << 29
#: What the parent asks for, as JSON has it; of a dump an entry, or one tensor's record.
Job = dict[str, Any]
#: A gradient, and whether the taker's entry shows it.
Share = tuple[torch.Tensor, bool]
HOMES = {"Functional": torch.nn.functional, "Torch": torch, "Tensor": torch.Tensor}


class CannotReplay(Exception):
    """The record lacks something the operator needs; the reason is a word that the parent can say."""


FAILURES = (CannotReplay, RuntimeError, TypeError, ValueError, LookupError, OSError)


class Given:
    """How inputs are given: shaken by up to `unit`, relative, and with gradients where `track` says so. `leaves` are
    those that take a gradient, by file, each with the node of the copy that the operator gets. Tensors go to `device`
    and floating ones to `dtype`; None leaves them as they were saved."""

    def __init__(
        self,
        unit: float,
        track: bool,
        shaking: torch.Generator | None = None,
        device: str = "cpu",
        dtype: torch.dtype | None = torch.float64,
    ) -> None:
        self.unit, self.track, self.device, self.dtype = unit, track, device, dtype
        self.shaking = shaking or torch.Generator().manual_seed(0)
        self.leaves: dict[str, tuple[torch.Tensor, object]] = {}

    def shake_values(self, values: torch.Tensor) -> torch.Tensor:
        if not self.unit:
            return values
        return values * (1 + self.unit * (2 * torch.rand(values.shape, generator=self.shaking, dtype=values.dtype) - 1))


class Side:
    """One run's dump: entries by name (of a dump.json that was `cut` those that stand whole), tensors from its folder.
    The last ones read are kept, up to LIMIT bytes: an operator takes them again for each of its replays."""

    def __init__(self, folder: str, allowed: dict[str, list[str]], cut: bool = False) -> None:
        self.files = Path(folder) / "dump_tensor_data"
        text = (Path(folder) / "dump.json").read_text(encoding="utf-8")
        # by its path: nothing of ours can be imported by name, and it imports nothing of ours
        salvage = Path(__file__).parents[1] / "layouts" / "salvage.py"
        self.data = (runpy.run_path(str(salvage))["whole"] if cut else json.loads)(text)["data"]
        self.allowed = allowed
        self._kept: OrderedDict[str, torch.Tensor] = OrderedDict()

    def outputs(self, name: str) -> list[Any]:
        """The recorded outputs as a flat list; None stays None."""
        return [self.load(item) if item else None for item in _tensor_leaves(self.data[name]["output"])]

    def run(self, name: str, unit: float) -> list[object]:
        """The outputs again in float64; inputs shaken by up to `unit`, relative."""
        direction = name.rpartition(".")[2]
        way = Given(unit, direction == "backward")
        result = self.forward(name, way)
        if direction == "forward":
            return [item if isinstance(item, torch.Tensor) else None for item in flat(result)]
        return self._run_backward(result, self.data[name], way)

    def forward(self, name: str, way: Given) -> object:
        """What the call of this entry returns; for a backward entry, of its forward."""
        head, call, _ = name.rsplit(".", 2)
        entry = self.data.get(f"{head}.{call}.forward")
        if entry is None:
            raise CannotReplay("no_forward")
        kind, _, api = head.partition(".")
        if api not in self.allowed.get(kind, ()):
            raise CannotReplay("not_listed")
        with torch.set_grad_enabled(way.track):
            arguments = [self._read_value(item, way) for item in entry["input_args"]]
            named = {key: self._read_value(item, way) for key, item in entry["input_kwargs"].items()}
            options = {"p": 0.5, "training": True, **dict(zip(("input", "p", "training"), arguments)), **named}
            if api == "dropout" and options["training"] and options["p"]:
                return self._apply_dropout(name, arguments[0], options["p"])
            if api == "scaled_dot_product_attention" and (named.get("dropout_p") or any(arguments[4:5])):
                raise CannotReplay("random")
            return getattr(HOMES[kind], api)(*arguments, **named)

    def _apply_dropout(self, name: str, values: torch.Tensor, p: float) -> torch.Tensor:
        """What dropout gives with the places that were dropped in the record."""
        if p >= 1:
            raise CannotReplay("random")
        (recorded,) = self.outputs(f"{name.rpartition('.')[0]}.forward")
        return values * ((recorded.to(values.device) != 0).to(values.dtype) / (1 - p))

    def _run_backward(self, result: object, entry: object, way: Given) -> list[object]:
        """The last autograd node alone, as msprobe records it (pt_hook_manager.py, _register_backward_pre_hook)."""
        node = self.last_node(result)
        gradients: list[Any] = []
        # through the engine, not by calling the node: it sums gradients of broadcast inputs before hooks see them
        node.register_hook(lambda outgoing, _: gradients.append(outgoing))
        self.turn(result, entry, way)
        return list(gradients[0])

    def turn(self, result: object, entry: Any, way: Given) -> None:
        """Sends the recorded gradient back; the leaves of `way` then hold theirs."""
        node = self.last_node(result)
        plain = Given(way.unit, False, way.shaking, way.device, way.dtype)
        incoming = [self._read_value(item, plain) for item in entry["input"]]
        roots = [item for item in flat(result) if isinstance(item, torch.Tensor) and item.grad_fn is node]
        torch.autograd.backward(roots, [incoming[item.output_nr] for item in roots])

    @staticmethod
    def last_node(result: object) -> Any:
        """The autograd node that msprobe hooks: the one that made the first output."""
        first = next((item for item in flat(result) if isinstance(item, torch.Tensor)), None)
        if first is None or first.grad_fn is None:
            raise CannotReplay("no_forward")
        return first.grad_fn

    def _read_value(self, item: Any, way: Given) -> Any:
        if item is None:
            return None
        if isinstance(item, list):
            return [self._read_value(part, way) for part in item]
        kind = item.get("type", "")
        if kind == "torch.dtype":
            dtype = getattr(torch, item["value"].rpartition(".")[2])
            return way.dtype or dtype if dtype.is_floating_point else dtype
        if kind in ("int", "float", "bool", "str"):
            return item["value"]
        if kind == "slice":
            return slice(*item["value"])
        if kind == "torch.Size":
            return torch.Size(item["value"])
        if "data_name" in item:
            return self._read_input(item, way)
        raise CannotReplay("argument")

    def _read_input(self, item: Any, way: Given) -> torch.Tensor:
        values: torch.Tensor = self.load(item).to(way.device)
        if not values.is_floating_point():
            return values.clone()
        values = way.shake_values(values.to(way.dtype or values.dtype))
        if not (way.track and item.get("requires_grad")):
            return values.clone()
        leaf = values.requires_grad_()
        # a copy: an operator may write into its argument, which autograd forbids on a leaf
        copy: torch.Tensor = leaf.clone()
        way.leaves[item["data_name"]] = leaf, copy.grad_fn
        return copy

    def load(self, item: Any) -> torch.Tensor:
        name = item.get("data_name", "")
        if not name or Path(name).name != name:
            raise CannotReplay("not_saved")
        if math.prod(item["shape"]) * 8 > LIMIT:
            raise CannotReplay("too_large")
        if name not in self._kept:
            self._kept[name] = torch.load(self.files / name, map_location="cpu", weights_only=True)
            while len(self._kept) > 1 and sum(tensor.nbytes for tensor in self._kept.values()) > LIMIT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(name)
        return self._kept[name].detach()


def main(question: str, answer: str, began: float | None = None) -> None:
    """Answer a job file; its seconds are processor time of this process since `began`, where none is given from now."""
    began = time.process_time() if began is None else began
    job = json.loads(Path(question).read_text(encoding="utf-8"))
    answered: Job
    if "device" in job:
        answered = answer_device(Side(job["folder"], job["allowed"], job["cut"]), job)
    else:
        sides = {name: Side(job[name], job["allowed"], name in job["cut"]) for name in ("target", "baseline")}
        errors: dict[str, list[list[float]]] = {}
        skipped: dict[str, str] = {}
        end = began + job["seconds"] if job.get("seconds") is not None else math.inf
        for order in job["operators"]:
            if time.process_time() > end:
                skipped[order["target"]] = "budget"
                continue
            try:
                errors[order["target"]] = _measure_operator(sides, order)
            except FAILURES as why:
                skipped[order["target"]] = str(why) if isinstance(why, CannotReplay) else "failed"
        answered = {"found": errors, "skipped": skipped, "handed": answer_handings(sides, job["handings"], end)}
    answered["seconds"] = time.process_time() - began
    Path(answer).write_text(json.dumps(answered), encoding="utf-8")


def _measure_operator(sides: dict[str, Side], order: dict[str, Any]) -> list[list[float]]:
    """Per output: the target's and the baseline's own error, the effect of one rounding and of a reduced one."""
    (target, mine), (baseline, other) = ((sides[name], order[name]) for name in ("target", "baseline"))
    truth, recorded = baseline.run(other, 0.0), baseline.outputs(other)
    columns = [_relative_errors(target.outputs(mine), target.run(mine, 0.0)), _relative_errors(recorded, truth)]
    for unit in (order["unit"], order["reduced_unit"]):
        shaken = baseline.run(other, unit) if unit else truth
        columns.append(_relative_errors([a if b is not None else None for a, b in zip(shaken, recorded)], truth))
    return [list(row) for row in zip(*columns)]


def _relative_errors(outputs: list[Any], truth: list[Any]) -> list[float]:
    """The relative L2 error of each recorded floating output. Outputs that do not correspond cannot be replayed."""
    pairs = list(zip(outputs, truth))
    if len(outputs) != len(truth) or any(a is not None and (b is None or a.shape != b.shape) for a, b in pairs):
        raise CannotReplay("other_outputs")
    return [relative(a, b) for a, b in pairs if a is not None and a.is_floating_point()]


def relative(a: torch.Tensor, b: torch.Tensor) -> float:
    a, b = a.double().detach(), b.double().detach()
    same = (a == b) | (a.isnan() & b.isnan())
    if not bool((same | (a.isfinite() & b.isfinite())).all()):
        return math.inf
    a, b = a[a.isfinite()], b[b.isfinite()]
    apart, size = float((a - b).norm()), float(b.norm())
    return apart / size if size > 0 else (0.0 if apart == 0 else math.inf)


def _tensor_leaves(part: object) -> list[object]:
    """Tensors of a recorded output in order; other values are passed over."""
    if isinstance(part, list):
        return [leaf for item in part for leaf in _tensor_leaves(item)]
    return [part if isinstance(part, dict) and "shape" in part else None]


def flat(result: object) -> list[object]:
    return [leaf for item in result for leaf in flat(item)] if isinstance(result, (list, tuple)) else [result]


def answer_device(side: Side, job: Job) -> dict[str, object]:
    """One recorded operator run again on a device, from one side's saved inputs: in the dtypes of the dump, in float32
    and, where the device can, in float64; held against float64 on the CPU. Of a backward the whole is run: every
    gradient of an input. torch_npu is there where the environment makes torch load it.

    {"saved": error, "float32": error, "float64": error or null} of the worst tensor, or {"failed": why}."""
    errors: dict[str, object] = {}
    turns = job["name"].endswith(".backward")
    try:
        truth = _run_operator(side, job["name"], Given(0.0, turns))
        for kind, dtype in (("saved", None), ("float32", torch.float32), ("float64", torch.float64)):
            outputs = _run_operator(side, job["name"], Given(0.0, turns, None, job["device"], dtype))
            if len(outputs) != len(truth) or not truth:
                raise ValueError("the device gives other outputs")
            errors[kind] = max(relative(mine, right) for mine, right in zip(outputs, truth))
    except (*FAILURES, AssertionError) as cause:  # an AssertionError says that torch has no such device
        if "float32" not in errors:
            return {"failed": f"{type(cause).__name__}: {str(cause).splitlines()[0] if str(cause) else ''}"}
    return {"float64": None, **errors}  # an NPU computes few operators in float64


def _run_operator(side: Side, name: str, run: Given) -> list[torch.Tensor]:
    """Floating outputs of a forward, gradients of a backward, on the CPU."""
    result = side.forward(name, run)
    if run.track:
        side.turn(result, side.data[name], run)
        tensors = [leaf.grad for leaf, _ in run.leaves.values()]
    else:
        tensors = list(result) if isinstance(result, (tuple, list)) else [result]
    return [item.detach().cpu() for item in tensors if isinstance(item, torch.Tensor) and item.is_floating_point()]


def answer_handings(sides: dict[str, Side], orders: list[Job], end: float = math.inf) -> list[dict[str, object] | None]:
    """Hold the gradient that one operator receives against what its takers' own inputs make of it.

    msprobe records of an API's backward the last autograd node alone, which is often a view. The gradient that such an
    API computes is recorded once more, as what the operator before it receives. A handing is {"receiver": {side:
    entry}, "index": which gradient, "output": {side: the tensor's forward record}, "takers": [{"name": {side: entry},
    "taken": {side: forward record}}], "unit", "reduced_unit"}. Each taker's whole backward is run again in float64 from
    its saved inputs and its saved incoming gradient; where its own entry shows the gradient, that is taken instead, so
    that only what no entry shows is judged here.

    Per handing {"errors": [target, baseline, rounding, reduced], "makers": target names whose gradient no entry shows,
    "rests": what is left of the target's error when a multiple of that maker's gradient is taken off}; None where it
    cannot be told."""
    answers: list[dict[str, object] | None] = [None] * len(orders)
    for at, order in enumerate(orders):
        if time.process_time() > end:
            break
        with contextlib.suppress(*FAILURES):
            answers[at] = _judge_handing(sides, order)
    return answers


def _judge_handing(sides: dict[str, Side], order: Job) -> dict[str, object]:
    shares = {name: _shares_of_takers(sides[name], order, name, 0.0) for name in sides}
    hidden = [at for at, share in enumerate(shares["baseline"]) if not share[1]]
    if not hidden:
        raise ValueError("every gradient is shown where it is made")
    due = {name: torch.stack([gradient for gradient, _ in part]).sum(0) for name, part in shares.items()}
    received = {
        name: side.load(side.data[order["receiver"][name]]["input"][order["index"]]).double()
        for name, side in sides.items()
    }
    errors = [relative(received[name], due[name]) for name in ("target", "baseline")]
    for unit in (order["unit"], order["reduced_unit"]):
        shaken = _shares_of_takers(sides["baseline"], order, "baseline", unit) if unit else shares["baseline"]
        errors.append(relative(torch.stack([gradient for gradient, _ in shaken]).sum(0), due["baseline"]))
    rests = [_rest_of_error(received["target"] - due["target"], shares["target"][at][0]) for at in hidden]
    return {"errors": errors, "makers": [order["takers"][at]["name"]["target"] for at in hidden], "rests": rests}


def _shares_of_takers(side: Side, order: Job, name: str, unit: float) -> list[Share]:
    """What each taker hands back, in the layout of the receiver's output."""
    output, shares = side.load(order["output"][name]), []
    for taker in order["takers"]:
        entry, record = side.data[taker["name"][name]], taker["taken"][name]
        run = Given(unit, True)
        result = side.forward(taker["name"][name], run)
        leaf, leaf_node = run.leaves[record["data_name"]]
        before = [node for node, _ in side.last_node(result).next_functions]
        shown = leaf_node in before
        if shown:
            gradient = run.shake_values(side.load(entry["output"][before.index(leaf_node)]).double())
        else:
            side.turn(result, entry, run)
            gradient = leaf.grad
        shares.append((_match_layout(gradient, side.load(record), output), shown))
    return shares


def _match_layout(gradient: torch.Tensor, taken: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
    """The gradient in the layout of `output`, whose values `taken` holds behind views: dimensions split and then
    swapped, or swapped and then joined."""
    for swap in itertools.permutations(range(taken.dim())):
        back = [swap.index(axis) for axis in range(taken.dim())]
        if torch.equal(output.reshape([taken.shape[at] for at in back]).permute(swap), taken):
            return gradient.permute(back).reshape(output.shape)
    for swap in itertools.permutations(range(output.dim())):
        if torch.equal(output.permute(swap).reshape(taken.shape), taken):
            back = [swap.index(axis) for axis in range(output.dim())]
            return gradient.reshape([output.shape[at] for at in swap]).permute(back)
    raise ValueError("the layout between cannot be told")


def _rest_of_error(error: torch.Tensor, gradient: torch.Tensor) -> float:
    """How much of the error is left when the best multiple of this taker's gradient is taken off."""
    size, length = float(error.norm()), float(gradient.norm())
    if not (math.isfinite(size) and size > 0 and length > 0):
        return 1.0  # a NaN is no multiple of anything
    along = gradient * (float((gradient * error).sum()) / length**2)
    return float((error - along).norm()) / size


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], 0.0)  # loading torch counts
