"""A plan is read as it is written; each mistake is one error that names the line."""

from __future__ import annotations

from pathlib import Path

import papermill
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ascend_workbook.batch.plan.model import Expected, MetricTarget, Targets
from ascend_workbook.batch.plan.reading import TOP
from ascend_workbook.batch.plan.reading import read_plan as read_file
from ascend_workbook.batch.plan.selection import select_runs
from ascend_workbook.batch.stages import declared_parameters
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import say
from tests.batch.plan.conftest import Read
from tests.conftest import ROOT

STAGES = "stages: [environment, migration]\n"
WHOLE = """name: night
workers: 2
cards: [0, 1]
disk: 20GiB
stages: [migration, environment]
require: npu
parameters: {migration.steps: 4}
defaults: {timeout: 30m, run_timeout: 2h, retries: 0, memory: 4GiB, tags: [nightly]}
matrix:
  script: [a.py, b.py]
  device: [cpu, auto]
  exclude: [{script: b.py, device: cpu}]
  include: [{script: a.py, device: cpu, rate: 1e-3}]
runs:
  - {name: long, script: deep/a.py, require: cpu, cards: 2, tags: [weekly], timeout: 90}
tags: {first: ["a-*"]}
skip: [{run: "b-*", reason: "no <disk>"}]
expect: [{run: "a-*", stage: migration, until: 2030-01-31, reason: known}]
targets: {metric: [{name: loss, within: 1%}, {name: accuracy, within: 0.01}], throughput: {at_least: 80%}}
"""


