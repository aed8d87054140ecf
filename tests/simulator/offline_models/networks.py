"""Small ONNX networks for the tests of offline models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np


def make_model(nodes: list[Any], inputs: dict[str, list[Any]], outputs: list[str], weights: dict[str, Any]) -> Any:
    """Return a model of opset 17: inputs by name with their dimensions, weights as float32 or int64."""
    from onnx import TensorProto, helper, numpy_helper, shape_inference

    arrays = {name: np.asarray(value) for name, value in weights.items()}
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name, dims in inputs.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [
            numpy_helper.from_array(array.astype(np.float32) if array.dtype.kind == "f" else array, name)
            for name, array in arrays.items()
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return shape_inference.infer_shapes(model)


def make_convolution(path: Path, scale: float = 4.0, batch: Any = "n") -> Path:
    """Write a network whose third layer multiplies by `scale`, and the fourth takes it back."""
    from onnx import helper, save

    rng = np.random.default_rng(0)
    weights = {"w1": rng.standard_normal((4, 1, 3, 3)) * 0.3, "up": np.array(scale), "down": np.array(1 / scale)}
    weights |= {"w2": rng.standard_normal((256, 10)) * 0.1, "b2": rng.standard_normal(10) * 0.1}
    make = helper.make_node
    nodes = [
        make("Conv", ["x", "w1"], ["c"], name="conv", pads=[1, 1, 1, 1]),
        make("Relu", ["c"], ["r"], name="relu"),
        make("Mul", ["r", "up"], ["u"], name="scale_up"),
        make("Mul", ["u", "down"], ["d"], name="scale_down"),
        make("Flatten", ["d"], ["f"], name="flat"),
        make("Gemm", ["f", "w2", "b2"], ["y"], name="fc"),
    ]
    save(make_model(nodes, {"x": [batch, 1, 8, 8]}, ["y"], weights), str(path))
    return path


def make_identity(path: Path, channels: int, height: int, width: int) -> Path:
    """Write a network that gives out the image it takes."""
    from onnx import helper, save

    nodes = [helper.make_node("Identity", ["image"], ["out"], name="same")]
    save(make_model(nodes, {"image": [1, channels, height, width]}, ["out"], {}), str(path))
    return path
