"""ONNX graphs: read, run with every tensor kept, and each node run again alone on given inputs."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ascend_workbook.findings.errors import WorkbookError, explain_os_error, install_line
from ascend_workbook.findings.finding import Place

#: What the stage needs beside the workbook, as pip takes it.
PACKAGES = {"onnx": "onnx>=1.16,<2", "onnxruntime": "onnxruntime>=1.17,<2", "onnxscript": "onnxscript>=0.1,<1"}
#: A line of the stack that torch.onnx keeps with each node.
FRAME = re.compile(r'File "([^"]+)", line (\d+)')
#: Folders whose lines are no user's.
INSTALLED = ("site-packages", "dist-packages")
Arrays = Mapping[str, Any]


def require_packages(*names: str) -> None:
    """Raise WorkbookError with the line that installs what is missing."""
    if missing := [name for name in names if find_spec(name) is None]:
        command = install_line(*(PACKAGES[name] for name in missing), python=sys.executable)
        raise WorkbookError("inference.missing", names=list(missing), command=command)


@dataclass(frozen=True)
class Node:
    """A node of a graph: its name, operator, inputs that no weight is, outputs, and the script's line that made it."""

    name: str
    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    place: Place | None


def find_place(text: str) -> Place | None:
    """Return the innermost line of a kept stack that is the user's own; None where there is none."""
    own = [match for match in FRAME.findall(text) if not any(folder in match[0] for folder in INSTALLED)]
    return Place(own[-1][0], int(own[-1][1])) if own else None


class Graph:
    """An ONNX model that can be run whole, or node by node."""

    def __init__(self, model: Any, path: str) -> None:
        self.model, self.path = model, path
        self.weights = {weight.name for weight in model.graph.initializer}
        for number, node in enumerate(model.graph.node):
            node.name = node.name or f"{node.op_type}_{number}"

    @property
    def inputs(self) -> dict[str, Any]:
        """The inputs by name, weights left out."""
        return {port.name: port for port in self.model.graph.input if port.name not in self.weights}

    @property
    def outputs(self) -> list[str]:
        return [port.name for port in self.model.graph.output]

    def list_nodes(self) -> list[Node]:
        """Return the nodes in the graph's order."""
        nodes = []
        for node in self.model.graph.node:
            stack = next((prop.value for prop in node.metadata_props if prop.key.endswith("stack_trace")), "")
            inputs = tuple(name for name in node.input if name and name not in self.weights)
            nodes.append(Node(node.name, node.op_type, inputs, tuple(filter(None, node.output)), find_place(stack)))
        return nodes

    def list_constants(self) -> list[str]:
        """Return the names of what Constant nodes give."""
        return [name for node in self.model.graph.node if node.op_type == "Constant" for name in node.output]

    def run(self, feeds: Arrays) -> dict[str, Any]:
        """Return every tensor by name, but those of types that NumPy has not. Raises WorkbookError."""
        import onnx

        def is_foreign(node: Any) -> bool:
            return bool(node.op_type == "Cast" and node.attribute[0].i == onnx.TensorProto.BFLOAT16)

        whole = onnx.ModelProto()
        whole.CopyFrom(self.model)
        known = {port.name for port in whole.graph.output}
        nodes = [node for node in whole.graph.node if not is_foreign(node)]
        names = [name for node in nodes for name in node.output if name and name not in known]
        whole.graph.output.extend(onnx.ValueInfoProto(name=name) for name in dict.fromkeys(names))
        session = open_session(whole, self.path)
        wanted = [port.name for port in whole.graph.output]
        return {**feeds, **dict(zip(wanted, run_session(session, wanted, feeds, self.path)))}

    def replay(self, values: Arrays) -> dict[str, Any]:
        """Return what each node gives out for the inputs in `values`, each node alone; nodes whose inputs are not all
        there, or that hold graphs of their own, are left out."""
        import onnx

        alone = onnx.ModelProto()
        alone.CopyFrom(self.model)
        del alone.graph.node[:], alone.graph.input[:], alone.graph.output[:], alone.graph.value_info[:]
        feeds: dict[str, Any] = {}
        for node in self.model.graph.node:
            needed = [name for name in node.input if name and name not in self.weights]
            nested = any(attribute.HasField("g") for attribute in node.attribute)
            if nested or any(name not in values for name in needed):
                continue
            added = alone.graph.node.add()
            added.CopyFrom(node)
            feeds.update({name: values[name] for name in needed})
            for at, name in enumerate(node.output):
                added.output[at] = f"{name}/replayed" if name else ""
                if name:
                    alone.graph.output.append(onnx.ValueInfoProto(name=f"{name}/replayed"))
        for name, array in feeds.items():
            kind = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
            alone.graph.input.append(onnx.helper.make_tensor_value_info(name, kind, array.shape))
        session = open_session(alone, self.path)
        wanted = [port.name for port in alone.graph.output]
        results = run_session(session, wanted, feeds, self.path)
        return {name[: -len("/replayed")]: result for name, result in zip(wanted, results)}


def read_graph(path: str | Path) -> Graph:
    """Read an ONNX file. Raises WorkbookError."""
    require_packages("onnx", "onnxruntime")
    import onnx

    try:
        model = onnx.load(str(path))
        onnx.checker.check_model(str(path))  # by path: beyond 2 GiB a model is no message
    except OSError as error:
        raise WorkbookError("inference.unreadable", path=str(path), error=explain_os_error(error)) from None
    except Exception as error:  # noqa: BLE001 - protobuf's DecodeError and onnx's ValidationError share no base
        raise WorkbookError("inference.unreadable", path=str(path), error=first_line(error)) from None
    return Graph(model, str(path))


def first_line(error: BaseException) -> str:
    """Return the first line of an error that says something."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)[:300]


def open_session(graph: Any, name: str, *, optimised: bool = False) -> Any:
    """Return a session of a model or a file, on the CPU and one thread; nodes run as they are unless `optimised`.

    Raises WorkbookError."""
    runtime = import_module("onnxruntime")
    options = runtime.SessionOptions()
    if not optimised:
        options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        content = graph if isinstance(graph, str) else graph.SerializeToString()
        return runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # noqa: BLE001 - onnxruntime's errors share no public base
        raise WorkbookError("inference.cannot_run", path=name, error=first_line(error)) from None


def run_session(session: Any, wanted: list[str], feeds: Arrays, name: str) -> list[Any]:
    """Return the wanted tensors. Raises WorkbookError."""
    try:
        return list(session.run(wanted, dict(feeds)))
    except Exception as error:  # noqa: BLE001 - onnxruntime's errors share no public base
        raise WorkbookError("inference.cannot_run", path=name, error=first_line(error)) from None


def read_arrays(path: str | Path) -> dict[str, Any]:
    """Read the arrays of an .npz file, without pickles. Raises WorkbookError."""
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except OSError as error:
        raise WorkbookError("inference.unreadable", path=str(path), error=explain_os_error(error)) from None
    except Exception as error:  # noqa: BLE001 - zipfile, numpy and zlib raise their own
        raise WorkbookError("inference.unreadable", path=str(path), error=first_line(error)) from None
