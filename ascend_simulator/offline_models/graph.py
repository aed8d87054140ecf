"""Shapes, inputs and outputs of an ONNX model, as the options ask for them."""

from __future__ import annotations

import re
from typing import Any

from .container import Port
from .errors import ConversionError, refuse_value, report_missing

#: The dimension that stands for a gear, by name in the graph.
BATCH = "gear_batch"
#: A conversion runs each gear once; CANN's page of --dynamic_batch_size allows 2 to 100 gears.
MOST_GEARS = 100


def load_graph(path: str) -> Any:
    """Load an ONNX model with its external data. Raises ConversionError."""
    import onnx

    try:
        model = onnx.load(path)
        onnx.checker.check_model(model)
    except (OSError, ValueError, onnx.checker.ValidationError) as error:
        raise refuse_value("model", path, f"it cannot be read ({first_line(error)})") from None
    except Exception as error:  # noqa: BLE001 - protobuf's own DecodeError is no public name
        raise refuse_value("model", path, f"it is no ONNX model ({first_line(error)})") from None
    weights = {weight.name for weight in model.graph.initializer}
    own = [port for port in model.graph.input if port.name not in weights]
    del model.graph.input[:]
    model.graph.input.extend(own)
    for number, node in enumerate(model.graph.node):
        node.name = node.name or f"{node.op_type}_{number}"
    turn_constants_into_weights(model.graph)
    return model


def turn_constants_into_weights(graph: Any) -> None:
    """Make initializers of the nodes `Constant`, so that both kinds of weights are rounded alike."""
    given_out = {port.name for port in graph.output}
    nodes = []
    for node in graph.node:
        weight = read_constant(node) if node.op_type == "Constant" and node.output[0] not in given_out else None
        if weight is None:
            nodes.append(node)
        else:
            weight.name = node.output[0]
            graph.initializer.append(weight)
    del graph.node[:]
    graph.node.extend(nodes)


def read_constant(node: Any) -> Any:
    """Return the tensor of a node `Constant`; None for texts and sparse ones."""
    import onnx

    (attribute,) = node.attribute
    if attribute.name == "value":
        tensor = onnx.TensorProto()
        tensor.CopyFrom(attribute.t)
        return tensor
    kinds = {"value_float": onnx.TensorProto.FLOAT, "value_int": onnx.TensorProto.INT64}
    kind = kinds.get(attribute.name.removesuffix("s"))
    if kind is None:
        return None
    value = onnx.helper.get_attribute_value(attribute)
    values = value if attribute.name.endswith("s") else [value]
    return onnx.helper.make_tensor("", kind, [len(values)] if attribute.name.endswith("s") else [], values)


