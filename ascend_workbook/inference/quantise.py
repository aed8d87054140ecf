"""`quantise`: eight bits by onnxruntime's static quantiser; layers that cost most are left out until a target holds."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ascend_workbook.findings.errors import WorkbookError, explain_os_error
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Column, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.inference.graphs import Graph, first_line, open_session, read_arrays, read_graph, run_session

#: Operators that are quantised.
LAYERS = ("Conv", "Gemm", "MatMul")
COLUMNS = ("variant", "accuracy", "accuracy_drop", "size_kib", "cpu_ms", "layers_left_out")
#: Files that are written into the folder.
FILES = ("w8.onnx", "w8a8.onnx", "w8a8_mixed.onnx")
#: The first opset whose DequantizeLinear has a scale for each channel.
FIRST_OPSET = 13
#: Runs of each variant that its CPU time is the median of, in turn.
TURNS = 5


@dataclass(frozen=True)
class Data:
    """What calibrates, and what is judged with: an array of inputs each, and the labels of the second."""

    name: str
    calibration: Any
    inputs: Any
    labels: Any

    def accuracy(self, session: Any) -> float:
        """Return the share of labels that the largest output names, in percent."""
        name = session.get_outputs()[0].name
        (outputs,) = run_session(session, [name], {self.name: self.inputs}, self.name)
        if not outputs.size or len(outputs) != len(self.labels):
            raise WorkbookError("inference.no_classifier", name=name, shape=list(outputs.shape), count=len(self.labels))
        return float(100 * (outputs.reshape(len(self.labels), -1).argmax(1) == self.labels).mean())


@dataclass
class Variant:
    """A quantised model: its file, accuracy, and the layers left as they were."""

    name: str
    path: Path
    left_out: tuple[str, ...] = ()
    accuracy: float = 0.0
    cpu_ms: float = 0.0


def quantise(
    onnx: str | Path,
    data: str | Path,
    *,
    out: str | Path = "quantised",
    target: float = 0.5,
    calibration: int = 128,
    progress: Callable[[str], None] | None = None,
) -> Report:
    """Quantises an ONNX classifier to eight bits and measures what that costs on real data.

    `data` is an .npz of inputs `x` and labels `y`: the first `calibration` calibrate, the rest are judged. Weights
    alone (W8) and weights with activations (W8A8, per channel) are written into the folder `out`. `target` are the
    points of accuracy that W8A8 may lose: the layers that cost most are left out one by one until it holds. Times are
    this CPU's. Fix where the target cannot be held. Raises WorkbookError where a file cannot be read."""
    graph = read_graph(onnx)
    _check_model(graph, target)
    judged = _read_data(graph, data, calibration)
    folder = _make_folder(Path(out), (Path(onnx), Path(data)))
    if not _layers(graph):
        finding = Finding("INF620", Status.NOT_LOOKED, "INF620.no_layers", {"operators": list(LAYERS)}, weight=300)
        return Report("inference", "quantise", (finding,), facts={"files": {}}, tier="cpu", answers=("INF620",))
    plain = Variant("float32", Path(onnx))
    plain.accuracy = judged.accuracy(_open(plain.path))
    weights = Variant("W8", folder / "w8.onnx")
    _round_weights(graph, weights.path)
    weights.accuracy = judged.accuracy(_open(weights.path))
    costs = _measure_costs(graph, judged)
    last = _quantise_all(graph, folder / "w8a8.onnx", (), judged)
    variants = [plain, weights, last]
    while plain.accuracy - last.accuracy > target and len(last.left_out) + 1 < len(costs):
        left_out = (*last.left_out, next(name for name in costs if name not in last.left_out))
        last = _quantise_all(graph, folder / "w8a8_mixed.onnx", left_out, judged)
        if progress:
            progress(f"W8A8: {last.accuracy:.2f} %, {len(left_out)}/{len(costs)}")
    if last.left_out:
        variants.append(last)
    _measure_times(variants, judged)
    return _report_quantised(plain, variants, costs, judged, target)


def _check_model(graph: Graph, target: float) -> None:
    """Raise WorkbookError where the model, or the points it may lose, are such that nothing can be quantised."""
    if math.isnan(target):
        raise WorkbookError("inference.no_number", option="--target", given=target)
    opset = next((entry.version for entry in graph.model.opset_import if entry.domain in ("", "ai.onnx")), 0)
    if opset < FIRST_OPSET:
        raise WorkbookError("inference.old_opset", path=graph.path, opset=opset, first=FIRST_OPSET)
    for port in graph.inputs.values():
        dims = port.type.tensor_type.shape.dim
        if dims and dims[0].dim_value > 0:
            raise WorkbookError("inference.fixed_batch", path=graph.path, name=port.name, batch=dims[0].dim_value)


