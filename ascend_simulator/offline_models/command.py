"""The command `atc` of the simulated NPU: ONNX in, an offline model out."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

from .aipp import insert_preprocessing
from .chips import judge_chip
from .container import Description, Port, write_model
from .errors import ConversionError, refuse_value, report_missing
from .graph import (
    cast_outputs,
    choose_outputs,
    describe_inputs,
    halve_inputs,
    infer_types,
    load_graph,
    locate_outputs,
    set_shapes,
)
from .options import OPTIONS, judge_options, parse_arguments
from .precision import choose_mode, round_graph
from .running import NoRuntime, import_runtime, open_session, try_gears

#: What a framework's number means.
FRAMEWORKS = {"0": "Caffe", "1": "MindSpore", "3": "TensorFlow", "5": "ONNX"}
MARK = "[simulated NPU]"
UNKNOWN_OPERATORS = "whether CANN has every operator of this model is not looked at: see its operator specifications"


def main(arguments: list[str]) -> int:
    """Run the command; return its exit code."""
    try:
        settings = parse_arguments(arguments)
        if "help" in settings or not settings:
            print(describe_usage())
            return 0
        place, about = convert(settings)
    except (ConversionError, NoRuntime) as error:
        print(f"{MARK} ATC run failed. {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{MARK} ATC run failed. {error}", file=sys.stderr)
        return 1
    report_result(settings, place, about)
    return 0


def describe_usage() -> str:
    """Return every option with what the stand-in does with it."""
    lines = [f"{MARK} atc --model=FILE.onnx --framework=5 --output=NAME --soc_version=NAME [--option=value ...]", ""]
    for name, option in OPTIONS.items():
        values = f" {'|'.join(option.values)}" if option.values else ""
        lines.append(f"  --{name}{values}: {option.action}{f' ({option.why})' if option.why else ''}")
    return "\n".join(lines)


def convert(settings: dict[str, str]) -> tuple[Path, Description]:
    """Convert as the options say; return the file and what is known of it. Raises ConversionError, NoRuntime."""
    warnings = judge_options(settings)
    check_required(settings)
    mode = choose_mode(settings)
    warnings += judge_chip(settings["soc_version"], mode.format)
    place = find_place(settings["output"])
    import_runtime()
    model = load_graph(settings["model"])
    gears = set_shapes(model, settings)
    if "out_nodes" in settings:
        choose_outputs(model, settings["out_nodes"], infer_types(model))
    places = locate_outputs(model)
    pictures = insert_preprocessing(model, settings["insert_op_conf"]) if "insert_op_conf" in settings else []
    halve_inputs(model, settings.get("input_fp16_nodes", ""), pictures)
    warnings += round_graph(model, mode, read_kept(settings), infer_types(model))
    if "output_type" in settings:
        cast_outputs(model, settings["output_type"], places, infer_types(model))
    inputs = describe_inputs(model, settings.get("input_format", "NCHW"), pictures)
    graph: bytes = model.SerializeToString()
    outputs = try_gears(open_session(graph), inputs, [port.name for port in model.graph.output], gears)
    about = describe_model(settings, place.stem, inputs, outputs, gears, [*warnings, UNKNOWN_OPERATORS])
    write_model(place, about, graph)
    return place, about


def check_required(settings: dict[str, str]) -> None:
    """Raise ConversionError where an option is missing that a conversion needs, or none like it is here."""
    if settings.get("mode", "0") != "0":
        raise ConversionError(
            f"--mode={settings['mode']} is refused by the simulated NPU: it converts models, with mode 0"
        )
    for name in ("model", "framework", "output", "soc_version"):
        if not settings.get(name):
            raise report_missing(name)
    if settings["framework"] not in FRAMEWORKS:
        raise refuse_value("framework", settings["framework"], f"expected one of {', '.join(FRAMEWORKS)}")
    if settings["framework"] != "5":
        name = FRAMEWORKS[settings["framework"]]
        raise ConversionError(
            f"--framework={settings['framework']} ({name}) is refused by the simulated NPU: export to ONNX"
        )


def find_place(output: str) -> Path:
    """Return the file that is written: the name with `.om` behind it. Raises ConversionError."""
    place = Path(output if output.endswith(".om") else f"{output}.om")
    if not place.parent.is_dir():
        raise refuse_value("output", output, f"there is no folder {place.parent}")
    return place


def read_kept(settings: dict[str, str]) -> list[str]:
    """Return the nodes of --keep_dtype: a file with a name a line. Raises ConversionError."""
    if "keep_dtype" not in settings:
        return []
    try:
        lines = Path(settings["keep_dtype"]).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise refuse_value("keep_dtype", settings["keep_dtype"], f"it cannot be read ({error})") from None
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def describe_model(
    settings: dict[str, str], name: str, inputs: list[Port], outputs: list[Port], gears: list[int], warnings: list[str]
) -> Description:
    """Return what stands beside the graph."""
    source = hashlib.sha256(Path(settings["model"]).read_bytes()).hexdigest()
    return Description(name, settings["soc_version"], inputs, outputs, gears, settings, warnings, source)


def report_result(settings: dict[str, str], place: Path, about: Description) -> None:
    """Print what was made, and the warnings."""
    level = settings.get("log", "info")
    if level not in ("error", "null"):
        for warning in about.warnings:
            print(f"{MARK} warning: {warning}")
    if settings.get("display_model_info") == "1":
        for kind, ports in (("input", about.inputs), ("output", about.outputs)):
            for port in ports:
                print(f"{MARK} {kind} {port.name}: {port.dtype} {port.shape} {port.format}")
    gears = f", batch {about.batches}" if about.batches else ""
    print(f"{MARK} ATC run success: {place} for {about.soc_version}{gears}. It runs on the simulated NPU alone.")
