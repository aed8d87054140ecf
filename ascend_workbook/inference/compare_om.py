"""`compare-om`: an ONNX model and its offline model, node by node; the first node that is off by itself."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Chart, Column, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.inference.graphs import Graph, Node, read_arrays, read_graph
from ascend_workbook.machine.simulator.models import read_offline_model
from ascend_workbook.precision.tensors.metrics import measure_arrays

#: Relative L2 error that a node may add by itself: eight units in the last place of what its results are rounded to.
ALLOWED = {"FLOAT16": 8 * 2.0**-11, "BFLOAT16": 8 * 2.0**-8, "": 1e-5}
#: The largest float16.
LARGEST = 65504.0
#: How the converter calls the preprocessing that it adds.
AIPP = "atc/aipp/"
IMAGE = "om:"
COLUMNS = ("order", "node", "operator", "tensor", "relative_l2", "own_error", "allowed", "judgement", "place")


@dataclass(frozen=True)
class Judged:
    """A tensor of a node in both models: how far the offline model is, and how far the node by itself."""

    node: Node
    tensor: str
    error: float
    own: float | None
    overflows: bool
    allowed: float

    @property
    def is_off(self) -> bool:
        return self.overflows or self.own is not None and self.own > self.allowed


def compare_om(
    onnx: str | Path, om: str | Path, *, inputs: str | Path | None = None, seed: int = 0, allowed: float | None = None
) -> Report:
    """Runs an ONNX model and its offline model on the same inputs and names the first node that is off by itself.

    `inputs` is an .npz of arrays by the names of the ONNX model's inputs; where the offline model takes an image (AIPP)
    its bytes are in it as `om:NAME`, beside what your own preprocessing makes of them as `NAME`. Without it inputs are
    drawn by `seed`. Each node is run again alone on what came to it in the offline model: so an error that was handed
    on is told from the node's own. `allowed` is a relative L2 error (default: eight units in the last place of the
    precision mode). Fix where a node or the preprocessing is off. Raises WorkbookError where a file cannot be read."""
    if allowed is not None and math.isnan(allowed):
        raise WorkbookError("inference.no_number", option="--allowed", given=allowed)
    graph = read_graph(onnx)
    model = read_offline_model(om)
    own = _make_graph(model.graph, str(om))
    feeds, images, drawn = _make_feeds(graph, model, inputs, seed)
    expected, offline = graph.run(feeds), own.run(images)
    mode = _find_format(own)
    limit = ALLOWED[mode] if allowed is None else allowed
    preprocessed = _judge_inputs(graph, own, feeds, offline)
    judged = list(_judge_nodes(graph, expected, {**feeds, **offline, **preprocessed[1]}, limit))
    return _report_comparison(graph, model, judged, preprocessed[0], mode, limit, drawn)


def _make_graph(data: bytes, name: str) -> Graph:
    import onnx

    return Graph(onnx.load_from_string(data), name)


def _find_format(graph: Graph) -> str:
    """Return what results are rounded to in the offline model: the casts that its converter added say it."""
    import onnx

    for node in graph.model.graph.node:
        if node.name.startswith("atc/") and node.name.endswith("/reduce"):
            return str(onnx.TensorProto.DataType.Name(node.attribute[0].i))
    return ""


def _make_feeds(
    graph: Graph, model: Any, inputs: str | Path | None, seed: int
) -> tuple[dict[str, Any], dict[str, Any], bool]:
    """Return the inputs of the ONNX model, those of the offline model, and whether they were drawn."""
    arrays = read_arrays(inputs) if inputs is not None else {}
    rng = np.random.default_rng(seed)
    feeds, images = {}, {}
    for port in model.about.inputs:
        if port.name not in graph.inputs:
            raise WorkbookError("inference.other_model", name=port.name, names=list(graph.inputs))
        batch = model.about.batches[0] if model.about.batches else 1
        shape = [batch if size == -1 else size for size in port.shape]
        image = port.dtype == "uint8" and graph.inputs[port.name].type.tensor_type.elem_type == 1
        if image and not {port.name, IMAGE + port.name} <= arrays.keys():
            raise WorkbookError("inference.needs_image", name=port.name, image=IMAGE + port.name)
        if port.name in arrays:
            feeds[port.name] = arrays[port.name]
        elif inputs is not None:
            raise WorkbookError("inference.no_input", path=str(inputs), name=port.name, names=list(arrays))
        elif np.dtype(port.dtype).kind == "f":
            feeds[port.name] = rng.standard_normal(shape).astype(np.float32)
        else:
            feeds[port.name] = rng.integers(0, 2, shape).astype(port.dtype)
        images[port.name] = arrays[IMAGE + port.name] if image else feeds[port.name].astype(port.dtype)
    return feeds, images, inputs is None


def _judge_inputs(
    graph: Graph, own: Graph, feeds: dict[str, Any], offline: dict[str, Any]
) -> tuple[dict[str, float], dict[str, Any]]:
    """Return how far the preprocessing of each image is from the user's own, and what it gives to the first nodes."""
    errors, inputs = {}, {}
    for name in graph.inputs:
        results = [node.output[0] for node in own.model.graph.node if node.name.startswith(f"{AIPP}{name}/")]
        if results:
            inputs[name] = offline[results[-1]]
            errors[name] = _measure(inputs[name], feeds[name])
        elif f"{name}/rounded" in offline:
            inputs[name] = offline[f"{name}/rounded"]
    return errors, inputs


def _measure(result: Any, wanted: Any) -> float:
    """Return the relative L2 error; infinite where shapes differ, or infinities stand in other places."""
    if result.shape != wanted.shape:
        return math.inf
    metrics = measure_arrays(result, wanted)
    return math.inf if metrics.nonfinite_places else metrics.relative_l2


