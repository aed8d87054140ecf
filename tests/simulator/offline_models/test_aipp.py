"""Static AIPP against the public formula, computed apart from it in whole numbers. 5 s."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ascend_simulator.offline_models import command, container, running
from tests.simulator.offline_models.networks import make_identity

pytest.importorskip("onnxruntime")
#: JPEG's YUV to RGB, from the public page of colour spaces.
MATRIX = ((256, 0, 359), (256, -88, -183), (256, 454, 0))
FORMATS = {"YUV420SP_U8": 3, "RGB888_U8": 3, "XRGB8888_U8": 4, "YUV400_U8": 1}


def draw_configuration(seed: int) -> dict[str, Any]:
    """Draw a configuration: format, sizes, and whether each part is there."""
    rng = np.random.default_rng(seed)
    form = list(FORMATS)[seed % 4]
    height, width = (int(size) * 2 for size in rng.integers(8, 14, 2))
    values: dict[str, Any] = {"aipp_mode": "static", "input_format": form}
    values |= {"src_image_size_h": height, "src_image_size_w": width, "rbuv_swap_switch": bool(rng.integers(2))}
    if form == "XRGB8888_U8":
        values["ax_swap_switch"] = bool(rng.integers(2))
    if rng.integers(2):
        top, left = (int(place) for place in rng.integers(0, 5, 2))
        if form == "YUV420SP_U8":
            top, left = top - top % 2, left - left % 2
        values |= {"crop": True, "load_start_pos_h": top, "load_start_pos_w": left}
        values |= {"crop_size_h": height - top - 2, "crop_size_w": width - left - 3}
    if rng.integers(2) and form != "YUV400_U8":
        values["csc_switch"] = True
        values |= {f"matrix_r{row}c{column}": MATRIX[row][column] for row in range(3) for column in range(3)}
        values |= {f"input_bias_{at}": (0, 128, 128)[at] for at in range(3)}
    if rng.integers(2):
        values |= {f"mean_chn_{at}": int(rng.integers(0, 200)) for at in range(3)}
        values |= {f"var_reci_chn_{at}": round(float(rng.uniform(0.004, 0.02)), 6) for at in range(3)}
        values["min_chn_0"] = 0.5
    if rng.integers(2):
        values |= {"padding": True, "left_padding_size": 1, "bottom_padding_size": 2, "padding_value": 3.5}
    return values


def compute_expected(values: dict[str, Any], data: Any) -> Any:
    """Compute the image that the model sees, by the formulas of the pages."""
    height, width = values["src_image_size_h"], values["src_image_size_w"]
    form, whole = values["input_format"], data.astype(np.int64)
    if form == "YUV420SP_U8":
        chroma = whole[height:].reshape(height // 2, width // 2, 2).repeat(2, 0).repeat(2, 1)
        channels = [whole[:height, :, 0], chroma[..., 0], chroma[..., 1]]
        if values["rbuv_swap_switch"]:
            channels[1], channels[2] = channels[2], channels[1]
    else:
        channels = [whole[..., at] for at in range(FORMATS[form])]
        if values["rbuv_swap_switch"] and form == "RGB888_U8":
            channels[0], channels[2] = channels[2], channels[0]
        if values["rbuv_swap_switch"] and form == "XRGB8888_U8":
            channels[1], channels[3] = channels[3], channels[1]
        if values.get("ax_swap_switch"):
            channels = [*channels[1:], channels[0]]
        channels = channels[:3]
    if values.get("crop"):
        top, left = values["load_start_pos_h"], values["load_start_pos_w"]
        rows, columns = slice(top, top + values["crop_size_h"]), slice(left, left + values["crop_size_w"])
        channels = [channel[rows, columns] for channel in channels]
    if values.get("csc_switch"):
        moved = [channel - values[f"input_bias_{at}"] for at, channel in enumerate(channels)]
        channels = [sum(MATRIX[row][at] * moved[at] for at in range(3)) >> 8 for row in range(3)]
        channels = [np.clip(channel, 0, 255) for channel in channels]
    if "mean_chn_0" in values:
        for at, channel in enumerate(channels):
            lowest = values[f"mean_chn_{at}"] + values.get(f"min_chn_{at}", 0)
            channels[at] = (channel - lowest) * float(np.float16(values[f"var_reci_chn_{at}"]))
    image = np.stack(channels).astype(np.float64)
    return np.pad(image, ((0, 0), (0, 2), (1, 0)), constant_values=3.5) if values.get("padding") else image


def write_configuration(path: Path, values: dict[str, Any]) -> Path:
    lines = [f"  {key} : {str(value).lower() if isinstance(value, bool) else value}" for key, value in values.items()]
    path.write_text("\n".join(["# 图像预处理", "aipp_op {", *lines, "}", ""]), encoding="utf-8")
    return path


def convert(folder: Path, values: dict[str, Any], channels: int, height: int, width: int) -> int:
    network = make_identity(folder / "net.onnx", channels, height, width)
    aipp = write_configuration(folder / "aipp.cfg", values)
    given = [f"--model={network}", "--framework=5", "--soc_version=Ascend310P3", "--precision_mode_v2=origin"]
    return command.main([*given, f"--insert_op_conf={aipp}", f"--output={folder / 'net'}", "--log=error"])


@pytest.mark.parametrize("seed", range(24))
def test_it_computes_the_public_formula(seed: int, tmp_path: Path) -> None:
    values = draw_configuration(seed)
    height, width = values["src_image_size_h"], values["src_image_size_w"]
    planes = values["input_format"] == "YUV420SP_U8"
    shape = (height * 3 // 2, width, 1) if planes else (height, width, FORMATS[values["input_format"]])
    data = np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)
    expected = compute_expected(values, data)
    assert convert(tmp_path, values, *expected.shape) == 0
    model = container.read_model(tmp_path / "net.om")
    assert model.about.inputs[0] == container.Port("image", "uint8", [1, *shape], "NHWC")
    (result,) = running.run_model(running.open_session(model.graph), model, {"image": data[None]})
    assert result.shape == (1, *expected.shape)
    assert np.abs(result[0] - expected).max() < 1e-4


def test_half_precision_rounds_its_result_and_nothing_within(tmp_path: Path) -> None:
    values = draw_configuration(0) | {"csc_switch": True}
    values |= {f"matrix_r{row}c{column}": MATRIX[row][column] for row in range(3) for column in range(3)}
    values |= {f"input_bias_{at}": (0, 128, 128)[at] for at in range(3)}
    height, width = values["src_image_size_h"], values["src_image_size_w"]
    data = np.random.default_rng(5).integers(0, 256, (height * 3 // 2, width, 1), dtype=np.uint8)
    expected = compute_expected(values, data)
    network = make_identity(tmp_path / "net.onnx", *expected.shape)
    aipp = write_configuration(tmp_path / "aipp.cfg", values)
    given = [f"--model={network}", "--framework=5", "--soc_version=Ascend310P3", f"--insert_op_conf={aipp}"]
    assert command.main([*given, f"--output={tmp_path / 'net'}"]) == 0
    model = container.read_model(tmp_path / "net.om")
    (result,) = running.run_model(running.open_session(model.graph), model, {"image": data[None]})
    assert np.abs(result[0] - expected).max() <= np.abs(expected).max() * 2**-11


def test_minimum_and_factor_are_float16(tmp_path: Path) -> None:
    values = {"aipp_mode": "static", "input_format": "YUV400_U8", "min_chn_0": 0.1, "var_reci_chn_0": 0.017124754}
    assert convert(tmp_path, values, 1, 2, 2) == 0
    model = container.read_model(tmp_path / "net.om")
    feeds = {"image": np.full((1, 2, 2, 1), 200, np.uint8)}
    (result,) = running.run_model(running.open_session(model.graph), model, feeds)
    half = (np.float32(200) - np.float32(np.float16(0.1))) * np.float32(np.float16(0.017124754))
    assert np.abs(result - half).max() < 1e-6 and abs(half - (200 - 0.1) * 0.017124754) > 1e-5


def test_a_crop_of_planes_begins_at_even_places(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values = {"aipp_mode": "static", "input_format": "YUV420SP_U8", "src_image_size_h": 8, "src_image_size_w": 8}
    values |= {"crop": True, "crop_size_h": 4, "crop_size_w": 4, "load_start_pos_h": 2}
    assert convert(tmp_path, {**values, "load_start_pos_w": 2}, 3, 4, 4) == 0
    assert convert(tmp_path, {**values, "load_start_pos_w": 1}, 3, 4, 4) == 1
    assert "load_start_pos of YUV420SP_U8 is even, not 2, 1" in capsys.readouterr().err


#: A line in place of the first after `aipp_op {`, and what is said of it.
WRONG = {
    "aipp_mode: dynamic": "line 2: aipp_mode dynamic is not run here",
    "input_format: BGR888": "line 2: input_format BGR888: expected one of",
    "resize: true": "line 2: resize true is not run here",
    "matrix_r3c0: 1": "line 2: matrix_r3c0 is no key of static AIPP",
    "mean_chn_0: x": "line 2: mean_chn_0 x: expected a number",
    "crop: 1": "line 2: crop 1: expected true or false",
    "no colon": "line 2: expected aipp_op { key: value }",
    "related_input_rank: 1": "related_input_rank 1: the model has 1 inputs",
    "src_image_size_h: 99": "it makes 99 x 8, the model takes 8 x 8",
    "crop: true\n  load_start_pos_h: 5": "crop of 8 x 8 at 5, 0 is beyond the image of 8 x 8",
    "csc_switch: true\n  csc_switch: true": "line 3: csc_switch was given twice",
    "var_reci_chn_0: 70000": "line 2: var_reci_chn_0 70000: expected a number that float16 holds",
    "ax_swap_switch: true": "ax_swap_switch is for XRGB8888_U8",
    "}": "line 3: expected aipp_op { key: value }",
}


@pytest.mark.parametrize("line", WRONG)
def test_a_wrong_configuration_is_told_with_its_line(
    line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    network = make_identity(tmp_path / "net.onnx", 3, 8, 8)
    form = "" if line.startswith("input_format") else "  input_format: RGB888_U8\n"
    (tmp_path / "aipp.cfg").write_text(f"aipp_op {{\n  {line}\n{form}}}\n", encoding="utf-8")
    given = [f"--model={network}", "--framework=5", "--soc_version=Ascend310P3", f"--output={tmp_path / 'net'}"]
    assert command.main([*given, f"--insert_op_conf={tmp_path / 'aipp.cfg'}"]) == 1
    told = capsys.readouterr().err
    assert WRONG[line] in told and "E10001" in told
