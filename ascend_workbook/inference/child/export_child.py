"""Child process: `export_child.py JOB`. Exports a model to ONNX, and keeps what PyTorch makes of its inputs.

Started by path; imports nothing of ours but verify_child.py, whose place JOB tells. JOB is a JSON file: {"factory",
"checkpoint", "inputs", "dynamic", "opset", "limit", "folder", "verify_child"}. Its last line on the standard output is
JSON: {"files", "names", "opset"}, or {"error", "operator", "path", "line"}. Arrays are .npz files without pickles."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch

FRAME = re.compile(r'File "([^"]+)", line (\d+)')
OPERATOR = re.compile(r"No ONNX function found for <OpOverload\(op='([^']+)'")
NODE = re.compile(r"Error when translating node %(\w+)")


class NoExport(Exception):
    """The model cannot be exported: what stopped it, and where."""

    def __init__(self, error: str, operator: str = "", place: tuple[str, int] = ("", 0)) -> None:
        super().__init__(error)
        self.facts = {"error": error, "operator": operator, "path": place[0], "line": place[1]}


def load(path: str, name: str) -> Any:
    """A Python file as a module."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def own_line(text: str) -> tuple[str, int]:
    """The innermost line that is in no installed package."""
    own = [frame for frame in FRAME.findall(text) if "-packages" not in frame[0] and "/lib/python" not in frame[0]]
    return (own[-1][0], int(own[-1][1])) if own else ("", 0)


def chain(error: BaseException | None) -> str:
    """The messages of an error and of what it came from."""
    texts = []
    while error is not None:
        texts.append(str(error))
        error = error.__cause__ or error.__context__
    return "\n".join(texts)


def split_call(item: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call: a tensor, a tuple, or a dictionary of named ones."""
    if isinstance(item, dict):
        return (), item
    return (tuple(item), {}) if isinstance(item, (tuple, list)) else ((item,), {})


def twice(value: Any) -> Any:
    """A tensor with its first dimension at least 2: a batch of one would be fixed."""
    return (
        value
        if not isinstance(value, torch.Tensor) or not value.dim() or len(value) > 1
        else value.repeat_interleave(2, 0)
    )


def free_batch(value: Any) -> Any:
    """What tells torch.export that the first dimension is free."""
    return {0: torch.export.Dim("batch")} if isinstance(value, torch.Tensor) and value.dim() else None


def make_program(model: Any, args: Any, kwargs: Any, dynamic: bool) -> Any:
    """The model as a program. Raises NoExport."""
    shapes = None
    if dynamic:
        args, kwargs = tuple(map(twice, args)), {name: twice(value) for name, value in kwargs.items()}
        shapes = {name: free_batch(value) for name, value in kwargs.items()} if kwargs else tuple(map(free_batch, args))
    try:
        return torch.export.export(model, args, kwargs, dynamic_shapes=shapes, strict=False)
    except Exception as error:
        text = chain(error)
        first = next((line.strip() for line in text.splitlines() if line.strip()), type(error).__name__)
        raise NoExport(f"{type(error).__name__}: {first}"[:400], "", own_line(text)) from error


def convert(program: Any, opset: int) -> Any:
    """The program as ONNX. Raises NoExport with the operator and the line that made it."""
    try:
        return torch.onnx.export(program, dynamo=True, verbose=False, opset_version=opset or None)
    except Exception as error:
        text = chain(error)
        operator, node = OPERATOR.search(text), NODE.search(text)
        if operator is None:
            first = next((line.strip() for line in text.splitlines() if line.strip()), type(error).__name__)
            raise NoExport(f"{type(error).__name__}: {first}"[:400]) from error
        place = find_node(program, node[1] if node else "", operator[1])
        raise NoExport(operator[0][:400], operator[1], place) from error


def find_node(program: Any, name: str, operator: str) -> tuple[str, int]:
    """The line that made a node of the program, as it is or taken apart into simpler operators."""
    for graph in (program.graph, program.run_decompositions().graph):
        for node in graph.nodes:
            if node.name == name or str(node.target).startswith(f"{operator}."):
                return own_line(node.meta.get("stack_trace") or "")
    return "", 0


def flatten(value: Any) -> list[Any]:
    """The tensors in a value, in order."""
    if isinstance(value, torch.Tensor):
        return [value.detach().cpu().numpy()]
    if isinstance(value, dict):
        value = list(value.values())
    return [array for part in value for array in flatten(part)] if isinstance(value, (list, tuple)) else []


def main(path: str) -> None:
    job = json.loads(Path(path).read_text(encoding="utf-8"))
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the model prints is no answer
    verify = load(job["verify_child"], "_workbook_verify")
    try:
        facts = export(job, verify)
    except NoExport as error:
        facts = error.facts
    except Exception as error:  # noqa: BLE001 - whatever a factory raises is told
        first = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
        facts = {"start": first if isinstance(error, verify.CannotStart) else f"{type(error).__name__}: {first}"[:400]}
    print(json.dumps(facts), file=channel, flush=True)


def export(job: dict[str, Any], verify: Any) -> dict[str, Any]:
    folder = Path(job["folder"])
    torch.manual_seed(0)
    model = verify.call(job["factory"])
    if not isinstance(model, torch.nn.Module):
        raise verify.CannotStart(f"{job['factory']} gives a {type(model).__name__}, not a torch.nn.Module")
    if job["checkpoint"]:
        content = verify.read(job["checkpoint"])
        model.load_state_dict(
            next((content[key] for key in verify.PARTS if isinstance(content.get(key), dict)), content)
        )
    model.eval()
    source = verify.read(job["inputs"]) if job["inputs"].endswith((".pt", ".pth")) else verify.call(job["inputs"])
    items = [source] if isinstance(source, torch.Tensor) else [item for item, _ in zip(source, range(job["limit"]))]
    if not items:
        raise verify.CannotStart(f"{job['inputs']} gives no input")
    program = make_program(model, *split_call(items[0]), job["dynamic"])
    converted = convert(program, job["opset"])
    converted.save(str(folder / "model.onnx"))
    files = []
    for number, item in enumerate(items):
        args, kwargs = split_call(item)
        # a copy: a model may write into what it is given
        inputs = [array.copy() for array in flatten([*args, *kwargs.values()])]
        with torch.no_grad():
            outputs = flatten(model(*args, **kwargs))
        arrays = {f"in{at}": array for at, array in enumerate(inputs)}
        np.savez(folder / f"{number}.npz", **arrays, **{f"out{at}": array for at, array in enumerate(outputs)})
        files.append(f"{number}.npz")
    return {"files": files, "opset": int(converted.model.opset_imports[""])}


if __name__ == "__main__":
    sys.path = [entry for entry in sys.path if entry != str(Path(__file__).parent)]
    main(sys.argv[1])
