"""`export`: a PyTorch model to ONNX, and every output held against PyTorch's."""

from __future__ import annotations

import json
import math
import shutil
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Place, Status
from ascend_workbook.findings.report import Column, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.inference.graphs import Graph, first_line, read_arrays, read_graph, require_packages
from ascend_workbook.machine import bounded
from ascend_workbook.machine import device as devices
from ascend_workbook.machine.launch.enclosed import choose_enclosure, report_accounts
from ascend_workbook.machine.sandbox import enclose
from ascend_workbook.precision.tensors.metrics import measure_arrays

CHILD = Path(__file__).with_name("child") / "export_child.py"
VERIFY = Path(__file__).resolve().parents[1] / "precision" / "child" / "verify_child.py"
SUFFIXES = (".pt", ".pth")
#: Relative L2 error of an output that rounding explains: float32 sums in another order.
ALLOWED = 1e-4
#: Seconds that the model, its export and its inputs may take.
TIMEOUT_S = 1800.0
COLUMNS = ("input_number", "tensor", "shape", "relative_l2", "max_absolute", "allowed", "judgement")


@dataclass(frozen=True)
class Checked:
    """One output of one input: how far ONNX is from PyTorch; None where the shapes differ."""

    number: int
    name: str
    shape: tuple[int, ...]
    error: float | None
    largest: float | None

    @property
    def agrees(self) -> bool:
        return self.error is not None and self.error <= ALLOWED


def export(
    model: str,
    inputs: str,
    *,
    factory: str = "",
    out: str | Path = "model.onnx",
    dynamic: bool = False,
    opset: int = 0,
    limit: int = 4,
    network: bool = False,
    python: str = sys.executable,
) -> Report:
    """Exports a model to ONNX and holds every output against PyTorch's, run by onnxruntime on the CPU.

    `model` is `file.py:function` (gives a torch.nn.Module) or a checkpoint (.pt of a state_dict) for `factory`;
    `inputs` is `file.py:function` or a .pt: the first is what the model is exported with, the first `limit` are
    compared. `out` is the ONNX file, `dynamic` frees the batch, the first dimension of every input; `opset` is that of
    ONNX (0: torch's own choice). The model runs in a process of its own, without a network unless `network`. Fix where
    an output parts or an operator has no ONNX form, with the line that made it. Raises WorkbookError where onnx or
    onnxruntime is missing or the model cannot be made."""
    require_packages("onnx", "onnxruntime", "onnxscript")
    target = Path(out)
    if not target.absolute().parent.is_dir():
        raise WorkbookError("inference.no_folder", path=str(target))
    checkpoint = str(_find_file(model)) if model.endswith(SUFFIXES) else ""
    if checkpoint and not factory:
        raise WorkbookError("verify.no_factory", path=model)
    job: dict[str, object] = {
        "factory": _find_function(factory if checkpoint else model),
        "checkpoint": checkpoint,
        "inputs": str(_find_file(inputs)) if inputs.endswith(SUFFIXES) else _find_function(inputs),
        "dynamic": dynamic,
        "opset": opset,
        "limit": max(1, limit),
        "verify_child": str(VERIFY),
    }
    with tempfile.TemporaryDirectory(prefix="export-") as name:
        folder = Path(name).resolve()
        answer, guard = _run_child(job, folder, network, python)
        if "error" in answer:
            findings = [_describe_failure(answer), *guard]
            return Report("inference", "export", tuple(findings), facts={"out": ""}, tier="cpu", answers=("INF602",))
        if opset and answer["opset"] != opset:
            raise WorkbookError("inference.bad_opset", given=answer["opset"], asked=opset)
        graph = read_graph(folder / "model.onnx")
        checked = list(_check_outputs(graph, folder, answer["files"]))
        _copy_model(folder, target)
    return _report_export(graph, checked, guard, target, answer["opset"])


def _find_function(place: str) -> str:
    path, colon, name = place.rpartition(":")
    if not (colon and name.isidentifier() and path.endswith(".py")):
        raise WorkbookError("verify.target", given=place)
    return f"{_find_file(path)}:{name}"


def _find_file(path: str) -> Path:
    if not Path(path).is_file():
        raise WorkbookError("verify.missing", path=path)
    return Path(path).resolve()


def _run_child(
    job: dict[str, object], folder: Path, network: bool, python: str
) -> tuple[dict[str, Any], list[Finding]]:
    """Run the export in a process of its own; return its answer, and how the machine was guarded."""
    (folder / "job.json").write_text(json.dumps({**job, "folder": str(folder)}), encoding="utf-8")
    device = devices.find("cpu", python=python)
    enclosure = replace(choose_enclosure(device, network=network, python=python), writable=(folder,))
    with enclose([python, str(CHILD), str(folder / "job.json")], enclosure, Path.cwd()) as enclosed:
        done = bounded.run_bounded(enclosed.command, env=devices.child_environment("cpu"), timeout_s=TIMEOUT_S)
        account = enclosed.read_account()
    lines = done.stdout.splitlines()
    try:
        answer: dict[str, Any] = json.loads(lines[-1]) if lines else {}
    except ValueError:
        answer = {}
    if not answer or "start" in answer:
        last = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "-")
        raise WorkbookError("inference.no_model", factory=str(job["factory"]), error=answer.get("start") or last[:400])
    return answer, report_accounts([account] if account else [], ("INF609", "INF609"), network=network, copied=False)