def _judge_nodes(graph: Graph, expected: dict[str, Any], values: dict[str, Any], limit: float) -> list[Judged]:
    constants = {name: expected[name] for name in graph.list_constants() if name in expected}
    ours = {name: array for name, array in values.items() if not name.startswith("atc/")}
    replayed = graph.replay({**constants, **ours})
    judged = []
    for node in graph.list_nodes():
        for name in node.outputs:
            if name not in values or name not in expected or values[name].dtype.kind not in "fiub":
                continue
            alone = replayed.get(name)
            if values[name].dtype.kind != "f":
                judged.append(_judge_whole(node, name, values[name], expected[name], alone))
                continue
            finite = alone is not None and bool(np.isfinite(alone).all())
            overflows = finite and not bool(np.isfinite(values[name]).all())
            own = _measure(values[name], alone) if alone is not None and finite else None
            judged.append(Judged(node, name, _measure(values[name], expected[name]), own, overflows, limit))
    return judged


def _judge_whole(node: Node, name: str, value: Any, expected: Any, alone: Any) -> Judged:
    """Judge whole numbers and truth values, which no rounding explains: by the share that differs."""

    def measure(wanted: Any) -> float:
        return (
            float(np.not_equal(value, wanted).sum()) / max(1, value.size) if value.shape == wanted.shape else math.inf
        )

    return Judged(node, name, measure(expected), None if alone is None else measure(alone), False, 0.0)


def _judge_agreement(judged: list[Judged], limit: float) -> list[Finding]:
    """Say what agrees where no node is off, and of what nothing is known."""
    known = [row.own for row in judged if row.own is not None]
    rest: list[Scalar] = [row.tensor for row in judged if row.own is None]
    args: dict[str, Scalar] = {"count": len(known), "allowed": f"{limit:.3g}"}
    agrees = Finding(
        "INF610", Status.GOOD, "INF610.agrees", {**args, "own": f"{max(known, default=0.0):.3g}"}, weight=300
    )
    args = {"count": len(rest), "names": rest[:5]}
    unknown = Finding("INF610", Status.NOT_LOOKED, "INF610.unknown", args, weight=310)
    return [finding for finding, names in ((agrees, known), (unknown, rest)) if names]


def _report_comparison(
    graph: Graph,
    model: Any,
    judged: list[Judged],
    preprocessed: dict[str, float],
    mode: str,
    limit: float,
    drawn: bool,
) -> Report:
    findings = [
        Finding("INF611", Status.FIX, "INF611.aipp", {"name": name, "error": f"{error:.3g}"}, weight=320)
        for name, error in preprocessed.items()
        if error > ALLOWED["FLOAT16"]
    ]
    first = next((row for row in judged if row.is_off), None)
    if not judged:
        findings.append(Finding("INF610", Status.NOT_LOOKED, "INF610.none", {}, weight=300))
    elif first is not None:
        findings.append(_describe_first(first, judged))
    elif not findings:
        findings += _judge_agreement(judged, limit)
    outputs = {row.tensor: row.error for row in judged if row.tensor in graph.outputs}
    errors: list[Scalar] = [f"{name} {error:.3g}" for name, error in outputs.items()]
    args: dict[str, Scalar] = {
        "outputs": errors,
        "mode": mode.lower() or "float32",
        "inputs": Sentence(f"inference.{_origin(drawn)}"),
    }
    findings.append(Finding("INF612", Status.NOTE, "INF612.outputs", args, weight=200))
    if model.about.warnings:
        args = {"warnings": list(model.about.warnings)}
        findings.append(Finding("INF613", Status.NOTE, "INF613.warnings", args, weight=100))
    chart = Chart(
        "lines",
        "order",
        ("relative_l2", "own_error"),
        log=True,
        mark=judged.index(first) if first is not None else None,
    )
    facts = {"first": first.node.name if first else None, "mode": mode, "allowed": limit, "preprocessed": preprocessed}
    return Report(
        "inference",
        "compare-om",
        tuple(findings),
        _tabulate(judged),
        chart,
        facts=facts,
        tier="npu-simulated",
        answers=("INF611", "INF610"),
    )


def _origin(drawn: bool) -> str:
    return "drawn" if drawn else "given"


def _describe_first(first: Judged, judged: list[Judged]) -> Finding:
    """Say which node is off first, and by what."""
    args: dict[str, Scalar] = {"node": first.node.name, "operator": first.node.operator}
    if first.overflows:
        args |= {"limit": int(LARGEST), "count": sum(row.overflows for row in judged)}
        return Finding("INF610", Status.FIX, "INF610.overflow", args, place=first.node.place, weight=300)
    args |= {"own": f"{first.own:.3g}", "allowed": f"{first.allowed:.3g}"}
    return Finding("INF610", Status.FIX, "INF610.parts", args, place=first.node.place, weight=300)


def _finite(value: float | None) -> Scalar:
    """Return a number as a table keeps it: infinity as a word."""
    return value if value is None or math.isfinite(value) else "inf"


def _tabulate(judged: list[Judged]) -> Table:
    rows = []
    for order, row in enumerate(judged):
        word = "overflows" if row.overflows else "parts" if row.is_off else "unknown" if row.own is None else "agrees"
        place = f"{row.node.place.path}:{row.node.place.line}" if row.node.place else None
        cells = (order, row.node.name, row.node.operator, row.tensor, _finite(row.error), _finite(row.own))
        rows.append((*cells, row.allowed, Sentence(f"inference.{word}"), place))
    return Table(tuple(Column(name) for name in COLUMNS), tuple(rows))
