"""Static AIPP: image preprocessing of a configuration file, written into the graph as nodes.

Keys, order and formulas are those of the public pages (https://www.hiascend.com/document, "ATC"): configuration
template atlasatc_16_0025 (order: swapping of channels, crop, colour space, mean and factor, padding), colour space
_0021 (`matrix * (input - input_bias) >> 8`), normalisation _0022 (`(pixel - mean - min) * var_reci`). That a colour
leaves the matrix within 0 to 255 follows from its type, an unsigned byte."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import ConversionError, refuse_value
from .precision import ADDED

#: Input format -> bytes of a pixel; of YUV420SP three halves, in planes.
FORMATS = {"YUV420SP_U8": 0, "RGB888_U8": 3, "XRGB8888_U8": 4, "YUV400_U8": 1}
LINE = re.compile(r"\s*(\w+)\s*:\s*([^\s#]+)\s*(?:#.*)?$")
WHOLE = (
    "related_input_rank",
    *(f"{name}_{side}" for name in ("src_image_size", "load_start_pos", "crop_size") for side in "wh"),
    *(f"{side}_padding_size" for side in ("left", "right", "top", "bottom")),
    *(f"{side}_bias_{channel}" for side in ("input", "output") for channel in range(3)),
    *(f"matrix_r{row}c{column}" for row in range(3) for column in range(3)),
    *(f"mean_chn_{channel}" for channel in range(4)),
)
REAL = (*(f"{name}_{channel}" for name in ("min_chn", "var_reci_chn") for channel in range(4)), "padding_value")
TRUTH = ("csc_switch", "rbuv_swap_switch", "ax_swap_switch", "crop", "padding")
#: Keys that are known from the template and do nothing here unless they ask for something.
UNUSED = {"resize": "false", "single_line_mode": "false", "support_rotation": "false", "input_edge_idx": "0"}
NODES = f"{ADDED}aipp/"


@dataclass
class Configuration:
    """One `aipp_op` of the file: its values by key, and the line where it begins."""

    values: dict[str, Any]
    line: int

    def number(self, key: str, default: float = 0) -> Any:
        return self.values.get(key, default)


def read_configurations(path: str) -> list[Configuration]:
    """Read the blocks `aipp_op { key: value }` of a file. Raises ConversionError naming the line."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise refuse_value("insert_op_conf", path, f"it cannot be read ({error})") from None
    configurations: list[Configuration] = []
    inside = False
    for number, line in enumerate(lines, 1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        if not inside and re.fullmatch(r"aipp_op\s*\{", text):
            configurations.append(Configuration({}, number))
            inside = True
        elif inside and text == "}":
            inside = False
        elif inside and (match := LINE.match(text)):
            key, value = match.groups()
            if key in configurations[-1].values:
                raise refuse_value("insert_op_conf", path, f"line {number}: {key} was given twice")
            configurations[-1].values[key] = parse_value(path, number, key, value)
        else:
            raise refuse_value(
                "insert_op_conf", path, f"line {number}: expected aipp_op {{ key: value }}, got {text!r}"
            )
    if inside or not configurations:
        raise refuse_value("insert_op_conf", path, "no whole aipp_op { … } is in it")
    return configurations


def parse_value(path: str, line: int, key: str, text: str) -> Any:
    """Return the value of a key. Raises ConversionError for a key or value that the template does not have."""

    def refuse(reason: str) -> ConversionError:
        return refuse_value("insert_op_conf", path, f"line {line}: {reason}")

    if key == "aipp_mode":
        if text != "static":
            raise refuse(f"aipp_mode {text} is not run here; static is")
        return text
    if key == "input_format":
        if text not in FORMATS:
            raise refuse(f"input_format {text}: expected one of {', '.join(FORMATS)}")
        return text
    if key in UNUSED:
        if text != UNUSED[key]:
            raise refuse(f"{key} {text} is not run here")
        return text
    if key in TRUTH:
        if text not in ("true", "false"):
            raise refuse(f"{key} {text}: expected true or false")
        return text == "true"
    if key not in (*WHOLE, *REAL):
        raise refuse(f"{key} is no key of static AIPP")
    try:
        return int(text) if key in WHOLE else float(text) if key == "padding_value" else read_half(text)
    except ValueError:
        raise refuse(f"{key} {text}: expected a number{'' if key in WHOLE else ' that float16 holds'}") from None


def read_half(text: str) -> float:
    """Return the number as float16 holds it, the template's type of minimum and factor. Raises ValueError."""
    import numpy as np

    with np.errstate(over="ignore"):
        number = float(np.float16(float(text)))
    if not np.isfinite(number):
        raise ValueError(text)
    return number


def insert_preprocessing(model: Any, path: str) -> list[str]:
    """Put the nodes of every configuration before the model's inputs; return the names of these inputs."""
    configurations = read_configurations(path)
    opset = next((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), 0)
    if opset < 13:
        raise ConversionError(f"--insert_op_conf needs opset 13 or later here, the model has {opset}: export it anew")
    names = []
    for configuration in configurations:
        rank = configuration.number("related_input_rank")
        if not 0 <= rank < len(model.graph.input):
            reason = f"related_input_rank {rank}: the model has {len(model.graph.input)} inputs"
            raise refuse_value("insert_op_conf", path, reason)
        port = model.graph.input[rank]
        if port.name in names:
            raise refuse_value("insert_op_conf", path, f"two aipp_op are for input {port.name}")
        Builder(model, port, configuration, path).build_nodes()
        names.append(port.name)
    return names


class Builder:
    """The nodes of one configuration: pixels as float32 in NHWC until the last node makes them NCHW."""

    def __init__(self, model: Any, port: Any, configuration: Configuration, path: str) -> None:
        self.model, self.port, self.settings, self.path = model, port, configuration, path
        self.nodes: list[Any] = []
        shape = [dim.dim_value if dim.HasField("dim_value") else -1 for dim in port.type.tensor_type.shape.dim]
        if len(shape) != 4 or shape[1] not in (1, 3, 4) or min(shape[2:]) < 1:
            raise self.refuse(f"input {port.name} has shape {shape}; images are N, C (1, 3, 4), H, W")
        self.channels, self.height, self.width = shape[1:]
        if "input_format" not in configuration.values:
            raise self.refuse("input_format is missing")
        self.format: str = configuration.values["input_format"]

    def refuse(self, reason: str) -> ConversionError:
        return refuse_value("insert_op_conf", self.path, f"aipp_op of line {self.settings.line}: {reason}")

    def add(self, kind: str, inputs: list[str], **attributes: Any) -> str:
        """Add a node; return the name of its result."""
        import onnx

        name = f"{NODES}{self.port.name}/{len(self.nodes)}_{kind}"
        self.nodes.append(onnx.helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name

    def constant(self, values: Any, dtype: str) -> str:
        """Add a constant; return its name."""
        import numpy as np
        from onnx import numpy_helper

        name = f"{NODES}{self.port.name}/constant_{len(self.model.graph.initializer)}"
        self.model.graph.initializer.append(numpy_helper.from_array(np.asarray(values, dtype), name))
        return name

    def build_nodes(self) -> None:
        """Build all nodes, and make the model's input one of bytes."""
        model_input = self.port.name
        source = self.source_size()
        pixels = self.read_planes(*source) if self.format == "YUV420SP_U8" else self.read_pixels()
        pixels = self.swap_channels(pixels)
        pixels, size = self.crop(pixels, source)
        pixels = self.normalise(self.convert_colours(pixels))
        pixels, size = self.pad(pixels, size)
        if size != (self.height, self.width):
            raise self.refuse(f"it makes {size[0]} x {size[1]}, the model takes {self.height} x {self.width}")
        result = self.add("Transpose", [pixels], perm=[0, 3, 1, 2])
        for node in self.model.graph.node:
            for place, name in enumerate(node.input):
                if name == model_input:
                    node.input[place] = result
        later = list(self.model.graph.node)
        del self.model.graph.node[:]
        self.model.graph.node.extend([*self.nodes, *later])
        self.retype_input(*source)

    def source_size(self) -> tuple[int, int]:
        """Return the height and width of the source image: the model's own where none is given."""
        height = self.settings.number("src_image_size_h") or self.height
        width = self.settings.number("src_image_size_w") or self.width
        if self.format == "YUV420SP_U8" and (height % 2 or width % 2):
            raise self.refuse(f"YUV420SP has even sizes, not {height} x {width}")
        return int(height), int(width)

    def retype_input(self, height: int, width: int) -> None:
        import onnx

        tensor = self.port.type.tensor_type
        tensor.elem_type = onnx.TensorProto.UINT8
        planes = self.format == "YUV420SP_U8"
        sizes = (height * 3 // 2, width, 1) if planes else (height, width, FORMATS[self.format])
        for dim, size in zip(tensor.shape.dim[1:], sizes):
            dim.Clear()
            dim.dim_value = size

    def read_pixels(self) -> str:
        return self.add("Cast", [self.port.name], to=1)

    def read_planes(self, height: int, width: int) -> str:
        """Return Y, U and V side by side: each pair of U and V belongs to four pixels."""
        rows = self.add("Cast", [self.port.name], to=1)
        cut = [self.constant([value], "int64") for value in (0, height, height * 3 // 2, 1)]
        luma = self.add("Slice", [rows, cut[0], cut[1], cut[3]])
        chroma = self.add("Slice", [rows, cut[1], cut[2], cut[3]])
        pairs = self.add("Reshape", [chroma, self.constant([0, height // 2, width // 2, 2], "int64")])
        for axis, size in ((1, height), (2, width)):
            pairs = self.add("Gather", [pairs, self.constant([at // 2 for at in range(size)], "int64")], axis=axis)
        return self.add("Concat", [luma, pairs], axis=3)

    def swap_channels(self, pixels: str) -> str:
        """Swap R and B, or U and V; move X behind the others. Of four channels the last is dropped."""
        swap = self.settings.number("rbuv_swap_switch", False)
        order = list(range(FORMATS[self.format] or 3))
        if self.settings.number("ax_swap_switch", False):
            if self.format != "XRGB8888_U8":
                raise self.refuse("ax_swap_switch is for XRGB8888_U8")
            order = [1, 2, 3, 0]
        if swap and self.format == "YUV420SP_U8":
            order = [0, 2, 1]
        elif swap and len(order) > 1:
            first, last = order.index(1 if len(order) == 4 else 0), order.index(3 if len(order) == 4 else 2)
            order[first], order[last] = order[last], order[first]
        order = order[:3]
        if order == list(range(FORMATS[self.format] or 3)):
            return pixels
        return self.add("Gather", [pixels, self.constant(order, "int64")], axis=3)

    def crop(self, pixels: str, size: tuple[int, int]) -> tuple[str, tuple[int, int]]:
        if not self.settings.number("crop", False):
            return pixels, size
        top, left = self.settings.number("load_start_pos_h"), self.settings.number("load_start_pos_w")
        if self.format == "YUV420SP_U8" and (top % 2 or left % 2):
            raise self.refuse(f"load_start_pos of YUV420SP_U8 is even, not {top}, {left}")
        height = self.settings.number("crop_size_h") or self.height
        width = self.settings.number("crop_size_w") or self.width
        if top < 0 or left < 0 or top + height > size[0] or left + width > size[1]:
            raise self.refuse(
                f"crop of {height} x {width} at {top}, {left} is beyond the image of {size[0]} x {size[1]}"
            )
        ends = [self.constant(pair, "int64") for pair in ([top, left], [top + height, left + width], [1, 2])]
        return self.add("Slice", [pixels, *ends]), (height, width)

    def convert_colours(self, pixels: str) -> str:
        """Multiply by the matrix in whole numbers: float32 holds each of them exactly, and flooring shifts right."""
        if not self.settings.number("csc_switch", False):
            return pixels
        if self.format == "YUV400_U8":
            raise self.refuse("YUV400_U8 has one channel: csc_switch needs three")
        matrix = [[self.settings.number(f"matrix_r{row}c{column}") for row in range(3)] for column in range(3)]
        bias = [
            [self.settings.number(f"{side}_bias_{channel}") for channel in range(3)] for side in ("input", "output")
        ]
        moved = self.add("Sub", [pixels, self.constant(bias[0], "float32")])
        product = self.add("MatMul", [moved, self.constant(matrix, "float32")])
        shifted = self.add("Floor", [self.add("Div", [product, self.constant(256, "float32")])])
        added = self.add("Add", [shifted, self.constant(bias[1], "float32")])
        return self.add("Clip", [added, self.constant(0, "float32"), self.constant(255, "float32")])

    def normalise(self, pixels: str) -> str:
        """Subtract mean and minimum, multiply by the factor, channel by channel."""
        count = min(FORMATS[self.format] or 3, 3)
        if count != self.channels:
            raise self.refuse(f"it gives {count} channels, the model takes {self.channels}")
        lowest = [
            self.settings.number(f"mean_chn_{channel}") + self.settings.number(f"min_chn_{channel}")
            for channel in range(count)
        ]
        factor = [self.settings.number(f"var_reci_chn_{channel}", 1.0) for channel in range(count)]
        if any(lowest):
            pixels = self.add("Sub", [pixels, self.constant(lowest, "float32")])
        if any(value != 1 for value in factor):
            pixels = self.add("Mul", [pixels, self.constant(factor, "float32")])
        return pixels

    def pad(self, pixels: str, size: tuple[int, int]) -> tuple[str, tuple[int, int]]:
        if not self.settings.number("padding", False):
            return pixels, size
        sides = ("top", "left", "bottom", "right")
        top, left, bottom, right = (int(self.settings.number(f"{side}_padding_size")) for side in sides)
        pads = self.constant([0, top, left, 0, 0, bottom, right, 0], "int64")
        value = self.constant(self.settings.number("padding_value", 0.0), "float32")
        padded = self.add("Pad", [pixels, pads, value])
        return padded, (size[0] + top + bottom, size[1] + left + right)