def test_everything_that_a_plan_may_say(read: Read, stand_ins: Path) -> None:
    plan = read(WHOLE)
    assert [item.name for item in plan.items] == ["a-cpu-rate=0.001", "a-auto", "long"]
    first, _, long = plan.items
    assert first.parameters == {
        "migration.steps": "4",
        "script": str(stand_ins / "a.py"),
        "device": "cpu",
        "rate": "0.001",
    }
    assert (first.stages, first.require, first.tags) == (("environment", "migration"), "npu", ("nightly", "first"))
    assert (first.timeout_s, first.run_timeout_s, first.retries, first.memory_mb) == (1800, 7200, 0, 4096)
    assert (long.require, long.cards, long.tags, long.timeout_s) == ("cpu", 2, ("nightly", "weekly"), 90)
    assert (plan.workers, plan.card_ids, plan.disk_mb) == (2, (0, 1), 20480)
    assert [(one.name, one.why) for one in plan.left_out] == [("b-auto", "no <disk>")]
    assert plan.expect == (Expected("a-*", "2030-01-31", "known", "migration"),)
    assert plan.targets == Targets((MetricTarget("loss", 0.01, True), MetricTarget("accuracy", 0.01)), 0.8)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("matrix:\n  stpes: [1]", ["line 3", "parameter stpes", "Did you mean steps"]),
        ("matirx: {steps: [1]}", ["line 2", "the top level has 'matirx'", "Did you mean matrix"]),
        ("runs: [{name: a}]\nzzzzzz: 1", ["line 3", "'zzzzzz'", "\nKnown: cards"]),
        ("runs: [{name: a, devcie: cpu}]", ["runs[1] has 'devcie'", "Did you mean device"]),
        ("runs: [{name: a, parameters: {zzzzzz: 1}}]", ["parameter zzzzzz", "What they declare: "]),
        ("runs: [{name: a, device: gpu}]", ["'gpu'", "Did you mean cuda"]),
        ("matrix: {steps: 1}", ["matrix.steps is 1", "a list"]),
        ("matrix: {steps: []}", ["matrix.steps is a list", "at least one"]),
        ("matrix: {steps: [1, 1]}", ["matrix.steps[2] has 1 a second time"]),
        ("matrix: {steps: [true]}", ["matrix.steps[1] is true", "a whole number"]),
        ("matrix: {steps: [3.0]}", ["is 3.0", "a whole number"]),
        ("matrix: {steps: ['3']}", ['is "3"', "a whole number"]),
        ("matrix: {steps: [010]}", ['is "010"', "a whole number"]),
        ("matrix: {fast: [1]}", ["is 1", "true or false"]),
        ("matrix: {rate: [true]}", ["is true", "expected a number"]),
        ("matrix: {steps: [1], steps: [2]}", ["'steps' is there twice"]),
        ("matrix: {lang: [fr]}", ["'fr'", "en, zh"]),
        ("matrix: {device: [npuu]}", ["'npuu'", "Did you mean npu?"]),
        ("matrix: {script: [c.py]}", ["c.py, which is not there", "relative to the plan's folder"]),
        ("matrix: {script: [deep]}", ["deep, which is not there"]),
        ("matrix: {baseline: [nowhere]}", ["nowhere, which is not there"]),
        ("matrix: {run_dir: [x]}", ["no notebook", "run_dir"]),
        ("matrix: {steps: [1], exclude: [{steps: 2}]}", ["excludes steps 2", "axis: 1"]),
        ("matrix: {steps: [1], exclude: [{stesp: 1}]}", ["'stesp'", "Did you mean steps"]),
        ("matrix: {steps: [1], exclude: [{steps: 1}]}", ["has no run"]),
        ("matrix: {steps: [1], include: [1]}", ["matrix.include[1] is 1", "a mapping"]),
        ("runs: {steps: 1}", ["runs is a mapping", "a list"]),
        ("runs: [{name: ../x}]", ["runs[1].name", "a plain folder name"]),
        ("runs: [{name: con}]", ["a plain folder name"]),
        ("runs: [{name: index.html}]", ["a plain folder name"]),
        ("runs: [{name: 7}]", ["runs[1].name is 7", "a text"]),
        ("runs: [{name: A}, {name: a}]", ["share the folder a", "the other: A"]),
        ("runs: [{device: cpu}, {device: cpu}]", ["share the folder cpu"]),
        ("runs: [{name: a, stages: precison}]", ["'precison'", "Did you mean precision"]),
        ("runs: [{name: a, stages: []}]", ["runs[1].stages is a list", "at least one"]),
        ("runs: [{name: a, timeout: 1:30}]", ['is "1:30"', "90s, 30m"]),
        ("runs: [{name: a, timeout: 0}]", ["90s, 30m"]),
        ("runs: [{name: a, retries: true}]", ["is true", "a whole number from 0"]),
        ("runs: [{name: a, memory: 4}]", ["is 4", "4GB"]),
        ("runs: [{name: a, parameters: {steps: [1, 2]}}]", ["parameters.steps is a list", "`matrix:`"]),
        ("runs: [{name: a, parameters: {steps: }}]", ["is empty"]),
        ("runs: [{name: a, script: a.py, parameters: {script: b.py}}]", ["'script' is there twice"]),
        ("runs: [{name: a}]\nrequire: npu\ndefaults: {require: cpu}", ["line 4", "'require' is there twice", "line 3"]),
        ("runs: [{name: a}]\nparameters: {stepps: 1}", ["parameter stepps", "Did you mean steps"]),
        ("runs: [{name: a}]\nworkers: 0", ["workers is 0"]),
        ("runs: [{name: a}]\ncards: [0, 0]", ["cards[2] has 0 a second time"]),
        ("runs: [{name: a}]\ntags: {slow: ['b*']}", ["'b*', which no run of the plan matches"]),
        ("runs: [{name: a}]\nskip: [{run: a}]", ["has no 'reason'"]),
        ("runs: [{name: a}]\nexpect: [{run: a, until: 2026-02-30, reason: x, state: red}]", ["2026-02-30", "a day"]),
        ("runs: [{name: a}]\nexpect: [{run: a, until: tomorrow, reason: x, state: red}]", ["tomorrow", "a day"]),
        (
            "runs: [{name: a}]\nexpect: [{run: a, until: 2026-02-20, reason: x}]",
            ["line 3", "any failure", "`stage: precision`"],
        ),
        ("runs: [{name: a}]\nexpect: [{run: a, until: 2026-02-20, reason: x, says: '*'}]", ["any failure"]),
        ("runs: [{name: a}]\nexpect: [{run: a, until: 2026-02-20, reason: x, says: '?*'}]", ["any failure"]),
        (
            "runs: [{name: a}]\nexpect: [{run: a, until: 2026-02-20, reason: x, state: timeout}]",
            ["line 3", "timeout", "timed_out"],
        ),
        ("runs: [{name: a}]\nexpect: [{run: a, until: 2026-02-20, reason: x, stage: precision}]", ["no run"]),
        ("runs: [{name: a}]\ntargets: {throughput: {at_least: 0}}", ["is 0", "a share"]),
        ("runs: [{name: a}]\ntargets: {metric: {name: loss, within: -1}}", ["is -1"]),
        ("runs: [{name: a}]\ntargets: {speed: 1}", ["'speed'"]),
        ("[1, 2]", ["line 1", "a mapping"]),
        ("", ["is empty"]),
        ("name: x", ["has no run"]),
        ("a: b: c", ["cannot be read", "line 1, column 5", "needs quotes"]),
        ("a: 1\n---\nb: 1", ["cannot be read", "a second document"]),
        ("a: {b: 1", ["line 2", "a [ or { that is not closed"]),
        ("a:\n\t- b", ["line 2, column 1", "a tab"]),
        ("a: 'b", ["a quote that is not closed"]),
        ("a: *b", ["line 1, column 4", "an alias (*name) that nothing defines"]),
        ("a: 1\n- b", ["line 2, column 1", "the indentation does not fit"]),
        ('runs: [{name: "\\u00e9"}, {name: "e\\u0301"}]', ["two runs would share the folder"]),
        ('runs: [{name: "a\\u202eb\\nc"}]', [r'is "a\u202eb\nc"', "a plain folder name"]),
        ("a: \x07", ["a character that YAML does not allow"]),
        ("name: !!python/object/apply:os.system [true]", ["plain values"]),
        ("name: !!python/name:os.system x", ["the tag !!python/name:os.system"]),
        ("? [a]\n: 1", ["is itself a list"]),
        ("a: &a [*a]", ["larger than a plan may be"]),
        ("[" * 5000, ["larger than a plan may be"]),
        (
            f"matrix: {{steps: [{', '.join(map(str, range(400)))}], rate: [{', '.join(map(str, range(400)))}]}}",
            ["makes 160000 runs (steps 400 × rate 400), more than 100000"],
        ),
    ],
)
def test_a_mistake_is_one_error_with_its_line(read: Read, text: str, told: list[str]) -> None:
    with pytest.raises(WorkbookError) as caught:
        read(text if text.startswith(("[", "a:", "?")) or not text else STAGES + text)
    said = str(caught.value)
    assert "plan.yaml" in said and all(each in said for each in told), said
    assert caught.value.message("zh") and caught.value.hint("zh")


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n" for old, new in zip("abcdefgh", "bcdefghi")
)


