"""What belongs on which page: the verbs, the functions, the folders of rules."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module

import helpers
from ascend_workbook.cli.help_page import describe_verb
from ascend_workbook.cli.main import build_parser, verb_names
from ascend_workbook.cli.parser import Parser


@dataclass(frozen=True)
class Stage:
    """`rules` are packages, `codes` how the codes of its findings begin; the names are in both languages (en, zh)."""

    name: str
    title: tuple[str, str]
    about: tuple[str, str]
    verbs: tuple[str, ...]
    functions: tuple[str, ...]
    rules: tuple[tuple[str, tuple[str, str]], ...]
    codes: tuple[str, ...]


ENVIRONMENT = Stage(
    "environment",
    ("Environment", "环境检查"),
    (
        "Facts are what this machine has; the verdict says ready, simulated or blocked.",
        "事实是这台机器上有什么；结论是就绪、模拟或受阻。",
    ),
    ("check", "setup", "launch-facts", "explain", "selftest"),
    (
        "check",
        "compute_check",
        "environment_check",
        "launch_facts",
        "set_up",
        "save_settings",
        "compare_settings",
        "explain",
        "selftest",
    ),
    (("ascend_workbook.environment.rules", ("The machine", "本机")),),
    ("ENV", "EXP", "SLF"),
)
MIGRATION = Stage(
    "migration",
    ("Migration", "迁移"),
    (
        "Facts are the source; the verdict says what is automatic, by hand or impossible.",
        "事实是源码；结论是哪些可自动完成、哪些需手工处理、哪些不支持。",
    ),
    ("scan", "assess", "rewrite", "operators", "dry-run", "migrate"),
    ("scan", "assess", "rewrite", "operators", "dry_run", "migrate"),
    (("ascend_workbook.migration.rules", ("Places in the source", "源码中的位置")),),
    ("MIG",),
)
PRECISION = Stage(
    "precision",
    ("Precision", "精度对齐"),
    (
        "Facts are two runs, paired operator by operator; the verdict says where they part.",
        "事实是逐算子配对的两次运行；结论是二者从何处分开。",
    ),
    ("capture", "baseline", "align", "compare", "attempts", "curves", "watch", "inspect-data", "advise", "verify"),
    (
        "capture",
        "baseline",
        "bisect",
        "align",
        "compare",
        "layers",
        "tolerances",
        "attempts",
        "curves",
        "watch",
        "watch_training",
        "inspect_data",
        "advise",
        "verify",
    ),
    (
        ("ascend_workbook.precision.rules", ("Two captures", "两份采集")),
        ("ascend_workbook.precision.advice.rules", ("Known causes", "已知原因")),
    ),
    ("ACC",),
)
PROFILING = Stage(
    "profiling",
    ("Profiling", "性能分析"),
    (
        "Facts are a trace; the verdict says what costs most, and the most that a change can gain.",
        "事实是性能数据；结论是什么耗时最多，以及改动最多能带来多少收益。",
    ),
    ("profile", "benchmark", "analyse", "calibrate"),
    ("profile", "recording", "benchmark", "analyse", "calibrate"),
    (
        ("ascend_workbook.profiling.rules", ("One profile", "一份性能数据")),
        ("ascend_workbook.profiling.ranks.rules", ("Many ranks", "多个 rank")),
        ("ascend_workbook.profiling.compare.rules", ("Against a baseline", "与基线对比")),
        ("ascend_workbook.profiling.benchmark.rules", ("The benchmark", "基准测试")),
    ),
    ("PRF",),
)
PLANNING = Stage(
    "planning",
    ("Planning", "规划"),
    (
        "Facts are a rehearsal at full size, or a model's dimensions; the verdict says whether it would fit.",
        "事实是全尺寸预演，或模型的尺寸；结论是能否放得下。",
    ),
    ("rehearse", "plan"),
    ("rehearse", "plan"),
    (("ascend_workbook.planning.strategy.rules", ("Hyper-parameters", "超参数")),),
    ("PLN",),
)
INFERENCE = Stage(
    "inference",
    ("Inference", "推理"),
    (
        "Facts are two forms of one network on the same inputs; the verdict says where they part, and what that costs.",
        "事实是同一网络的两种形式在相同输入上的结果；结论是从何处分离、代价多少。",
    ),
    ("export", "compare-om", "quantise", "serving"),
    ("export", "compare_om", "quantise", "serving"),
    (),
    ("INF",),
)
SIX = (ENVIRONMENT, MIGRATION, PRECISION, PROFILING, PLANNING, INFERENCE)
BATCH = Stage(
    "batch",
    ("Across the stages", "贯穿各阶段"),
    (
        "Facts are the notebooks' outcomes and the reports of a run; the verdict says all green, or the first red.",
        "事实是各笔记本的结果与一次运行的报告；结论是全部通过，或第一个未通过者。",
    ),
    tuple(sorted(set(verb_names()) - {verb for stage in SIX for verb in stage.verbs})),
    ("run", "accept"),
    (("ascend_workbook.batch.acceptance.rules", ("The acceptance checklist", "验收清单")),),
    ("ACP", "RUN", "STO"),
)
STAGES = (*SIX, BATCH)


#: Options that every command has: told once, not at each.
COMMON = ("--help", "--json", "--html", "--junit", "--lang")


@dataclass(frozen=True)
class Command:
    """`usage` is `ascend-workbook storage upload ...` where a verb has commands of its own; `first` what it does."""

    usage: str
    first: str


@cache
def whole_parser() -> Parser:
    """Return the parser with all verbs."""
    return build_parser()


def list_commands(verb: str, lang: str) -> Iterator[Command]:
    """Yield the verb, or its own commands where it has such."""
    parser = whole_parser().below[verb]
    for below in parser.below.values() or [parser]:
        options = (option for option in below.options if option.flag not in COMMON and not option.row.hidden)
        words = (f"[{option.usage_text}]" if not option.is_required else option.usage_text for option in options)
        yield Command(" ".join([below.prog, *words]), describe_verb(below, lang))


def signature_of(name: str) -> str:
    """Return a function's signature without types; raise TypeError where it is no function of ours with source."""
    function = inspect.unwrap(
        getattr(import_module(helpers._VERBS[name]), name)
    )  # `ascend_workbook.selftest` is a package too
    tree = ast.parse(inspect.getsource(function)).body[0]
    if not isinstance(tree, ast.FunctionDef):
        raise TypeError(f"helpers.{name} is no function")
    for argument in (*tree.args.args, *tree.args.kwonlyargs, tree.args.vararg, tree.args.kwarg):
        if argument is not None:
            argument.annotation = None
    return f"{name}({ast.unparse(tree.args)})"
