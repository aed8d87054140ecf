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


def test_labels_of_a_column_are_those_of_a_row(digits: tuple[Path, Path], tmp_path: Path) -> None:
    data = np.load(digits[1])
    np.savez(tmp_path / "column.npz", x=data["x"], y=data["y"][:, None])
    report = quantise(digits[0], tmp_path / "column.npz", out=tmp_path / "out")
    assert report.facts["accuracy"]["net"] == pytest.approx(accuracy(digits[0], data))


def test_a_model_is_never_replaced_by_what_is_made_of_it(digits: tuple[Path, Path], tmp_path: Path) -> None:
    for name in ("w8.onnx", "w8a8.onnx", "w8a8_mixed.onnx"):
        (tmp_path / name).write_bytes(digits[0].read_bytes())
        with pytest.raises(WorkbookError, match="would be written"):
            quantise(tmp_path / name, digits[1], out=tmp_path)
        assert (tmp_path / name).read_bytes() == digits[0].read_bytes()
        (tmp_path / name).unlink()


def test_layers_without_a_name_are_left_out_too(digits: tuple[Path, Path], tmp_path: Path) -> None:
    model = onnx.load(str(digits[0]))
    for node in model.graph.node:
        node.name = ""
    onnx.save(model, str(tmp_path / "nameless.onnx"))
    report = quantise(tmp_path / "nameless.onnx", digits[1], out=tmp_path / "out", target=-100.0)
    assert len(report.facts["left_out"]) == 1
    mixed = onnx.load(str(tmp_path / "out" / "w8a8_mixed.onnx"))
    rounded = {name for node in mixed.graph.node if node.op_type == "DequantizeLinear" for name in node.output}
    gemms = [node for node in mixed.graph.node if node.op_type == "Gemm"]
    assert [node.input[1] in rounded for node in gemms].count(False) == 1, "one layer keeps float32"


def test_what_cannot_be_quantised_is_told(digits: tuple[Path, Path], tmp_path: Path) -> None:
    data = np.load(digits[1])
    x, y = data["x"], data["y"]
    arrays = {"hot": (x, np.eye(10)[y]), "nan": (x * np.nan, y), "narrow": (x[:, :9], y), "words": (x, y.astype(str))}
    said = {"hot": "of shape 897, 10", "nan": "no finite number", "narrow": "cannot be run", "words": "labels y are"}
    cases = []
    for name, (inputs, labels) in arrays.items():
        np.savez(tmp_path / f"{name}.npz", x=inputs, y=labels)
        cases.append((digits[0], tmp_path / f"{name}.npz", said[name]))
    for name in ("fixed", "old"):
        model = onnx.load(str(digits[0]))
        if name == "old":
            model.opset_import[0].version = 11
        else:
            model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 1
            model.graph.ClearField("value_info")
        onnx.save(model, str(tmp_path / f"{name}.onnx"))
    cases += [(tmp_path / "fixed.onnx", digits[1], "in batches of 1"), (tmp_path / "old.onnx", digits[1], "opset 11")]
    for network, given, words in cases:
        with pytest.raises(WorkbookError) as raised:
            quantise(network, given, out=tmp_path / "out")
        assert words in raised.value.message("en"), raised.value.message("en")
    with pytest.raises(WorkbookError, match="--target"):
        quantise(*digits, out=tmp_path / "out", target=float("nan"))


def test_no_layer_is_no_verdict(digits: tuple[Path, Path], tmp_path: Path) -> None:
    """Weights in Constant nodes are not quantised, so nothing is said of what that costs."""
    model = onnx.load(str(digits[0]))
    for weight in list(model.graph.initializer):
        model.graph.node.insert(0, onnx.helper.make_node("Constant", [], [weight.name], value=weight))
        model.graph.initializer.remove(weight)
    onnx.save(model, str(tmp_path / "constants.onnx"))
    report = quantise(tmp_path / "constants.onnx", digits[1], out=tmp_path / "out")
    assert report.status is Status.NOT_LOOKED and report.headline and report.headline.key == "INF620.no_layers"