def _make_folder(folder: Path, sources: tuple[Path, ...]) -> Path:
    """Make the folder of the results. Raises WorkbookError where a result would replace what it is made of."""
    for path in (folder / name for name in FILES):
        if any(path.exists() and path.samefile(source) for source in sources):
            raise WorkbookError("inference.replaces_input", path=str(path))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WorkbookError("inference.unwritable", path=str(folder), error=explain_os_error(error)) from None
    return folder


def _read_data(graph: Graph, path: str | Path, calibration: int) -> Data:
    from onnx import helper

    arrays = read_arrays(path)
    names = list(graph.inputs)
    if len(names) != 1 or not {"x", "y"} <= arrays.keys():
        raise WorkbookError("inference.no_data", path=str(path), inputs=names, names=list(arrays))
    count = len(arrays["x"])
    if count != len(arrays["y"]) or not 0 < calibration < count:
        raise WorkbookError("inference.few_data", path=str(path), count=count, calibration=calibration)
    labels = arrays["y"][:, 0] if arrays["y"].shape[1:] == (1,) else arrays["y"]
    if labels.ndim != 1 or labels.dtype.kind not in "iu" and not _are_whole(labels):
        raise WorkbookError("inference.bad_labels", path=str(path), shape=list(labels.shape), dtype=str(labels.dtype))
    if arrays["x"].dtype.kind not in "fiub" or not np.isfinite(arrays["x"]).all():
        raise WorkbookError("inference.not_finite", path=str(path))
    kind = graph.inputs[names[0]].type.tensor_type.elem_type
    x = arrays["x"].astype(helper.tensor_dtype_to_np_dtype(kind))
    return Data(names[0], x[:calibration], x[calibration:], labels[calibration:])


def _are_whole(labels: Any) -> bool:
    return labels.dtype.kind == "f" and bool((labels == np.rint(labels)).all())


def _open(path: Path) -> Any:
    return open_session(str(path), str(path), optimised=True)


def _layers(graph: Graph) -> list[Any]:
    """Return the nodes that are quantised: those with a weight of float32."""
    weights = {weight.name for weight in graph.model.graph.initializer if weight.data_type == 1}
    nodes = graph.model.graph.node
    return [node for node in nodes if node.op_type in LAYERS and len(node.input) > 1 and node.input[1] in weights]


def _round_weights(graph: Graph, path: Path) -> None:
    """Write the model with its layers' weights in eight bits, one scale a channel; activations stay float32."""
    import onnx
    from onnx import helper, numpy_helper

    model = onnx.ModelProto()
    model.CopyFrom(graph.model)
    weights = {weight.name: weight for weight in model.graph.initializer}
    added = []
    for node in _layers(Graph(model, str(path))):
        weight = weights.get(node.input[1])
        if weight is None or weight.data_type != onnx.TensorProto.FLOAT:
            continue
        values = numpy_helper.to_array(weight)
        axis = _channel_axis(node)
        rest = tuple(at for at in range(values.ndim) if at != axis)
        scale = np.maximum(np.abs(values).max(rest), np.finfo(np.float32).tiny).astype(np.float32) / 127
        shape = [-1 if at == axis else 1 for at in range(values.ndim)]
        rounded = np.clip(np.rint(values / scale.reshape(shape)), -127, 127).astype(np.int8)
        name = weight.name
        weight.CopyFrom(numpy_helper.from_array(rounded, f"{name}/int8"))
        model.graph.initializer.append(numpy_helper.from_array(scale, f"{name}/scale"))
        del weights[name]
        added.append(helper.make_node("DequantizeLinear", [f"{name}/int8", f"{name}/scale"], [name], axis=axis))
    nodes = list(model.graph.node)
    del model.graph.node[:]
    model.graph.node.extend([*added, *nodes])
    onnx.save(model, str(path))


def _channel_axis(node: Any) -> int:
    """Return the axis of a weight that counts the layer's outputs."""
    transposed = any(attribute.name == "transB" and attribute.i for attribute in node.attribute)
    return 0 if node.op_type == "Conv" or transposed else 1


