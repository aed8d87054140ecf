"""The simulated NPU's atc: what each option does, and that an offline model gives what the network gives. 10 s."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ascend_simulator.offline_models import command, container, errors, options, precision, running
from tests.simulator.offline_models.networks import make_convolution

onnxruntime = pytest.importorskip("onnxruntime")
BASE = {"framework": "5", "soc_version": "Ascend910B3"}


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_convolution(tmp_path_factory.mktemp("network") / "net.onnx")


def convert(network: Path, folder: Path, **given: str) -> container.OfflineModel:
    arguments = [f"--{name}={value}" for name, value in {**BASE, "model": str(network), **given}.items()]
    assert command.main([*arguments, f"--output={folder / 'net'}"]) == 0
    return container.read_model(folder / "net.om")


def run(model: container.OfflineModel, **feeds: Any) -> Any:
    return running.run_model(running.open_session(model.graph), model, feeds)[0]


def compute(network: Path, x: Any) -> Any:
    return onnxruntime.InferenceSession(str(network), providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]


def images(count: int) -> Any:
    return np.random.default_rng(count).standard_normal((count, 1, 8, 8)).astype(np.float32)


def test_kept_precision_is_the_networks(network: Path, tmp_path: Path) -> None:
    model = convert(network, tmp_path, input_shape="x:3,1,8,8", precision_mode_v2="origin")
    assert model.about.inputs == [container.Port("x", "float32", [3, 1, 8, 8], "NCHW")]
    assert model.about.outputs == [container.Port("y", "float32", [3, 10])]
    assert np.abs(run(model, x=images(3)) - compute(network, images(3))).max() < 1e-6


def test_half_precision_rounds_what_nodes_give(network: Path, tmp_path: Path) -> None:
    half = run(convert(network, tmp_path, input_shape="x:2,1,8,8"), x=images(2))
    exact = compute(network, images(2))
    assert 1e-6 < np.abs(half - exact).max() < 5e-3
    assert (half == half.astype(np.float16)).all()
    matrix = run(convert(network, tmp_path, input_shape="x:2,1,8,8", precision_mode="force_fp32"), x=images(2))
    assert 0 < np.abs(matrix - exact).max() < np.abs(half - exact).max()
    assert not (matrix == matrix.astype(np.float16)).all(), "results stay float32 in this mode"
    bfloat = run(convert(network, tmp_path, input_shape="x:2,1,8,8", precision_mode="allow_fp32_to_bf16"), x=images(2))
    assert np.abs(bfloat - exact).max() > np.abs(half - exact).max()


def test_an_overflow_becomes_infinite_but_in_kept_nodes(tmp_path: Path) -> None:
    network = make_convolution(tmp_path / "large.onnx", scale=1e6)
    assert not np.isfinite(run(convert(network, tmp_path, input_shape="x:1,1,8,8"), x=images(1))).all()
    kept = tmp_path / "kept.txt"
    kept.write_text("scale_up\nscale_down\n")
    model = convert(network, tmp_path, input_shape="x:1,1,8,8", keep_dtype=str(kept))
    assert np.abs(run(model, x=images(1)) - compute(network, images(1))).max() < 5e-3


def test_a_weight_beyond_the_format_is_told(tmp_path: Path) -> None:
    network = make_convolution(tmp_path / "large.onnx", scale=1e6)
    model = convert(network, tmp_path, input_shape="x:1,1,8,8")
    assert "weights beyond float16 became infinite: up" in model.about.warnings


def make_doubled(path: Path, value: float, constant: bool) -> Path:
    """Write `a * value` and `b * value`, whose value is a weight or a node `Constant`."""
    from onnx import helper, numpy_helper, save

    from tests.simulator.offline_models.networks import make_model

    nodes = [helper.make_node("Mul", [name, "k"], [f"{name}_out"], name=f"by_{name}") for name in "ab"]
    if constant:
        tensor = numpy_helper.from_array(np.array(value, np.float32))
        nodes.insert(0, helper.make_node("Constant", [], ["k"], name="k_node", value=tensor))
    weights = {} if constant else {"k": np.array(value)}
    save(make_model(nodes, {"a": [1], "b": [1]}, ["a_out", "b_out"], weights), str(path))
    return path


@pytest.mark.parametrize("constant", [False, True])
def test_a_constant_is_rounded_as_a_weight_is(constant: bool, tmp_path: Path) -> None:
    model = convert(make_doubled(tmp_path / "net.onnx", 1e5, constant), tmp_path)
    assert "weights beyond float16 became infinite: k" in model.about.warnings
    assert run(model, a=np.ones(1, np.float32), b=np.ones(1, np.float32)) == np.inf


@pytest.mark.parametrize("form", [{"value_float": 1e5}, {"value_floats": [1e5]}])
def test_constants_of_every_form_are_rounded(form: dict[str, Any], tmp_path: Path) -> None:
    from onnx import helper, save

    from tests.simulator.offline_models.networks import make_model

    nodes = [helper.make_node("Constant", [], ["k"], **form), helper.make_node("Mul", ["x", "k"], ["y"])]
    save(make_model(nodes, {"x": [1]}, ["y"], {}), str(tmp_path / "net.onnx"))
    model = convert(tmp_path / "net.onnx", tmp_path)
    assert run(model, x=np.full(1, 2**-10, np.float32)) == np.inf


def test_a_weight_of_a_kept_and_of_another_node_is_rounded_for_the_other(tmp_path: Path) -> None:
    (tmp_path / "kept.txt").write_text("by_a\n")
    network = make_doubled(tmp_path / "net.onnx", 1e5, constant=False)
    model = convert(network, tmp_path, keep_dtype=str(tmp_path / "kept.txt"))
    one = np.full(1, 2**-10, np.float32)
    assert [
        each.tolist() for each in running.run_model(running.open_session(model.graph), model, {"a": one, "b": one})
    ] == [
        [1e5 / 1024],
        [np.inf],
    ]


def test_a_constant_that_is_an_output_is_told(tmp_path: Path) -> None:
    from onnx import helper, save

    from tests.simulator.offline_models.networks import make_model

    nodes = [
        helper.make_node("Constant", [], ["k"], name="kn", value_float=0.1),
        helper.make_node("Relu", ["x"], ["y"]),
    ]
    save(make_model(nodes, {"x": [1]}, ["y", "k"], {}), str(tmp_path / "net.onnx"))
    model = convert(tmp_path / "net.onnx", tmp_path)
    assert "constants that are sparse or outputs are not rounded: kn" in model.about.warnings


def test_a_chip_later_than_the_table_is_told(network: Path, tmp_path: Path) -> None:
    model = convert(network, tmp_path, input_shape="x:1,1,8,8", soc_version="Ascend950PR_9589")
    assert any("Ascend950PR_9589 is later than the table of chips" in text for text in model.about.warnings)
    slice_of_a_chip = convert(network, tmp_path, input_shape="x:1,1,8,8", soc_version="Ascend310P3Vir01")
    assert not any("table of chips" in text for text in slice_of_a_chip.about.warnings)


def test_bfloat16_is_rounded_to_even() -> None:
    values = np.array([1.0, 1 + 2**-8, 1 + 3 * 2**-8, np.inf, -3.14159], np.float32)
    assert precision.round_array(values, "BFLOAT16").tolist() == [1.0, 1.0, 1 + 2**-6, np.inf, -3.140625]


def test_gears_are_run_and_told(network: Path, tmp_path: Path) -> None:
    model = convert(network, tmp_path, input_shape="x:-1,1,8,8", dynamic_batch_size="1,4", precision_mode_v2="origin")
    assert model.about.batches == [1, 4] and model.about.outputs[0].shape == [-1, 10]
    for batch in (1, 4):
        assert np.abs(run(model, x=images(batch)) - compute(network, images(batch))).max() < 1e-6


def test_a_graph_that_fixes_its_batch_cannot_have_gears(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from onnx import helper, save

    from tests.simulator.offline_models.networks import make_model

    nodes = [helper.make_node("Reshape", ["x", "shape"], ["y"], name="fixed")]
    network = tmp_path / "fixed.onnx"
    save(make_model(nodes, {"x": ["n", 1, 8, 8]}, ["y"], {"shape": np.array([2, 64], np.int64)}), str(network))
    given = [f"--{name}={value}" for name, value in {**BASE, "model": str(network)}.items()]
    given += ["--input_shape=x:-1,1,8,8", "--dynamic_batch_size=1,2", f"--output={tmp_path / 'net'}"]
    assert command.main(given) == 1
    assert "the graph cannot be run with batch 1" in capsys.readouterr().err
    assert not (tmp_path / "net.om").exists()


def test_outputs_are_those_asked_for(network: Path, tmp_path: Path) -> None:
    given = {"input_shape": "x:1,1,8,8", "precision_mode_v2": "origin"}
    model = convert(network, tmp_path, out_nodes="relu:0;fc:0", output_type="relu:0:FP16", **given)
    assert [(port.dtype, port.shape) for port in model.about.outputs] == [
        ("float16", [1, 4, 8, 8]),
        ("float32", [1, 10]),
    ]
    half = convert(network, tmp_path, output_type="fc:0:FP16", input_shape="x:1,1,8,8")
    assert half.about.outputs[0].dtype == "float16", "an output keeps its place where its node is rounded"
    halved = convert(network, tmp_path, input_fp16_nodes="x", **given)
    assert halved.about.inputs[0].dtype == "float16"
    x = images(1).astype(np.float16)
    assert np.abs(run(halved, x=x) - compute(network, x.astype(np.float32))).max() < 1e-6


def test_every_option_acts_warns_or_refuses(network: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An option that acts is read by the command; one that warns or refuses says so by its name."""
    source = "".join(path.read_text() for path in Path(command.__file__).parent.glob("*.py"))
    counted = dict.fromkeys((options.ACT, options.WARN, options.REFUSE), 0)
    for name, option in options.OPTIONS.items():
        counted[option.action] += 1
        if option.action == options.ACT:
            assert f'"{name}"' in source.replace(f'    "{name}": Option', ""), name
            continue
        value = option.values[0] if option.values else "1"
        given = {**BASE, "model": str(network), "input_shape": "x:1,1,8,8", name: value, "output": str(tmp_path / name)}
        code = command.main([f"--{key}={word}" for key, word in given.items()])
        told = capsys.readouterr()
        assert code == (option.action == options.REFUSE), name
        said = told.err if code else told.out
        assert f"--{name} {'is refused' if code else 'changes nothing here'}" in said and option.why in said
    assert counted == {options.ACT: 18, options.WARN: 30, options.REFUSE: 18}


