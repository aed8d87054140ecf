"""Half precision: results are rounded at the borders of nodes, by a pair of casts behind each.

Within a node numbers stay float32, as a device's sums do; what a node gives out is what a device could hold. An
overflow becomes infinity. Which bits a device gives is not emulated: no fused operators, no layouts, no tiles."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .errors import ConversionError, refuse_value

#: Operators that a matrix unit computes.
MATRIX = ("Conv", "ConvTranspose", "MatMul", "Gemm")
#: Nodes that the converter adds begin so.
ADDED = "atc/"


@dataclass(frozen=True)
class Mode:
    """How a precision mode rounds: to which format, matrix operators only or all, and whether their results too."""

    format: str = ""
    only_matrix: bool = False
    results: bool = True
    warning: str = ""


WORST = "which operators may be reduced is in a list of CANN's own: all were, which is the worst case"
#: https://www.hiascend.com/document, ATC's --precision_mode (atlasatcparam_16_0068) and --precision_mode_v2 (_0069).
MODES = {
    "force_fp16": Mode("FLOAT16"),
    "force_fp32": Mode("FLOAT16", only_matrix=True, results=False),
    "cube_fp16in_fp32out": Mode("FLOAT16", only_matrix=True, results=False),
    "allow_fp32_to_fp16": Mode("FLOAT16", only_matrix=True),
    "allow_fp32_to_bf16": Mode("BFLOAT16", only_matrix=True),
    "must_keep_origin_dtype": Mode(),
    "allow_mix_precision": Mode("FLOAT16", warning=WORST),
    "allow_mix_precision_fp16": Mode("FLOAT16", warning=WORST),
    "allow_mix_precision_bf16": Mode("BFLOAT16", warning=WORST),
}
MODES_V2 = {
    "fp16": MODES["force_fp16"],
    "origin": MODES["must_keep_origin_dtype"],
    "cube_fp16in_fp32out": MODES["cube_fp16in_fp32out"],
    "mixed_float16": MODES["allow_mix_precision_fp16"],
    "mixed_bfloat16": MODES["allow_mix_precision_bf16"],
}


def choose_mode(settings: dict[str, str]) -> Mode:
    """Return the mode of the options; half precision where none is given, as for inference. Raises ConversionError."""
    if "precision_mode" in settings and "precision_mode_v2" in settings:
        raise ConversionError("--precision_mode and --precision_mode_v2 cannot be used together")
    name, modes = ("precision_mode_v2", MODES_V2) if "precision_mode_v2" in settings else ("precision_mode", MODES)
    value = settings.get(name, "force_fp16")
    if value not in modes:
        raise refuse_value(name, value, f"expected one of {', '.join(modes)}")
    return modes[value]


def round_graph(model: Any, mode: Mode, exempt: Iterable[str], types: dict[str, int]) -> list[str]:
    """Add the casts to the model; `exempt` are nodes that stay as they are, `types` are element types by tensor.

    Return warnings: what could not be rounded."""
    if not mode.format:
        return []
    names = {node.name for node in model.graph.node}
    for name in exempt:
        if name not in names:
            raise ConversionError(f"--keep_dtype: the model has no node {name}")
    rounding = Rounding(model, mode, set(exempt), types)
    rounding.round_weights()
    rounding.round_nodes()
    return [*([mode.warning] if mode.warning else []), *rounding.describe_gaps()]


class Rounding:
    """The walk over a graph that adds casts."""

    def __init__(self, model: Any, mode: Mode, exempt: set[str], types: dict[str, int]) -> None:
        import onnx

        self.onnx, self.model, self.mode, self.exempt, self.types = onnx, model, mode, exempt, types
        self.weights = {weight.name for weight in model.graph.initializer}
        added = (node for node in model.graph.node if node.name.startswith(ADDED))
        self.borders = {port.name for port in model.graph.input} | {name for node in added for name in node.output}
        self.rounded: dict[str, str] = {}
        self.nested: list[str] = []
        self.unknown: list[str] = []
        self.constants: list[str] = []
        self.overflowed: list[str] = []

    def is_chosen(self, node: Any) -> bool:
        """Return whether the node computes in the reduced format."""
        if node.name.startswith(ADDED) or node.name in self.exempt or node.op_type == "Constant":
            return False
        return node.op_type in MATRIX if self.mode.only_matrix else True

    def round_weights(self) -> None:
        """Round the weights of chosen nodes; of one that other nodes need as it is, a copy."""
        import numpy as np
        from onnx import numpy_helper

        users: dict[str, list[Any]] = {}
        for node in self.model.graph.node:
            for name in node.input:
                users.setdefault(name, []).append(node)
        for weight in list(self.model.graph.initializer):
            chosen = [node for node in users.get(weight.name, []) if self.is_chosen(node)]
            if weight.data_type != self.onnx.TensorProto.FLOAT or not chosen:
                continue
            values = numpy_helper.to_array(weight)
            with np.errstate(over="ignore"):
                rounded = round_array(values, self.mode.format)
            if np.isfinite(values).all() and not np.isfinite(rounded).all():
                self.overflowed.append(weight.name)
            if len(chosen) == len(users[weight.name]):
                weight.CopyFrom(numpy_helper.from_array(rounded, weight.name))
            else:
                self.use_copy(weight.name, rounded, chosen)

    def use_copy(self, name: str, rounded: Any, nodes: list[Any]) -> None:
        """Give the nodes a rounded copy of a weight; the others keep the weight."""
        from onnx import numpy_helper

        copy = f"{name}/rounded"
        self.weights.add(copy)
        self.model.graph.initializer.append(numpy_helper.from_array(rounded, copy))
        for node in nodes:
            for place, source in enumerate(node.input):
                if source == name:
                    node.input[place] = copy

    def round_nodes(self) -> None:
        """Put casts before and behind the chosen nodes."""
        nodes: list[Any] = []
        for node in self.model.graph.node:
            chosen = self.is_chosen(node)
            if node.op_type == "Constant" and self.types.get(node.output[0]) == self.onnx.TensorProto.FLOAT:
                self.constants.append(node.name)
            if any(attribute.HasField("g") for attribute in node.attribute):
                self.nested.append(node.name or node.op_type)
            if chosen:
                nodes += self.round_inputs(node)
            nodes.append(node)
            if chosen and self.mode.results:
                nodes += self.round_outputs(node)
        del self.model.graph.node[:]
        self.model.graph.node.extend(nodes)

    def round_inputs(self, node: Any) -> list[Any]:
        """Return casts of what comes in unrounded: the model's inputs and, of matrix operators alone, all."""
        added = []
        for place, name in enumerate(node.input):
            unrounded = name in self.borders or self.mode.only_matrix
            if name and name not in self.weights and unrounded and self.types.get(name) == self.onnx.TensorProto.FLOAT:
                if name not in self.rounded:
                    self.rounded[name] = f"{name}/rounded"
                    added += self.make_casts(name, self.rounded[name], f"{name}/in")
                node.input[place] = self.rounded[name]
        return added

    def round_outputs(self, node: Any) -> list[Any]:
        """Return casts of what goes out, and rename it before them."""
        added = []
        for place, name in enumerate(node.output):
            if name and name not in self.types:
                self.unknown.append(name)
            if name and self.types.get(name) == self.onnx.TensorProto.FLOAT:
                node.output[place] = f"{name}/exact"
                added += self.make_casts(f"{name}/exact", name, f"{name}/out")
        return added

    def make_casts(self, source: str, target: str, name: str) -> list[Any]:
        kind = getattr(self.onnx.TensorProto, self.mode.format)
        make, half = self.onnx.helper.make_node, f"{target}/half"
        float32 = self.onnx.TensorProto.FLOAT
        return [
            make("Cast", [source], [half], name=f"{ADDED}{name}/reduce", to=kind),
            make("Cast", [half], [target], name=f"{ADDED}{name}/restore", to=float32),
        ]

    def describe_gaps(self) -> list[str]:
        """Return what was not rounded, and weights that the format cannot hold."""
        parts = (
            ("nodes with graphs of their own are not rounded inside", self.nested),
            ("constants that are sparse or outputs are not rounded", self.constants),
            ("results of unknown type are not rounded", self.unknown),
            (f"weights beyond {self.mode.format.lower()} became infinite", self.overflowed),
        )
        return [f"{text}: {', '.join(names[:5])}{' …' if len(names) > 5 else ''}" for text, names in parts if names]


def round_array(values: Any, kind: str) -> Any:
    """Return float32 values as the format holds them, as float32."""
    import numpy as np

    if kind == "FLOAT16":
        return values.astype(np.float16).astype(np.float32)
    bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)
    return np.where(np.isfinite(values), rounded, values).astype(np.float32)
