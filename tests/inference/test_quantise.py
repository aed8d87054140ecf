"""Eight bits on the digits: what is lost, what is left out, what is refused. 20 s."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.inference.quantise import quantise
from tests.simulator.offline_models.networks import make_model

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A network of random features whose last layer was fitted to half of the digits, and the other half as data."""
    from sklearn.datasets import load_digits

    folder = tmp_path_factory.mktemp("digits")
    bunch = load_digits()
    x, y = (bunch.data / 16).astype(np.float32), bunch.target
    rng = np.random.default_rng(0)
    order = rng.permutation(len(y))
    train, rest = order[:900], order[900:]
    w1, b1 = rng.standard_normal((64, 256)) * 0.3, rng.standard_normal(256) * 0.1
    features = np.maximum(x[train] @ w1 + b1, 0)
    w2 = np.linalg.solve(features.T @ features + np.eye(256), features.T @ np.eye(10)[y[train]])
    nodes = [
        onnx.helper.make_node("Gemm", ["x", "w1", "b1"], ["h"], name="features"),
        onnx.helper.make_node("Relu", ["h"], ["r"], name="relu"),
        onnx.helper.make_node("Gemm", ["r", "w2"], ["y"], name="classes"),
    ]
    onnx.save(make_model(nodes, {"x": ["n", 64]}, ["y"], {"w1": w1, "b1": b1, "w2": w2}), str(folder / "net.onnx"))
    np.savez(folder / "digits.npz", x=x[rest], y=y[rest])
    return folder / "net.onnx", folder / "digits.npz"


def accuracy(path: Path, data: Any) -> float:
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    outputs = session.run(None, {"x": data["x"][128:]})[0]
    return float(100 * (outputs.argmax(1) == data["y"][128:]).mean())


def test_the_table_is_what_the_files_give(digits: tuple[Path, Path], tmp_path: Path) -> None:
    report = quantise(*digits, out=tmp_path)
    data = np.load(digits[1])
    assert report.table and report.status <= Status.NOTE and report.facts["left_out"] == []
    by_name = {row[0]: row for row in report.table.rows}
    assert list(by_name) == ["float32", "W8", "W8A8"]
    plain = accuracy(digits[0], data)
    assert plain > 93
    for name, path in report.facts["files"].items():
        assert by_name[name][1] == pytest.approx(accuracy(Path(path), data), abs=0.006)
        assert by_name[name][2] == pytest.approx(plain - accuracy(Path(path), data), abs=0.011)
    assert by_name["W8"][3] < by_name["float32"][3] / 2.5, "weights of a byte each"
    assert set(report.facts["costs"]) == {"features", "classes"}


def test_layers_are_left_out_until_the_target_holds(
    digits: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A layer whose weights span many sizes within a channel loses the small ones in eight bits."""
    model = onnx.load(str(digits[0]))
    weight = next(entry for entry in model.graph.initializer if entry.name == "w1")
    values = onnx.numpy_helper.to_array(weight).copy()
    values[0] *= 1e4  # of a pixel that is never set
    weight.CopyFrom(onnx.numpy_helper.from_array(values, "w1"))
    onnx.save(model, str(tmp_path / "wide.onnx"))
    data = np.load(digits[1])
    x = data["x"].copy()
    x[:, 0] = 0
    np.savez(tmp_path / "digits.npz", x=x, y=data["y"])
    report = quantise(tmp_path / "wide.onnx", tmp_path / "digits.npz", out=tmp_path / "out")
    assert report.table and report.facts["left_out"] == ["features"] and report.status <= Status.NOTE
    losses = report.table.column_values("accuracy_drop")
    assert float(str(losses[2])) > 0.5 >= float(str(losses[3]))


def test_a_target_that_cannot_hold_is_a_fix(digits: tuple[Path, Path], tmp_path: Path) -> None:
    report = quantise(*digits, out=tmp_path, target=-100.0)
    assert report.status is Status.FIX and report.headline and report.headline.key == "INF620.lost"


def test_data_that_does_not_fit_is_told(digits: tuple[Path, Path], tmp_path: Path) -> None:
    np.savez(tmp_path / "names.npz", a=np.zeros(3))
    np.savez(tmp_path / "few.npz", x=np.zeros((3, 64)), y=np.zeros(3))
    np.savez(tmp_path / "labels.npz", x=np.zeros((300, 64)), y=np.zeros(3))
    for name, said in (("names", "expected arrays x and y"), ("few", "has 3 inputs"), ("labels", "has 300 inputs")):
        with pytest.raises(WorkbookError) as raised:
            quantise(digits[0], tmp_path / f"{name}.npz", out=tmp_path / "out")
        assert said in raised.value.message("en")