def _describe_failure(answer: dict[str, Any]) -> Finding:
    place = Place(answer["path"], answer["line"]) if answer["path"] else None
    if answer["operator"]:
        args: dict[str, Scalar] = {"operator": answer["operator"]}
        return Finding("INF602", Status.FIX, "INF602.operator", args, place=place, weight=300)
    return Finding("INF602", Status.FIX, "INF602.program", {"error": answer["error"]}, place=place, weight=300)


def _check_outputs(graph: Graph, folder: Path, files: list[str]) -> list[Checked]:
    """Run the exported graph on every input; compare each output."""
    checked = []
    for number, file in enumerate(files):
        arrays = read_arrays(folder / file)
        sources = [arrays[f"in{at}"] for at in range(sum(name.startswith("in") for name in arrays))]
        feeds = dict(zip(graph.inputs, sources))
        values = graph.run(feeds)
        for at, name in enumerate(graph.outputs):
            wanted, result = arrays.get(f"out{at}"), values[name]
            if wanted is None or wanted.shape != result.shape:
                checked.append(Checked(number, name, result.shape, None, None))
                continue
            metrics = measure_arrays(result, wanted)
            error = math.inf if metrics.nonfinite_places else metrics.relative_l2
            checked.append(Checked(number, name, result.shape, error, metrics.max_absolute))
    return checked


def _copy_model(folder: Path, target: Path) -> None:
    """Copy the model, and the weights that lie beside a large one, to where they are wanted."""
    try:
        if (folder / "model.onnx.data").exists():
            _name_weights(folder / "model.onnx", f"{target.name}.data")
        for path in sorted(folder.glob("model.onnx*"), reverse=True):
            name = path.name.replace("model.onnx", target.name, 1)
            part = target.with_name(f".{name}.part")
            shutil.copyfile(path, part)
            part.replace(target.with_name(name))
    except OSError as error:
        raise WorkbookError("inference.unwritable", path=str(target), error=first_line(error)) from None


def _name_weights(path: Path, location: str) -> None:
    """Let the model take its weights from the file that they are copied to."""
    import onnx

    model = onnx.load(str(path), load_external_data=False)
    for weight in model.graph.initializer:
        for entry in weight.external_data:
            if entry.key == "location":
                entry.value = location
    path.write_bytes(model.SerializeToString())


def _report_export(graph: Graph, checked: list[Checked], guard: list[Finding], out: Path, opset: int) -> Report:
    apart = [output for output in checked if not output.agrees]
    nodes = graph.list_nodes()
    args: dict[str, Scalar] = {"outputs": len(checked), "allowed": ALLOWED}
    if apart:
        worst = max(apart, key=lambda output: math.inf if output.error is None else output.error)
        args |= {"apart": len(apart), "name": worst.name, "number": worst.number}
        args["error"] = Sentence("inference.shapes_differ") if worst.error is None else f"{worst.error:.3g}"
        first = Finding("INF601", Status.FIX, "INF601.parts", args, weight=300)
    elif not checked:
        first = Finding("INF601", Status.NOT_LOOKED, "INF601.none", {}, weight=300)
    else:
        args["error"] = f"{max(output.error or 0.0 for output in checked):.3g}"
        first = Finding("INF601", Status.GOOD, "INF601.agrees", args, weight=300)
    size = f"{len(graph.model.SerializeToString()) / 2**20:.1f}"
    about: dict[str, Scalar] = {"path": str(out), "nodes": len(nodes), "opset": opset, "size": size}
    free = [name for name, port in graph.inputs.items() if any(d.dim_param for d in port.type.tensor_type.shape.dim)]
    about["free"] = list(free) if free else Sentence("inference.fixed_shapes")
    findings = [first, Finding("INF603", Status.NOTE, "INF603.written", about, weight=200), *guard]
    rows = [
        (
            output.number,
            output.name,
            list(output.shape),
            output.error,
            output.largest,
            ALLOWED,
            Sentence("inference.agrees") if output.agrees else Sentence("inference.parts"),
        )
        for output in checked
    ]
    facts = {"out": str(out), "opset": opset, "nodes": len(nodes), "operators": sorted({n.operator for n in nodes})}
    return Report(
        "inference",
        "export",
        tuple(findings),
        Table(tuple(map(Column, COLUMNS)), tuple(rows)),
        facts=facts,
        tier="cpu",
        answers=("INF601",),
    )