def first_line(error: BaseException) -> str:
    """Return the first line of an error that says something."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)[:300]


def parse_gears(text: str) -> list[int]:
    """Parse `1,2,4`. Raises ConversionError."""
    try:
        gears = [int(part) for part in text.split(",")]
    except ValueError:
        raise refuse_value("dynamic_batch_size", text, "expected whole numbers between commas") from None
    if not 2 <= len(set(gears)) <= MOST_GEARS or len(set(gears)) != len(gears) or min(gears) < 1:
        reason = f"expected 2 to {MOST_GEARS} different numbers of 1 or more"
        raise refuse_value("dynamic_batch_size", text, reason)
    return gears


def parse_shapes(text: str) -> dict[str, list[int]]:
    """Parse `a:1,3,224,224;b:-1,4`; a name may hold colons. Raises ConversionError."""
    shapes: dict[str, list[int]] = {}
    for part in filter(None, text.strip().strip("\"'").split(";")):
        name, colon, numbers = part.rpartition(":")
        if not colon or not re.fullmatch(r"\s*-?\d+(\s*,\s*-?\d+)*\s*", numbers):
            raise refuse_value("input_shape", text, f"{part!r} is not name:n,c,h,w with whole numbers")
        shapes[name.strip()] = [int(number) for number in numbers.split(",")]
    return shapes


def set_shapes(model: Any, settings: dict[str, str]) -> list[int]:
    """Give every input its shape; return the gears of the batch. Raises ConversionError."""
    shapes = parse_shapes(settings.get("input_shape", ""))
    gears = parse_gears(settings["dynamic_batch_size"]) if "dynamic_batch_size" in settings else []
    ports = {port.name: port for port in model.graph.input}
    for name in shapes:
        if name not in ports:
            reason = f"the model has no input {name}; it has {', '.join(ports)}"
            raise refuse_value("input_shape", settings["input_shape"], reason)
    if gears and not any(shape and shape[0] == -1 for shape in shapes.values()):
        raise refuse_value("input_shape", settings.get("input_shape", ""), "no input has the batch -1 for the gears")
    for name, port in ports.items():
        set_shape(port, shapes.get(name), bool(gears), settings)
    del model.graph.value_info[:]
    for port in model.graph.output:
        port.type.tensor_type.ClearField("shape")
    return gears


def set_shape(port: Any, shape: list[int] | None, has_gears: bool, settings: dict[str, str]) -> None:
    """Set the dimensions of an input, or see that it has some. Raises ConversionError."""
    dims = port.type.tensor_type.shape.dim
    if shape is None:
        if all(dim.HasField("dim_value") and dim.dim_value > 0 for dim in dims):
            return
        raise (
            report_missing("input_shape")
            if "input_shape" not in settings
            else refuse_value(
                "input_shape",
                settings["input_shape"],
                f"input {port.name} has dimensions that are not fixed and no shape here",
            )
        )
    text = settings["input_shape"]
    if dims and len(dims) != len(shape):
        raise refuse_value(
            "input_shape", text, f"input {port.name} has {len(dims)} dimensions, {len(shape)} were given"
        )
    while len(dims) < len(shape):
        dims.add()
    for place, (dim, size) in enumerate(zip(dims, shape)):
        if dim.HasField("dim_value") and dim.dim_value > 0 and size not in (dim.dim_value, -1):
            reason = f"dimension {place} of input {port.name} is {dim.dim_value} in the model"
            raise refuse_value("input_shape", text, reason)
        if size == -1 and not (has_gears and place == 0):
            reason = f"dimension {place} of input {port.name} is -1: gears are run here for the batch, the first, alone"
            raise refuse_value("input_shape", text, reason)
        if size < 1 and size != -1:
            raise refuse_value("input_shape", text, f"dimension {place} of input {port.name} is {size}")
        dim.Clear()
        if size == -1:
            dim.dim_param = BATCH
        else:
            dim.dim_value = size


def infer_types(model: Any) -> dict[str, int]:
    """Return the element type of every tensor whose type is known."""
    import onnx

    try:
        inferred = onnx.shape_inference.infer_shapes(model, strict_mode=False, data_prop=True)
    except Exception as error:  # noqa: BLE001 - onnx raises its own InferenceError, and RuntimeError
        raise ConversionError(f"shapes cannot be inferred: {first_line(error)}") from None
    graph = inferred.graph
    ports = (*graph.input, *graph.output, *graph.value_info)
    types = {port.name: port.type.tensor_type.elem_type for port in ports if port.type.HasField("tensor_type")}
    return {**types, **{weight.name: weight.data_type for weight in graph.initializer}}


def choose_outputs(model: Any, text: str, types: dict[str, int]) -> None:
    """Make the named results the model's outputs: `node:0;other:1`. Raises ConversionError."""
    import onnx

    nodes = {node.name: node for node in model.graph.node}
    names = []
    for part in filter(None, text.strip().strip("\"'").split(";")):
        name, colon, number = part.rpartition(":")
        node = nodes.get(name)
        if not colon or not number.isdigit():
            raise refuse_value("out_nodes", text, f"{part!r} is not node:number")
        if node is None or int(number) >= len(node.output):
            raise refuse_value("out_nodes", text, f"the model has no node {name} with output {number}")
        names.append(node.output[int(number)])
    del model.graph.output[:]
    for name in dict.fromkeys(names):
        value = onnx.helper.make_tensor_value_info(name, types.get(name, onnx.TensorProto.FLOAT), None)
        model.graph.output.append(value)


