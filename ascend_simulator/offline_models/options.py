"""The options of ATC, each with what the stand-in does with it: acts, warns that it changes nothing here, or refuses.

Names and values are those of CANN's public pages (https://www.hiascend.com/document, "ATC", CANN 6.0 to 9.1): the
overviews atctool_0041 and atlasatc_16_0038, the groups atlasatc_16_0083 (model), _0096 and _0100 (operators), _0110
(debugging), and a page per option, atlasatcparam_16_NNNN. An option that is on none of them is an error."""

from __future__ import annotations

from dataclasses import dataclass

from .errors import ConversionError, refuse_value

ACT, WARN, REFUSE = "acts", "warns", "refuses"
DEVICE = "it is about how a device runs the same graph"
FILES = "nothing is compiled for a device, so there are no such files"


@dataclass(frozen=True)
class Option:
    """What happens to an option, why where it does not act, and the values that its page names (none: any)."""

    action: str
    why: str = ""
    values: tuple[str, ...] = ()


SWITCH, TRUTH = ("0", "1"), ("true", "false")
OPTIONS = {
    "help": Option(ACT),
    "mode": Option(ACT),
    "model": Option(ACT),
    "framework": Option(ACT),
    "input_format": Option(ACT, values=("NCHW", "ND")),
    "input_shape": Option(ACT),
    "dynamic_batch_size": Option(ACT),
    "output": Option(ACT),
    "output_type": Option(ACT),
    "soc_version": Option(ACT),
    "out_nodes": Option(ACT),
    "input_fp16_nodes": Option(ACT),
    "insert_op_conf": Option(ACT),
    "precision_mode": Option(ACT),
    "precision_mode_v2": Option(ACT),
    "keep_dtype": Option(ACT),
    "log": Option(ACT, values=("debug", "info", "warning", "error", "null")),
    "display_model_info": Option(ACT, values=SWITCH),
    # what a device would do, and no number changes
    "core_type": Option(WARN, DEVICE, ("VectorCore", "AiCore")),
    "aicore_num": Option(WARN, DEVICE),
    "disable_reuse_memory": Option(WARN, DEVICE, SWITCH),
    "fusion_switch_file": Option(WARN, "no operators are fused here"),
    "enable_scope_fusion_passes": Option(WARN, "no operators are fused here"),
    "enable_single_stream": Option(WARN, DEVICE, TRUTH),
    "enable_small_channel": Option(WARN, DEVICE, SWITCH),
    "ac_parallel_enable": Option(WARN, DEVICE, SWITCH),
    "buffer_optimize": Option(WARN, DEVICE, ("l1_optimize", "l2_optimize", "off_optimize")),
    "mdl_bank_path": Option(WARN, "tuning results of a device are not read"),
    "op_bank_path": Option(WARN, "tuning results of a device are not read"),
    "oo_level": Option(WARN, "the graph runs as it is", ("O1", "O3")),
    "oo_constant_folding": Option(WARN, "the graph runs as it is", TRUTH),
    "oo_dead_code_elimination": Option(WARN, "the graph runs as it is", TRUTH),
    "op_select_implmode": Option(WARN, "operators have one implementation here; a device's results differ by it"),
    "optypelist_for_implmode": Option(WARN, "operators have one implementation here; a device's results differ by it"),
    "op_precision_mode": Option(WARN, "operators have one implementation here; a device's results differ by it"),
    "allow_hf32": Option(WARN, "HF32 is not emulated in offline models", TRUTH),
    "deterministic": Option(WARN, "results are deterministic here", SWITCH),
    "atomic_clean_policy": Option(WARN, DEVICE, SWITCH),
    "status_check": Option(WARN, "overflow is looked for by comparing node by node", SWITCH),
    "check_report": Option(WARN, "no report of a check is written"),
    "dump_mode": Option(WARN, "it belongs to --mode=1, which is refused", SWITCH),
    "debug_dir": Option(WARN, FILES),
    "op_compiler_cache_mode": Option(WARN, FILES, ("enable", "disable", "force")),
    "op_compiler_cache_dir": Option(WARN, FILES),
    "op_debug_level": Option(WARN, FILES, ("0", "1", "2", "3", "4")),
    "op_debug_config": Option(WARN, FILES),
    "op_debug_list": Option(WARN, FILES),
    "quant_dumpable": Option(WARN, "every tensor of the graph can be looked at here", SWITCH),
    # what would change the result in a way that is not here
    "weight": Option(REFUSE, "it belongs to Caffe models"),
    "om": Option(REFUSE, "it belongs to --mode=1"),
    "json": Option(REFUSE, "it belongs to --mode=1"),
    "singleop": Option(REFUSE, "single operators are not converted here"),
    "input_shape_range": Option(REFUSE, "ranges of shapes are not run here; use --dynamic_batch_size"),
    "dynamic_image_size": Option(REFUSE, "gears of image sizes are not run here yet"),
    "dynamic_dims": Option(REFUSE, "gears of any dimensions are not run here yet"),
    "shape_generalized_build_mode": Option(REFUSE, "shapes are not generalized here"),
    "op_name_map": Option(REFUSE, "operators of one's own are not run here"),
    "is_input_adjust_hw_layout": Option(REFUSE, "the layout NC1HWC0 is not run here"),
    "is_output_adjust_hw_layout": Option(REFUSE, "the layout NC1HWC0 is not run here"),
    "modify_mixlist": Option(REFUSE, "CANN's own list of operators, which it changes, is not public"),
    "customize_dtypes": Option(REFUSE, "data types by operator are not emulated; --keep_dtype is"),
    "is_weight_clip": Option(REFUSE, "clipping weights is not emulated"),
    "compress_weight_conf": Option(REFUSE, "weights are not compressed here"),
    "enable_compress_weight": Option(REFUSE, "weights are not compressed here"),
    "compression_optimize_conf": Option(REFUSE, "quantising while converting is not here"),
    "sparsity": Option(REFUSE, "sparse weights are not emulated"),
}


def parse_arguments(arguments: list[str]) -> dict[str, str]:
    """Return the options by name: `--a=b`, `--a b` and `-a b`, words joined by `-` or `_`. Raises ConversionError."""
    settings: dict[str, str] = {}
    words = iter(arguments)
    for word in words:
        name, equals, value = word.partition("=")
        if not name.startswith("-"):
            raise ConversionError(f"{word!r} is no option: options are written --name=value")
        name = name.lstrip("-").replace("-", "_")
        name = "help" if name == "h" else name
        if name not in OPTIONS:
            raise ConversionError(f"--{name}: no public page of ATC has this option")
        if not equals and name != "help":
            following = next(words, None)
            if following is None or following.startswith("--"):
                raise refuse_value(name, "", "no value was given")
            value = following
        if name in settings:
            raise refuse_value(name, value, "the option was given twice")
        settings[name] = value
    return settings


def judge_options(settings: dict[str, str]) -> list[str]:
    """Return the warnings that the options ask for. Raises ConversionError where one is refused."""
    warnings = []
    for name, value in settings.items():
        option = OPTIONS[name]
        if option.action == REFUSE:
            raise ConversionError(f"--{name} is refused by the simulated NPU: {option.why}")
        if option.values and value not in option.values:
            raise refuse_value(name, value, f"expected one of {', '.join(option.values)}")
        if option.action == WARN:
            warnings.append(f"--{name} changes nothing here: {option.why}")
    return warnings