#: Wrong calls: what is given beside the rest, the code, and what is said. "": no public page has a code.
WRONG: list[tuple[dict[str, str], str, str]] = [
    ({"model": ""}, "E10054", "[model]"),
    ({"framework": ""}, "E10054", "[framework]"),
    ({"soc_version": ""}, "E10054", "[soc_version]"),
    ({"output": ""}, "E10054", "[output]"),
    ({"input_shape": ""}, "E10001", "x has dimensions that are not fixed"),
    ({"framework": "7"}, "E10001", "expected one of 0, 1, 3, 5"),
    ({"framework": "0"}, "", "(Caffe) is refused"),
    ({"framework": "3"}, "", "(TensorFlow) is refused"),
    ({"mode": "1"}, "", "--mode=1 is refused"),
    ({"soc_version": "910B3"}, "E10001", "expected Ascend and the chip's name"),
    ({"soc_version": "AscendFoo"}, "E10001", "one of Ascend310"),
    ({"soc_version": "Ascend910B33"}, "E10001", "one of Ascend310"),
    ({"soc_version": "Ascend310P3", "precision_mode": "allow_fp32_to_bf16"}, "", "Ascend310P3 has no bfloat16"),
    ({"soc_version": "Ascend910A", "precision_mode_v2": "mixed_bfloat16"}, "", "Ascend910A has no bfloat16"),
    ({"model": "absent.onnx"}, "E10001", "cannot be read"),
    ({"output": "absent/folder/net"}, "E10001", "there is no folder absent/folder"),
    ({"input_shape": "y:1,1,8,8"}, "E10001", "the model has no input y; it has x"),
    ({"input_shape": "x:1,1,8"}, "E10001", "has 4 dimensions, 3 were given"),
    ({"input_shape": "x:1,1,9,8"}, "E10001", "dimension 2 of input x is 8 in the model"),
    ({"input_shape": "x:0,1,8,8"}, "E10001", "dimension 0 of input x is 0"),
    ({"input_shape": "x:1,a,8,8"}, "E10001", "is not name:n,c,h,w"),
    ({"input_shape": "x:-1,1,8,8"}, "E10001", "gears are run here for the batch"),
    ({"input_shape": "x:-1,1,8,8", "dynamic_batch_size": "2"}, "E10001", "2 to 100 different numbers"),
    ({"input_shape": "x:-1,1,8,8", "dynamic_batch_size": "2,2"}, "E10001", "2 to 100 different numbers"),
    ({"input_shape": "x:-1,1,8,8", "dynamic_batch_size": "1,b"}, "E10001", "whole numbers"),
    ({"dynamic_batch_size": "1,2"}, "E10001", "no input has the batch -1"),
    ({"precision_mode": "half"}, "E10001", "expected one of force_fp16"),
    ({"precision_mode": "force_fp16", "precision_mode_v2": "fp16"}, "", "cannot be used together"),
    ({"keep_dtype": "absent.txt"}, "E10001", "cannot be read"),
    ({"out_nodes": "conv"}, "E10001", "is not node:number"),
    ({"out_nodes": "conv:1"}, "E10001", "no node conv with output 1"),
    ({"output_type": "FP8"}, "E10001", "expected one of FP32, FP16, UINT8"),
    ({"output_type": "relu:0:FP16"}, "E10001", "relu:0 is no output of the model: fc:0"),
    ({"input_fp16_nodes": "z"}, "E10001", "the model has no input z"),
    ({"insert_op_conf": "absent.cfg"}, "E10001", "cannot be read"),
    ({"log": "loud"}, "E10001", "expected one of debug"),
    ({"core_type": "Gpu"}, "E10001", "expected one of VectorCore, AiCore"),
    ({"no_such_option": "1"}, "", "no public page of ATC has this option"),
    ({"dynamic_dims": "1;2"}, "", "is refused"),
]