def _quantise_all(graph: Graph, path: Path, left_out: tuple[str, ...], data: Data) -> Variant:
    """Write the model with weights and activations in eight bits, but for the layers that are left out; judge it."""
    import logging

    import onnx
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

    class Reader(CalibrationDataReader):  # type: ignore[misc]  # onnxruntime has no types
        def __init__(self) -> None:
            self.parts = iter(np.array_split(data.calibration, max(1, len(data.calibration) // 32)))

        def get_next(self) -> dict[str, Any] | None:
            part = next(self.parts, None)
            return None if part is None else {data.name: part}

    model = onnx.ModelProto()  # the quantiser changes what it is given
    model.CopyFrom(graph.model)
    logging.disable(logging.WARNING)  # the quantiser advises on its root logger
    try:
        quantize_static(
            model,  # whose nodes have the names that those left out are called by
            str(path),
            Reader(),
            quant_format=QuantFormat.QDQ,
            per_channel=True,
            op_types_to_quantize=list(LAYERS),
            nodes_to_exclude=list(left_out),
            weight_type=QuantType.QInt8,
            activation_type=QuantType.QInt8,
        )
    except Exception as error:  # noqa: BLE001 - the quantiser's errors share no base
        raise WorkbookError("inference.cannot_quantise", path=graph.path, error=first_line(error)) from None
    finally:
        logging.disable(logging.NOTSET)
    return Variant("W8A8", path, left_out, data.accuracy(_open(path)))


def _measure_costs(graph: Graph, data: Data) -> dict[str, float]:
    """Return each layer's cost, the largest first: relative L2 error of its result with its own input and weight
    rounded to eight bits, and all before it exact."""
    import onnx
    from onnx import numpy_helper

    exact = graph.run({data.name: data.calibration[:32]})
    rounded = Graph(onnx.ModelProto(), graph.path)
    rounded.model.CopyFrom(graph.model)
    weights = {weight.name: weight for weight in rounded.model.graph.initializer}
    inputs, outputs = dict(exact), {}
    for node in _layers(graph):
        weight = numpy_helper.to_array(weights[node.input[1]])
        rest = tuple(at for at in range(weight.ndim) if at != _channel_axis(node))
        values = _round(weight, np.abs(weight).max(rest, keepdims=True) / 127).astype(np.float32)
        weights[node.input[1]].CopyFrom(numpy_helper.from_array(values, node.input[1]))
        source = exact[node.input[0]]
        scale = (max(float(source.max()), 0.0) - min(float(source.min()), 0.0)) / 255
        inputs[node.input[0]] = _round(source, scale).astype(np.float32)
        outputs[node.name] = node.output[0]
    rounded.weights = graph.weights
    alone = rounded.replay(inputs)
    costs = {name: _relative(alone[output], exact[output]) for name, output in outputs.items()}
    return dict(sorted(costs.items(), key=lambda pair: -pair[1]))


def _round(values: Any, scale: Any) -> Any:
    return np.rint(values / np.maximum(scale, 1e-12)) * scale


def _relative(result: Any, wanted: Any) -> float:
    return float(np.linalg.norm(result - wanted) / max(float(np.linalg.norm(wanted)), 1e-12))


def _measure_times(variants: list[Variant], data: Data) -> None:
    """Measure the CPU time of a batch of 32, in turn, so that what else the machine does falls on all alike."""
    sessions = [_open(variant.path) for variant in variants]
    times: list[list[float]] = [[] for _ in variants]
    for _ in range(TURNS):
        for session, own in zip(sessions, times):
            started = time.process_time()
            session.run(None, {data.name: data.inputs[:32]})
            own.append(1000 * (time.process_time() - started))
    for variant, own in zip(variants, times):
        variant.cpu_ms = statistics.median(own)


def _report_quantised(
    plain: Variant, variants: list[Variant], costs: dict[str, float], data: Data, target: float
) -> Report:
    last = variants[-1]
    drop = plain.accuracy - last.accuracy
    args: dict[str, Scalar] = {"drop": f"{drop:.2f}", "target": target, "count": len(data.labels)}
    args |= {"left": len(last.left_out), "layers": len(costs), "accuracy": f"{last.accuracy:.2f}"}
    held = drop <= target
    finding = Finding(
        "INF620", Status.GOOD if held else Status.FIX, f"INF620.{'held' if held else 'lost'}", args, weight=300
    )
    names: list[Scalar] = [f"{name} {cost:.3g}" for name, cost in list(costs.items())[:5]]
    findings = [finding, Finding("INF621", Status.NOTE, "INF621.layers", {"layers": names}, weight=200)]
    findings.append(Finding("INF622", Status.NOTE, "INF622.not_amct", {}, weight=100))
    rows = tuple(
        (
            variant.name,
            round(variant.accuracy, 2),
            round(plain.accuracy - variant.accuracy, 2),
            round(variant.path.stat().st_size / 1024, 1),
            round(variant.cpu_ms, 2),
            ", ".join(variant.left_out) or Sentence("inference.no_layer"),
        )
        for variant in variants
    )
    facts = {"accuracy": {v.path.stem: v.accuracy for v in variants}, "left_out": list(last.left_out), "costs": costs}
    files = {variant.name: str(variant.path) for variant in variants}
    table = Table(tuple(map(Column, COLUMNS)), rows)
    return Report(
        "inference",
        "quantise",
        tuple(findings),
        table,
        facts={**facts, "files": files},
        tier="cpu",
        answers=("INF620",),
    )
