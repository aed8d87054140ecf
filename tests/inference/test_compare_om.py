"""An ONNX model against its offline model: the planted node is named, what is clean is clean. 15 s."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ascend_simulator.offline_models import command, container
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.inference.compare_om import compare_om
from tests.simulator.offline_models.networks import make_convolution, make_identity, make_model

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


def convert(network: Path, *more: str) -> Path:
    place = network.with_suffix(".om")
    given = [f"--model={network}", "--framework=5", "--soc_version=Ascend910B3", f"--output={place}", "--log=error"]
    assert command.main([*given, *more]) == 0
    return place


def plant(om: Path, weight: str, change: Any) -> None:
    """Change a weight inside an offline model."""
    model = container.read_model(om)
    graph = onnx.load_from_string(model.graph)
    for initializer in graph.graph.initializer:
        if initializer.name == weight:
            values = change(onnx.numpy_helper.to_array(initializer).copy()).astype(np.float32)
            initializer.CopyFrom(onnx.numpy_helper.from_array(values, weight))
    container.write_model(om, model.about, graph.SerializeToString())


@pytest.mark.parametrize("mode", ["force_fp16", "force_fp32", "must_keep_origin_dtype", "allow_fp32_to_bf16"])
def test_a_clean_model_is_clean(mode: str, tmp_path: Path) -> None:
    network = make_convolution(tmp_path / "net.onnx")
    om = convert(network, "--input_shape=x:2,1,8,8", f"--precision_mode={mode}")
    for seed in range(3):
        report = compare_om(network, om, seed=seed)
        assert report.status <= Status.NOTE and report.facts["first"] is None
        assert report.headline and report.headline.key == "INF610.agrees" and report.simulated


#: Weight, how it is changed, and the node that is off then.
FAULTS: dict[str, tuple[str, Any, str]] = {
    "scaled": ("w1", lambda values: values * 1.02, "conv"),
    "one channel": ("w1", lambda values: np.concatenate([values[:1] * 0, values[1:]]), "conv"),
    "constant": ("up", lambda values: values * 1.01, "scale_up"),
    "noise": ("w2", lambda values: values + 0.02 * np.random.default_rng(0).standard_normal(values.shape), "fc"),
    "bias": ("b2", lambda values: values + 0.05, "fc"),
    "later constant": ("down", lambda values: values * 0.97, "scale_down"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_planted_node_is_the_first(fault: str, tmp_path: Path) -> None:
    weight, change, node = FAULTS[fault]
    network = make_convolution(tmp_path / "net.onnx")
    om = convert(network, "--input_shape=x:2,1,8,8")
    plant(om, weight, change)
    report = compare_om(network, om)
    assert report.facts["first"] == node and report.status is Status.FIX
    assert report.headline and report.headline.key == "INF610.parts" and report.headline.args["node"] == node


def test_an_overflow_is_told_from_a_wrong_value(tmp_path: Path) -> None:
    network = make_convolution(tmp_path / "net.onnx", scale=1e5 / 2)
    report = compare_om(network, convert(network, "--input_shape=x:1,1,8,8"))
    assert report.headline and report.headline.key == "INF610.overflow"
    assert report.headline.args["node"] == "scale_up" and report.headline.args["limit"] == 65504


def test_wrong_preprocessing_is_told_before_any_node(tmp_path: Path) -> None:
    network = make_identity(tmp_path / "net.onnx", 3, 8, 8)
    lines = "mean_chn_0: 100\n  var_reci_chn_0: 0.01\n  var_reci_chn_1: 0.01\n  var_reci_chn_2: 0.01"
    (tmp_path / "aipp.cfg").write_text(f"aipp_op {{\n  aipp_mode: static\n  input_format: RGB888_U8\n  {lines}\n}}\n")
    om = convert(network, f"--insert_op_conf={tmp_path / 'aipp.cfg'}")
    image = np.random.default_rng(0).integers(0, 256, (1, 8, 8, 3), dtype=np.uint8)
    own = image.astype(np.float32)
    own[..., 0] -= 100
    own = np.ascontiguousarray(own.transpose(0, 3, 1, 2) * np.float32(0.01))
    np.savez(tmp_path / "right.npz", **{"image": own, "om:image": image})
    np.savez(tmp_path / "wrong.npz", **{"image": own[:, ::-1].copy(), "om:image": image})
    assert compare_om(network, om, inputs=tmp_path / "right.npz").status <= Status.NOTE
    wrong = compare_om(network, om, inputs=tmp_path / "wrong.npz")
    assert wrong.headline and wrong.headline.key == "INF611.aipp" and wrong.facts["first"] is None
    with pytest.raises(WorkbookError, match="image in the offline model"):
        compare_om(network, om)


def test_what_cannot_be_compared_is_told(tmp_path: Path) -> None:
    network = make_convolution(tmp_path / "net.onnx")
    om = convert(network, "--input_shape=x:1,1,8,8")
    (tmp_path / "real.om").write_bytes(b"IMOD" + bytes(100))
    (tmp_path / "text.onnx").write_text("no model")
    np.savez(tmp_path / "other.npz", z=np.zeros(3))
    cases = [
        (network, tmp_path / "real.om", None, "no offline model"),
        (tmp_path / "text.onnx", om, None, "cannot be read"),
    ]
    cases += [(network, tmp_path / "absent.om", None, "cannot be read")]
    cases += [(make_identity(tmp_path / "same.onnx", 3, 8, 8), om, None, "takes x; the ONNX model takes image")]
    cases += [(network, om, tmp_path / "other.npz", "has no array x; it has"), (network, om, om, "cannot be read")]
    for onnx_file, om_file, inputs, said in cases:
        with pytest.raises(WorkbookError) as raised:
            compare_om(onnx_file, om_file, inputs=inputs)
        assert said in raised.value.message("en")


def test_what_is_not_judged_agrees_with_nothing(tmp_path: Path) -> None:
    """The logarithm of negative numbers is no number, alone and in both models."""
    make = onnx.helper.make_node
    nodes = [make("Log", ["x"], ["l"], name="log"), make("Exp", ["l"], ["y"], name="exp")]
    onnx.save(make_model(nodes, {"x": [2, 3]}, ["y"], {}), str(tmp_path / "net.onnx"))
    om = convert(tmp_path / "net.onnx")
    np.savez(tmp_path / "negative.npz", x=np.full((2, 3), -1, np.float32))
    report = compare_om(tmp_path / "net.onnx", om, inputs=tmp_path / "negative.npz")
    assert report.status is Status.NOT_LOOKED and report.headline and report.headline.key == "INF610.unknown"
    assert report.headline.args["count"] == 2


def test_whole_numbers_are_compared_exactly(tmp_path: Path) -> None:
    make = onnx.helper.make_node
    nodes = [make("ArgMax", ["x"], ["y"], name="best", axis=1, keepdims=0)]
    model = make_model(nodes, {"x": [4, 9]}, ["y"], {})
    model.graph.output[0].CopyFrom(onnx.helper.make_tensor_value_info("y", onnx.TensorProto.INT64, [4]))
    onnx.save(model, str(tmp_path / "net.onnx"))
    om = convert(tmp_path / "net.onnx")
    report = compare_om(tmp_path / "net.onnx", om)
    assert report.headline and report.headline.key == "INF610.agrees" and report.headline.args["count"] == 1
    stored = container.read_model(om)
    graph = onnx.load_from_string(stored.graph)
    next(node for node in graph.graph.node if node.op_type == "ArgMax").op_type = "ArgMin"
    container.write_model(om, stored.about, graph.SerializeToString())
    assert compare_om(tmp_path / "net.onnx", om).facts["first"] == "best"


def test_a_weight_in_a_constant_is_rounded_and_judged(tmp_path: Path) -> None:
    make, from_array = onnx.helper.make_node, onnx.numpy_helper.from_array
    for size, key in ((1e5, "overflow"), (1.0001, "agrees")):
        value = from_array(np.full((3, 3), size, np.float32), "value")
        nodes = [make("Constant", [], ["w"], value=value), make("MatMul", ["x", "w"], ["y"], name="product")]
        onnx.save(make_model(nodes, {"x": [2, 3]}, ["y"], {}), str(tmp_path / "net.onnx"))
        om = convert(tmp_path / "net.onnx")
        report = compare_om(tmp_path / "net.onnx", om)
        assert report.headline and report.headline.key == f"INF610.{key}"
        weights = onnx.load_from_string(container.read_model(om).graph).graph.initializer
        rounded = onnx.numpy_helper.to_array(weights[0])
        assert np.array_equal(rounded, np.full((3, 3), size).astype(np.float16).astype(np.float32))
        assert any("became infinite: w" in text for text in container.read_model(om).about.warnings) == (size > 1e4)


def test_a_weight_that_an_exempt_node_shares_is_rounded_for_the_other(tmp_path: Path) -> None:
    make = onnx.helper.make_node
    nodes = [make("MatMul", ["x", "w"], ["h"], name="first"), make("MatMul", ["h", "w"], ["y"], name="second")]
    weight = np.random.default_rng(0).standard_normal((3, 3)).astype(np.float32)
    onnx.save(make_model(nodes, {"x": [2, 3]}, ["y"], {"w": weight}), str(tmp_path / "net.onnx"))
    (tmp_path / "kept.txt").write_text("first\n")
    om = convert(tmp_path / "net.onnx", f"--keep_dtype={tmp_path / 'kept.txt'}")
    graph = onnx.load_from_string(container.read_model(om).graph).graph
    weights = {entry.name: onnx.numpy_helper.to_array(entry) for entry in graph.initializer}
    used = {node.name: weights[node.input[1]] for node in graph.node if node.op_type == "MatMul"}
    assert np.array_equal(used["first"], weight)
    assert np.array_equal(used["second"], weight.astype(np.float16).astype(np.float32))
    assert compare_om(tmp_path / "net.onnx", om).status <= Status.NOTE