def test_aliases_that_multiply_are_bounded(read: Read) -> None:
    with pytest.raises(WorkbookError, match="larger than a plan may be"):
        read(BOMB)


def test_an_alias_may_be_used(read: Read) -> None:
    plan = read(STAGES + "parameters: {steps: &n 3}\nruns: [{name: a, parameters: {environment.steps: *n}}]")
    assert plan.items[0].parameters == {"steps": "3", "environment.steps": "3"}


def test_what_is_for_all_runs_goes_where_it_is_declared(read: Read, stand_ins: Path) -> None:
    book = stand_ins / "notebooks" / "en" / "02_migration.ipynb"
    book.write_text(book.read_text().replace("steps: int", "laps: int"))
    plan = read("parameters: {laps: 2}\nruns: [{name: a, stages: environment}, {name: b, stages: migration}]")
    assert [item.parameters for item in plan.items] == [{}, {"laps": "2"}]


def test_scripts_of_the_same_name_are_told_apart(read: Read) -> None:
    plan = read(STAGES + "matrix: {script: [a.py, deep/a.py]}")
    assert [item.name for item in plan.items] == ["a", "deep_a"]


def test_an_axis_that_a_run_does_not_take_is_refused(read: Read, stand_ins: Path) -> None:
    book = stand_ins / "notebooks" / "en" / "02_migration.ipynb"
    book.write_text(book.read_text().replace("steps: int", "laps: int"))
    with pytest.raises(WorkbookError, match="no notebook of run migration-steps=1"):
        read("matrix: {stages: [environment, [migration]], steps: [1]}")


def test_the_example_of_the_help_is_a_plan(tmp_path: Path) -> None:
    text = say("help.run.about", "en").split("may say:\n\n")[1].split("\n\n")[0]
    path = tmp_path / "plan.yaml"
    path.write_text(text)
    plan = select_runs(path, lang="en")
    assert set(yaml.safe_load(text)) == set(TOP)
    assert len(plan.items) == 6 and [one.name for one in plan.left_out] == ["gpt_text-cpu-migration.look_at="]
    assert plan.items[-1].name == "long" and plan.items[-1].tags == ("nightly", "weekly")


@pytest.mark.parametrize("page", ["batch.md", "batch.zh-CN.md"])
def test_the_plan_of_the_page_is_one(tmp_path: Path, page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8").split("```yaml\n")[1].split("```")[0]
    for name in ("train_a.py", "train_b.py"):
        (tmp_path / name).write_text("x = 1\n")
    path = tmp_path / "plan.yaml"
    path.write_text(text)
    assert len(select_runs(path, lang="en").items) == 4


def test_parameters_are_read_as_papermill_reads_them() -> None:
    for path in sorted((ROOT / "notebooks" / "en").glob("0*.ipynb")):
        seen = {name: one["inferred_type_name"] for name, one in papermill.inspect_notebook(str(path)).items()}
        assert declared_parameters(path) == seen and seen


PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6) | st.dates()
KEYS = st.sampled_from(
    [
        "name",
        "matrix",
        "runs",
        "steps",
        "script",
        "tags",
        "skip",
        "expect",
        "targets",
        "metric",
        "stages",
        "include",
        "exclude",
        "run",
        "until",
        "parameters",
        "defaults",
    ]
)
VALUES = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS | PLAIN, inner, max_size=4), max_leaves=12
)
QUIET = settings(
    max_examples=100, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@QUIET
@given(value=st.dictionaries(KEYS, VALUES, max_size=4) | VALUES)
def test_no_value_makes_another_error(stand_ins: Path, value: object) -> None:
    path = stand_ins / "any.yaml"
    path.write_text(yaml.dump(value, allow_unicode=True), encoding="utf-8")
    try:
        select_runs(path, lang="en", notebooks=stand_ins / "notebooks")
    except WorkbookError as error:
        assert "any.yaml" in str(error) or error.key == "plan.run"


@QUIET
@given(data=st.binary(max_size=60) | st.text(alphabet="abm:-[]{}&*!|>'\"#%\n 01.", max_size=80).map(str.encode))
def test_no_bytes_make_another_error(stand_ins: Path, data: bytes) -> None:
    path = stand_ins / "any.yaml"
    path.write_bytes(data)
    with pytest.raises(WorkbookError, match=r"any\.yaml"):
        read_file(path, "en")
