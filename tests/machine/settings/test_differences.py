"""What differs and how great the risk is; what a GPU and an NPU differ in by nature; what is not known is not equal."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ascend_workbook.findings.sentence import load_catalogue
from ascend_workbook.machine.settings import Settings, find_differences, risks
from ascend_workbook.machine.settings.child.settings import VARIABLES
from ascend_workbook.machine.settings.differences import are_comparable, unknown_groups, unknown_machine
from tests.machine.settings.records import GPU, NPU, RUN, SIDES, changed

#: name -> (the NPU's side, group, name of the difference, risk, why)
CASES: dict[str, tuple[Settings, str, str, str, str]] = {
    "torch": (changed(NPU, "packages", torch="2.8.0"), "packages", "torch", "high", "torch"),
    "torch missing": (changed(NPU, "packages", torch=None), "packages", "torch", "high", "torch"),
    "model code": (changed(NPU, "packages", transformers="4.51.0"), "packages", "transformers", "high", "model"),
    "model code missing": (changed(NPU, "packages", transformers=None), "packages", "transformers", "high", "model"),
    "numpy": (changed(NPU, "packages", numpy="2.1.0"), "packages", "numpy", "medium", "arithmetic"),
    "data code": (changed(NPU, "packages", datasets="3.0"), "packages", "datasets", "medium", "data_code"),
    "any package": (changed(NPU, "packages", rich="15.0"), "packages", "rich", "low", "other"),
    "order of ranks' sums": (
        changed(NPU, "environment", HCCL_DETERMINISTIC="false"),
        "environment",
        "HCCL_DETERMINISTIC",
        "high",
        "reduction",
    ),
    "order unset": (
        changed(NPU, "environment", HCCL_DETERMINISTIC=None),
        "environment",
        "HCCL_DETERMINISTIC",
        "high",
        "reduction",
    ),
    "overflow": (
        changed(NPU, "environment", INF_NAN_MODE_ENABLE="0"),
        "environment",
        "INF_NAN_MODE_ENABLE",
        "high",
        "overflow",
    ),
    "hash": (changed(NPU, "environment", PYTHONHASHSEED="1"), "environment", "PYTHONHASHSEED", "medium", "hash"),
    "queue": (changed(NPU, "environment", TASK_QUEUE_ENABLE="2"), "environment", "TASK_QUEUE_ENABLE", "low", "speed"),
    "rounding on one side": (changed(NPU, "flags", matmul_format="hf32"), "flags", "matmul_format", "high", "format"),
    "rounding on both": (NPU, "flags", "conv_format", "low", "formats"),
    "not deterministic": (
        changed(NPU, "flags", deterministic_algorithms=False),
        "flags",
        "deterministic_algorithms",
        "high",
        "deterministic",
    ),
    "benchmark": (changed(NPU, "flags", cudnn_benchmark=True), "flags", "cudnn_benchmark", "medium", "deterministic"),
    "default dtype": (changed(NPU, "flags", default_dtype="float64"), "flags", "default_dtype", "high", "dtype"),
    "threads": (changed(NPU, "flags", threads=1), "flags", "threads", "low", "cpu"),
    "a flag not told": (changed(NPU, "flags", default_dtype=None), "flags", "default_dtype", "low", "unread"),
    "arguments": (replace(NPU, run={**RUN, "args": ["--lr", "0.2"]}), "run", "args", "high", "args"),
    "seed": (replace(NPU, run={**RUN, "seed": 2}), "run", "seed", "high", "seed"),
    "the script's own seed": (
        replace(NPU, run={**RUN, "seeds": [{"call": "torch.manual_seed", "seed": 7}]}),
        "run",
        "seeds",
        "high",
        "seed",
    ),
    "ranks": (replace(NPU, run={**RUN, "nproc": 2}), "run", "nproc", "high", "world"),
    "script": (replace(NPU, run={**RUN, "script_sha256": "cd"}), "run", "script_sha256", "medium", "script"),
    "a weight": (
        replace(NPU, sides={"rank0": {**SIDES["rank0"], "weights": {"w": "x", "v": "float32[2]:bb"}}}),
        "weights",
        "w",
        "high",
        "weights",
    ),
    "a batch": (
        replace(NPU, sides={"rank0": {**SIDES["rank0"], "batches": {"0": ["x"]}}}),
        "batches",
        "0",
        "high",
        "batches",
    ),
    "interpreter": (changed(NPU, "machine", python="3.10.1"), "machine", "python", "low", "python"),
}
#: What the healthy pair differs in, so that a case may be told from it.
BY_NATURE = {(one.group, one.name): one.risk for one in find_differences(GPU, NPU)}


def test_a_gpu_and_an_npu_differ_by_nature_only() -> None:
    assert set(BY_NATURE.values()) <= {"expected", "low"} and not unknown_groups(GPU, NPU)
    assert {name for _, name in BY_NATURE} >= {"tier", "device", "torch", "torch_npu", "cann", "conv_format"}
    assert ("environment", "HCCL_DETERMINISTIC") not in BY_NATURE  # NCCL's answers it
    assert ("environment", "ASCEND_RT_VISIBLE_DEVICES") not in BY_NATURE


def test_a_side_does_not_differ_from_itself() -> None:
    assert find_differences(GPU, GPU) == () and find_differences(NPU, NPU) == ()


@pytest.mark.parametrize("name", CASES)
def test_a_difference_is_named_with_its_risk(name: str) -> None:
    side, group, what, risk, why = CASES[name]
    found = {(one.group, one.name): (one.risk, one.why) for one in find_differences(GPU, side)}
    assert found[group, what] == (risk, why)
    others = {key: told[0] for key, told in found.items() if key != (group, what)}
    assert set(others.values()) <= {"expected", "low"}, others


@pytest.mark.parametrize("name", CASES)
def test_the_riskiest_stands_first(name: str) -> None:
    order = [risks.ORDER.index(one.risk) for one in find_differences(GPU, CASES[name][0])]
    assert order == sorted(order)


def test_two_npus_are_held_to_one_cann() -> None:
    found = find_differences(NPU, changed(NPU, "machine", cann="8.3.RC1"))
    assert [(one.name, one.risk) for one in found] == [("cann", "high")]


def test_a_version_that_a_side_does_not_tell_is_no_difference_and_not_alike() -> None:
    told, silent = changed(NPU, "machine", driver="25.5.0"), changed(NPU, "machine", cann=None)
    assert find_differences(told, silent) == () and unknown_groups(told, silent) == ["machine"]
    assert unknown_machine(told, silent) == ["cann", "driver"]
    assert find_differences(silent, silent) == () and unknown_machine(silent, silent) == ["cann"]
    assert not unknown_machine(NPU, changed(NPU, "machine", count="8"))


def test_captures_are_held_to_one_cann() -> None:
    about = {"tier": "npu", "device": "Ascend910B2"}
    old, new = (
        Settings.of_capture(about, {"rank0": {"settings": {"machine": {"cann": cann, "driver": "25.5.0"}}}})
        for cann in ("8.5.0", "9.0.0")
    )
    assert [(one.name, one.left, one.risk) for one in find_differences(old, new)] == [("cann", "8.5.0", "high")]
    assert "machine" not in unknown_groups(old, new)


@pytest.mark.parametrize(
    ("one", "other", "shown", "why"),
    [
        (None, "", (None, ""), "unread"),
        (None, "tf32", (None, "tf32"), "unread"),
        (None, None, (None, None), "unread"),
        ("", "tf32", ("float32", "tf32"), "format"),
    ],
)
def test_a_flag_that_could_not_be_read_is_no_float32(
    one: str | None, other: str | None, shown: tuple[str | None, ...], why: str
) -> None:
    found = find_differences(*(replace(NPU, flags={"conv_format": value}) for value in (one, other)))
    assert [(row.left, row.right, row.why) for row in found] == [(*shown, why)]


def test_the_rank_that_differs_is_shown() -> None:
    left, right = (
        replace(NPU, sides={f"rank{rank}": {"weights": {"w": value}} for rank, value in enumerate(("1", own))})
        for own in ("1", "2")
    )
    assert [(row.name, row.left, row.right) for row in find_differences(left, right)] == [("w (rank1)", "1", "2")]


def test_what_a_terminal_would_obey_is_written_out() -> None:
    seeds = [{"call": "torch.manual_seed", "seed": "\x1b[2J"}]
    sides = {"rank0": {"weights": {"w": "\x1b[2J"}}}
    made = find_differences(NPU, replace(NPU, run={**RUN, "seeds": seeds, "args": ["a\nb"]}, sides=sides))
    assert {"seeds", "args", "w"} <= {row.name for row in made}
    assert all(str(text).isprintable() for row in made for text in (row.name, row.left, row.right))


def test_a_gpus_own_variables_are_compared_on_gpus() -> None:
    found = find_differences(GPU, changed(GPU, "environment", NCCL_DETERMINISTIC=None))
    assert [(one.name, one.risk) for one in found] == [("NCCL_DETERMINISTIC", "high")]


@pytest.mark.parametrize(
    ("side", "missing"),
    [
        (replace(NPU, run={}), ["run"]),
        (replace(NPU, sides={}), ["weights", "batches"]),
        (replace(NPU, flags={}, untold={"flags": "no torch"}), ["flags"]),
        (replace(NPU, sides={"rank1": SIDES["rank0"]}), ["weights", "batches"]),
        (replace(NPU, sides={"rank0": {**SIDES["rank0"], "batches": {"7": ["x"]}}}), ["batches"]),
        (
            Settings(untold={"packages": "x", "environment": "x", "flags": "x"}),
            ["packages", "environment", "flags", "run", "weights", "batches", "machine"],
        ),
    ],
)
def test_what_is_not_known_is_not_compared(side: Settings, missing: list[str]) -> None:
    assert unknown_groups(GPU, side) == missing
    assert not {one.group for one in find_differences(GPU, side)} & set(missing)


def test_an_older_capture_says_nothing_of_settings() -> None:
    old = Settings.of_capture({"tier": "npu", "seed": 1}, {"rank0": {"weights": {"w": "1"}, "batches": {}}})
    assert unknown_groups(GPU, old) == ["packages", "environment", "flags", "batches"]


def test_the_settings_in_force_win_over_the_machines() -> None:
    about = {"tier": "npu", "device": "Ascend910B2", "seed": 5, "args": []}
    told: dict[str, Any] = {"packages": {"torch": "2.8.0"}, "environment": {}, "flags": {"threads": 2}, "seeds": []}
    made = NPU.with_run(about, {"rank0": {"settings": told, "weights": {"w": "1"}, "batches": {}}})
    assert made.packages == {"torch": "2.8.0"} and made.environment == {} and made.run["seed"] == 5
    assert made.machine["cann"] == "8.5.0" and are_comparable(made.sides, made.sides, "weights")


def test_every_reason_has_words_and_every_risk_a_reason() -> None:
    tables = (risks.VARIABLES, risks.FLAGS, risks.MACHINE, risks.RUN)
    used = {(risk, why) for table in tables for risk, why in table.values()}
    used |= {risks.package_risk(name, "1", "2", False) for name in ("torch", "numpy", "timm", "pillow", "rich")}
    used |= {("high", "weights"), ("high", "batches")}
    for risk, why in used:
        assert f"settings.why.{why}" in load_catalogue()
        assert risk in ("low", "expected") or f"settings.do.{why}" in load_catalogue()


def test_the_listed_variables_are_no_secrets() -> None:
    words = ("KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL", "_AK", "_SK")
    assert not [name for name in VARIABLES if any(word in name for word in words)]
    assert set(risks.VARIABLES) | set(risks.ANSWERS) <= set(VARIABLES)


@pytest.mark.parametrize(
    ("name", "left", "right", "across", "expected"),
    [
        ("torch_npu", "", "2.9.0", True, ("expected", "device")),
        ("torch_npu", "2.9.0", "2.8.0", True, ("high", "torch")),  # on both sides it is no accelerator's own any more
        ("torch_npu", "", "2.9.0", False, ("high", "torch")),
        ("nvidia_cublas", "12", "", True, ("expected", "device")),
        ("nvidia_cublas", "12", "", False, ("low", "other")),
        ("my_nvidia_cublas", "12", "", True, ("low", "other")),
        ("torch", "2.9.0+cu126", "2.9.0", True, ("expected", "build")),
        ("torch", "2.9.0+cu126", "2.9.0+cpu", False, ("expected", "build")),
        ("torch", "2.9.0", "2.8.0", True, ("high", "torch")),
        ("torch", "", "", True, ("high", "torch")),
        ("timm", "1", "", True, ("high", "model")),
        ("pillow", "1", "2", True, ("medium", "data_code")),
        ("scipy", "1", "2", False, ("medium", "arithmetic")),
        ("rich", "1", "2", False, ("low", "other")),
    ],
)
def test_the_risk_of_a_package(name: str, left: str, right: str, across: bool, expected: tuple[str, str]) -> None:
    assert risks.package_risk(name, left, right, across) == expected


def test_a_side_without_a_value_shows_none() -> None:
    here, there = changed(NPU, "machine", driver="25.5.0"), changed(NPU, "packages", numpy=None, scipy="1.13.0")
    shown = {each.name: (each.left, each.right) for each in find_differences(here, there)}
    assert shown == {"numpy": ("1.26.4", None), "scipy": (None, "1.13.0")}
    machines = {each.name: (each.left, each.right) for each in find_differences(GPU, NPU) if each.group == "machine"}
    assert machines == {
        "cann": (None, "8.5.0"),
        "cuda": ("12.6", None),
        "device": ("NVIDIA A100", "Ascend910B2"),
        "arch": ("x86_64", "aarch64"),
        "tier": ("cuda", "npu"),
    }


def test_a_machine_that_does_not_tell_its_tier_is_compared_in_what_both_say() -> None:
    silent = changed(NPU, "machine", tier=None, arch=None, python="3.10.0")
    assert [each.name for each in find_differences(NPU, silent) if each.group == "machine"] == ["python"]
    assert unknown_machine(NPU, silent) == ["tier"]


def test_long_values_are_cut_and_controls_written_out() -> None:
    args = ["x" * 119, "yz"]
    (each,) = find_differences(NPU, replace(NPU, run={**RUN, "args": args}))
    assert each.right == "x" * 119 + " "
    prints = {"rank0": {**SIDES["rank0"], "weights": {"w\n": "a\tb"}}}
    (each,) = find_differences(NPU, replace(NPU, sides=prints))
    assert each.names == ("w", "v", "w\n") and each.name == "w" and each.right is None
    (each,) = find_differences(replace(NPU, sides=prints), replace(NPU, sides={"rank0": {"weights": {"w\n": "c"}}}))
    assert (each.name, each.left, each.right) == (r"w\n", r"a\tb", "c")


def test_fingerprints_of_one_side_alone_are_not_comparable() -> None:
    none, one = {"rank0": {"weights": {}}}, {"rank0": {"weights": {"w": "1"}}}
    assert not are_comparable(none, one, "weights") and not are_comparable(one, none, "weights")
    assert are_comparable({**one, "rank1": none["rank0"]}, {**one, "rank1": one["rank0"]}, "weights")
    assert not are_comparable({"rank0": one["rank0"]}, {"rank1": one["rank0"]}, "weights")


def test_only_steps_that_both_took_are_held_against_each_other() -> None:
    left, right = (
        replace(NPU, sides={"rank0": {"batches": batches}})
        for batches in ({"0": ["a"], "1": ["b"]}, {"1": ["b"], "2": ["c"]})
    )
    assert not [each for each in find_differences(left, right) if each.group == "batches"]


def test_a_gpus_variable_answers_only_where_the_npus_is_not_set() -> None:
    both = changed(NPU, "environment", NCCL_DETERMINISTIC="false")
    (each,) = find_differences(NPU, both)
    assert (each.name, each.left, each.right, each.risk) == ("NCCL_DETERMINISTIC", None, "false", "high")
    assert not [each for each in find_differences(GPU, both) if each.group == "environment"]


def test_a_flag_that_was_not_read_does_not_hide_the_next() -> None:
    found = find_differences(NPU, changed(NPU, "flags", cudnn_benchmark=None, threads=1))
    assert {(row.name, row.why) for row in found} == {("cudnn_benchmark", "unread"), ("threads", "cpu")}


def test_what_a_run_was_started_with_is_shown_of_both_sides() -> None:
    found = find_differences(NPU, replace(NPU, run={**RUN, "seed": 2, "nproc": 8}))
    assert [(row.name, row.left, row.right) for row in found] == [("nproc", 1, 8), ("seed", 1, 2)]


def test_a_rank_of_one_side_alone_is_not_compared() -> None:
    more = {**SIDES, "rank1": {"weights": {"w": "other"}, "batches": {"1": ["other"]}}}
    assert find_differences(NPU, replace(NPU, sides=more)) == find_differences(NPU, NPU)
