"""A PyTorch model to ONNX: outputs are PyTorch's, what has no ONNX form is named with its line. 60 s."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.inference.export import _copy_model, export

for name in ("onnx", "onnxruntime", "onnxscript"):
    pytest.importorskip(name)

SOURCE = """
import torch
from torch import nn


class Complex(nn.Module):
    def forward(self, x):
        y = x * 2
        return torch.linalg.eigvals(y).real


class Exporting(nn.Module):
    def forward(self, x):
        return x * (1.5 if torch.compiler.is_exporting() else 1.0)


def good():
    return nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(72, 4))


def inputs():
    return [torch.randn(1, 1, 8, 8), torch.randn(1, 1, 8, 8)]


class Writing(nn.Module):
    def forward(self, x):
        x.add_(1)
        return x * 2


def writing():
    return Writing()


def squares():
    return [torch.randn(3, 3)]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("net")
    (place / "net.py").write_text(SOURCE, encoding="utf-8")
    return place


def test_outputs_are_pytorchs_and_the_batch_is_free(folder: Path) -> None:
    import onnxruntime

    report = export(f"{folder}/net.py:good", f"{folder}/net.py:inputs", out=folder / "net.onnx", dynamic=True)
    assert report.headline and report.headline.key == "INF601.agrees" and report.status <= Status.NOTE
    assert report.table and len(report.table.rows) == 2 and all(row[3] < 1e-5 for row in report.table.rows)  # type: ignore[operator]
    session = onnxruntime.InferenceSession(str(folder / "net.onnx"), providers=["CPUExecutionProvider"])
    assert isinstance(session.get_inputs()[0].shape[0], str), "the batch has a name, no number"


def test_an_operator_without_onnx_form_is_named_with_its_line(folder: Path) -> None:
    report = export(f"{folder}/net.py:Complex", f"{folder}/net.py:squares", out=folder / "none.onnx")
    found = report.headline
    assert found and found.key == "INF602.operator" and found.args["operator"] == "aten.linalg_eig"
    line = SOURCE.splitlines().index("        return torch.linalg.eigvals(y).real") + 1
    assert found.place and Path(found.place.path).name == "net.py" and found.place.line == line
    assert not (folder / "none.onnx").exists() and report.status is Status.FIX


def test_a_model_that_exports_as_another_parts(folder: Path) -> None:
    report = export(f"{folder}/net.py:Exporting", f"{folder}/net.py:squares", out=folder / "other.onnx")
    assert report.headline and report.headline.key == "INF601.parts"
    assert float(str(report.headline.args["error"])) == pytest.approx(0.5, rel=1e-3)


def test_what_cannot_be_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = f"{folder}/net.py:inputs"
    for model, given, out, said in (
        ("net", inputs, "a.onnx", "expected file.py:function"),
        (f"{folder}/absent.py:good", inputs, "a.onnx", "there is no such file"),
        (f"{folder}/net.py:good", inputs, f"{folder}/absent/a.onnx", "its folder does not exist"),
    ):
        with pytest.raises(WorkbookError) as raised:
            export(model, given, out=out)
        assert said in raised.value.message("en")
    find = importlib.util.find_spec
    monkeypatch.setattr(
        "ascend_workbook.inference.graphs.find_spec", lambda name: None if name == "onnx" else find(name)
    )
    with pytest.raises(WorkbookError) as raised:
        export(f"{folder}/net.py:good", inputs)
    assert raised.value.message("en") == "not installed: onnx" and "pip install -c held.txt" in raised.value.hint("en")


def test_weights_beside_two_models_are_their_own(tmp_path: Path) -> None:
    import numpy as np
    import onnx

    from tests.simulator.offline_models.networks import make_model

    source = tmp_path / "source"
    source.mkdir()
    for name, value in (("A", 1.0), ("B", 2.0)):
        node = onnx.helper.make_node("MatMul", ["x", "w"], ["y"])
        model = make_model([node], {"x": [1, 64]}, ["y"], {"w": np.full((64, 64), value)})
        (source / "model.onnx.data").unlink(missing_ok=True)
        path, location = str(source / "model.onnx"), "model.onnx.data"
        onnx.save(model, path, save_as_external_data=True, location=location, size_threshold=0)
        _copy_model(source, tmp_path / f"{name}.onnx")
    for name, value in (("A", 1.0), ("B", 2.0)):
        (weight,) = onnx.load(str(tmp_path / f"{name}.onnx")).graph.initializer
        assert (onnx.numpy_helper.to_array(weight) == value).all()


def test_what_a_model_writes_into_its_input_is_not_what_it_was_given(folder: Path) -> None:
    report = export(f"{folder}/net.py:writing", f"{folder}/net.py:squares", out=folder / "writing.onnx")
    assert report.headline and report.headline.key == "INF601.agrees"


def test_an_opset_that_the_file_does_not_have_is_refused(folder: Path) -> None:
    with pytest.raises(WorkbookError, match="opset"):
        export(f"{folder}/net.py:good", f"{folder}/net.py:inputs", out=folder / "old.onnx", opset=9)
    assert not (folder / "old.onnx").exists()