@pytest.mark.parametrize("case", WRONG, ids=lambda case: next(iter(case[0])))
def test_a_wrong_call_is_told(
    case: tuple[dict[str, str], str, str], network: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong, code, said = case
    given = {**BASE, "model": str(network), "input_shape": "x:1,1,8,8", "output": str(tmp_path / "net"), **wrong}
    ended = command.main([f"--{name}={value}" for name, value in given.items()])
    told = capsys.readouterr().err
    assert ended == 1 and said in told, told
    assert f" {code}: " in told if code else "CANN's code for this is not documented" in told
    assert not list(tmp_path.iterdir())


def test_options_may_be_written_as_the_page_says() -> None:
    told = options.parse_arguments(["-soc-version", "Ascend310P3", "--log=null", "--h"])
    assert told == {"soc_version": "Ascend310P3", "log": "null", "help": ""}
    for wrong in (["model"], ["--model"], ["--model", "--log=null"], ["--log=null", "--log=info"]):
        with pytest.raises(errors.ConversionError):
            options.parse_arguments(wrong)


def test_damaged_and_real_models_are_refused_by_name(network: Path, tmp_path: Path) -> None:
    convert(network, tmp_path, input_shape="x:1,1,8,8")
    data = (tmp_path / "net.om").read_bytes()
    cases = {"real.om": b"IMOD" + bytes(300), "empty.om": b"", "cut.om": data[:20], "short.om": data[:-1]}
    cases["changed.om"] = data[:-9] + bytes([data[-9] ^ 1]) + data[-8:]
    cases["head.om"] = data[:40] + b"\xff" + data[41:]
    for name, content in cases.items():
        with pytest.raises(container.NoModel, match=name):
            container.unpack_model(content, name)


def test_without_onnxruntime_the_line_that_installs_it_is_said(
    network: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "onnxruntime", None)
    given = {**BASE, "model": str(network), "input_shape": "x:1,1,8,8", "output": str(tmp_path / "net")}
    assert command.main([f"--{name}={value}" for name, value in given.items()]) == 1
    assert running.INSTALL in capsys.readouterr().err
