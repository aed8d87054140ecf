"""Running a graph with onnxruntime: as it is, on the CPU, one thread."""

from __future__ import annotations

from typing import Any

from .container import OfflineModel, Port
from .errors import ConversionError
from .graph import first_line

#: The line that installs what offline models need beside what is here.
INSTALL = (
    "python -m pip list --format=freeze | grep -i ^torch > held.txt; "
    "python -m pip install -c held.txt 'onnx>=1.16,<2' 'onnxruntime>=1.17,<2'"
)


class NoRuntime(Exception):
    """onnx or onnxruntime is not here; the text has the line that installs them."""


def import_runtime() -> Any:
    """Return onnxruntime. Raises NoRuntime."""
    try:
        import onnx  # noqa: F401
        import onnxruntime
    except ImportError as error:
        raise NoRuntime(f"offline models need onnx and onnxruntime ({error}): {INSTALL}") from None
    return onnxruntime


def open_session(graph: bytes) -> Any:
    """Return a session that runs the nodes as they are: no casts are merged, none is moved. Raises ConversionError."""
    runtime = import_runtime()
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        return runtime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # noqa: BLE001 - onnxruntime's errors share no public base
        raise ConversionError(f"the graph cannot be run here: {first_line(error)}") from None


def fill_batch(shape: list[int], batch: int) -> list[int]:
    """Return the shape with the batch in the place of its gear."""
    return [batch if size == -1 else size for size in shape]


def try_gears(session: Any, inputs: list[Port], outputs: list[str], gears: list[int]) -> list[Port]:
    """Run zeros through every gear; return the outputs, their dimensions of a gear as -1. Raises ConversionError."""
    import numpy as np

    results: dict[int, list[Any]] = {}
    for batch in gears or [1]:
        feeds = {port.name: np.zeros(fill_batch(port.shape, batch), port.dtype) for port in inputs}
        try:
            results[batch] = session.run(outputs, feeds)
        except Exception as error:  # noqa: BLE001 - onnxruntime's errors share no public base
            gear = f" with batch {batch}" if gears else ""
            raise ConversionError(f"the graph cannot be run{gear}: {first_line(error)}") from None
    ports = []
    for at, name in enumerate(outputs):
        shapes = [list(result[at].shape) for result in results.values()]
        shape = [sizes[0] if len(set(sizes)) == 1 else -1 for sizes in zip(*shapes)]
        for place, size in enumerate(shape):
            if size == -1 and [sizes[place] for sizes in shapes] != list(results):
                raise ConversionError(f"dimension {place} of output {name} is not the batch: {shapes}")
        ports.append(Port(name, str(next(iter(results.values()))[at].dtype), shape))
    return ports


def run_model(session: Any, model: OfflineModel, feeds: dict[str, Any]) -> list[Any]:
    """Return the outputs in their order."""
    return list(session.run([port.name for port in model.about.outputs], feeds))