OUTPUT_TYPES = {"FP32": "FLOAT", "FP16": "FLOAT16", "UINT8": "UINT8"}


def locate_outputs(model: Any) -> dict[str, str]:
    """Return `node:0` for the name of every output."""
    producers = {name: f"{node.name}:{at}" for node in model.graph.node for at, name in enumerate(node.output)}
    return {port.name: producers.get(port.name, "") for port in model.graph.output}


def cast_outputs(model: Any, text: str, places: dict[str, str], types: dict[str, int]) -> None:
    """Give the outputs, which stand at `places`, their type: `FP16`, or `node:0:FP16;…`. Raises ConversionError."""
    by_place = {}
    for part in filter(None, text.strip().strip("\"'").split(";")):
        place, _, kind = part.rpartition(":")
        if kind not in OUTPUT_TYPES:
            raise refuse_value("output_type", text, f"{kind}: expected one of {', '.join(OUTPUT_TYPES)}")
        by_place[place] = kind
    if absent := [place for place in by_place if place not in ("", *places.values())]:
        raise refuse_value("output_type", text, f"{absent[0]} is no output of the model: {', '.join(places.values())}")
    for port in model.graph.output:
        if kind := by_place.get(places[port.name], by_place.get("", "")):
            cast_output(model, port, OUTPUT_TYPES[kind], types)


def cast_output(model: Any, port: Any, kind: str, types: dict[str, int]) -> None:
    import onnx

    wanted = getattr(onnx.TensorProto, kind)
    if types.get(port.name) == wanted:
        return
    name = f"atc/{port.name}/{kind.lower()}"
    model.graph.node.append(onnx.helper.make_node("Cast", [port.name], [name], name=name, to=wanted))
    port.name = name
    port.type.tensor_type.elem_type = wanted


def halve_inputs(model: Any, text: str, taken: list[str]) -> None:
    """Make the named inputs float16: `a;b`. Raises ConversionError."""
    import onnx

    ports = {port.name: port for port in model.graph.input}
    for name in filter(None, text.strip().strip("\"'").split(";")):
        port = ports.get(name)
        if port is None or name in taken:
            reason = f"input {name} is one of --insert_op_conf" if name in taken else f"the model has no input {name}"
            raise refuse_value("input_fp16_nodes", text, reason)
        if port.type.tensor_type.elem_type != onnx.TensorProto.FLOAT:
            raise refuse_value("input_fp16_nodes", text, f"input {name} is not float32")
        port.type.tensor_type.elem_type = onnx.TensorProto.FLOAT16
        result = f"atc/{name}/float32"
        for node in model.graph.node:
            for place, used in enumerate(node.input):
                if used == name:
                    node.input[place] = result
        cast = onnx.helper.make_node("Cast", [name], [result], name=result, to=onnx.TensorProto.FLOAT)
        model.graph.node.insert(0, cast)


def describe_inputs(model: Any, layout: str, pictures: list[str]) -> list[Port]:
    """Return the model's inputs as their client sees them; images of `pictures` are bytes in NHWC."""
    from onnx import helper

    ports = []
    for port in model.graph.input:
        tensor = port.type.tensor_type
        shape = [dim.dim_value if dim.HasField("dim_value") else -1 for dim in tensor.shape.dim]
        form = "NHWC" if port.name in pictures else layout if len(shape) == 4 else "ND"
        ports.append(Port(port.name, str(helper.tensor_dtype_to_np_dtype(tensor.elem_type)), shape, form))
    return ports
