"""The rows of a comparison by module, and the data flow between them: where it is recorded, and where it is not."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_workbook.findings.report import Column, Report, Table
from ascend_workbook.precision.baselines.packing import pack_capture
from ascend_workbook.precision.compare import compare
from ascend_workbook.precision.layouts import read_dump, read_runs
from ascend_workbook.precision.layouts.entries import parse_module, read_modules, read_sources
from ascend_workbook.precision.record import Module
from ascend_workbook.precision.views import modules
from tests.precision.baselines.bundles import capture_of
from tests.precision.networks import convolutions

GUILTY = "Functional.conv2d.1.forward"
NAMES = [f"Functional.{name}.{call}.forward" for call in range(3) for name in ("conv2d", "batch_norm", "relu")]


def add_modules(root: Path, classes: Sequence[str] = ("Conv2d", "BatchNorm2d", "ReLU")) -> Path:
    """Give a dump of `convolutions` what a capture records: three blocks in a Net, the last without a class of its own.

    block.0.0 is the convolution of the first block, and so on; `relu.2` runs in the model itself."""
    (folder,) = root.glob("step*/*")
    construct: dict[str, str | None] = {"Module.Net.Net.forward.0": None}
    for call in range(3):
        construct[f"Module.block.{call}.Block.forward.0"] = "Module.Net.Net.forward.0"
        for at, (api, kind) in enumerate(zip(("conv2d", "batch_norm", "relu"), classes)):
            own = f"Module.block.{call}.{at}.{kind}.forward.0"
            construct[own] = f"Module.block.{call}.Block.forward.0"
            construct[f"Functional.{api}.{call}.forward"] = own
    construct["Functional.relu.2.forward"] = "Module.Net.Net.forward.0"
    edges = {taker: {"input.0": maker} for maker, taker in zip(NAMES, NAMES[1:])}
    edges[NAMES[6]]["input.1"] = NAMES[2]  # a shortcut
    (folder / "construct.json").write_text(json.dumps(construct))
    (folder / "edges.json").write_text(json.dumps(edges))
    return root


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    folder = tmp_path_factory.mktemp("modules")
    left = add_modules(convolutions(folder / "a"))
    right = add_modules(convolutions(folder / "b", faults={GUILTY: lambda value: value * 1.001}))
    return compare(left, right)


def rows_of(report: Report) -> dict[str, int]:
    assert report.table is not None
    rows: dict[str, int] = {}
    for number, name in enumerate(report.table.column_values("operator")):
        rows.setdefault(str(name), number)
    return rows


def test_the_table_names_the_module_of_each_row(report: Report) -> None:
    assert report.table is not None
    named = dict(zip(report.table.column_values("operator"), report.table.column_values("module")))
    assert named["Functional.conv2d.1.forward"] == named["Functional.conv2d.1.backward"] == "block.1.0"
    assert named["Functional.batch_norm.2.backward"] == "block.2.1" and named["Functional.relu.2.forward"] == "Net"
    (column,) = (column for column in report.table.columns if column.name == "module")
    assert column.detail, "a page's; a terminal has no room"


def test_the_verdict_names_the_module(report: Report) -> None:
    assert report.headline is not None and report.facts["first_divergence"] == GUILTY
    assert "train.py:21 in block.1.0 (Conv2d)" in report.headline.message("en")
    assert "train.py:21（模块 block.1.0，Conv2d）" in report.headline.message("zh")
    assert report.headline.args["operator"] == GUILTY


def test_a_module_has_the_worst_of_what_ran_in_it(report: Report) -> None:
    by_name = {entry["name"]: entry for entry in report.facts["modules"]}
    table, rows = report.table, rows_of(report)
    assert table is not None and [entry["name"] for entry in report.facts["modules"]][:3] == [
        "Net",
        "block.0",
        "block.0.0",
    ]
    guilty = by_name["block.1.0"]
    assert (guilty["class"], guilty["parent"], guilty["first_row"]) == ("Conv2d", "block.1", rows[GUILTY])
    own, allowed = (table.column_values(name)[rows[GUILTY]] for name in ("own_error", "allowed"))
    assert guilty["worst_ratio"] == pytest.approx(own / allowed) and guilty["outcome"] == "diverges"
    assert guilty["rows"] == table.column_values("module").count("block.1.0")
    for outer in ("block.1", "Net"):
        assert by_name[outer]["outcome"] == "diverges" and by_name[outer]["worst_ratio"] == guilty["worst_ratio"]
    assert by_name["block.0"]["outcome"] in ("agrees", "explained") and by_name["block.0"]["worst_ratio"] <= 1
    assert by_name["Net"]["rows"] == len(table.rows) and by_name["Net"]["parent"] is None


@pytest.mark.parametrize(
    ("cells", "ratio"),
    [
        ((0.2, None, 0.1), 2.0),
        ((0.2, 0.05, 0.1), 0.5),  # what it adds itself
        ((0.0, None, 0.0), 0.0),
        ((0.1, None, 0.0), math.inf),
        ((0.1, None, "inf"), 0.0),
        (("inf", None, "inf"), 0.0),
        (("nan", None, 1.0), math.inf),
        ((None, None, 0.1), None),
        ((0.1, None, None), None),
    ],
)
def test_the_ratio_of_a_row(cells: tuple[Any, Any, Any], ratio: float | None) -> None:
    assert modules._ratio_of_row(*cells) == ratio


def test_edges_join_rows_forward_and_back(report: Report) -> None:
    rows, edges = rows_of(report), {tuple(edge) for edge in report.facts["edges"]}

    def edge(maker: str, taker: str) -> tuple[int, int]:
        return rows[f"Functional.{maker}"], rows[f"Functional.{taker}"]

    assert edge("conv2d.1.forward", "batch_norm.1.forward") in edges
    assert edge("relu.0.forward", "conv2d.2.forward") in edges and edge("relu.1.forward", "conv2d.2.forward") in edges
    assert edge("batch_norm.1.backward", "conv2d.1.backward") in edges
    assert edge("conv2d.2.backward", "relu.0.backward") in edges
    assert edge("relu.2.forward", "relu.2.backward") in edges, "where backward begins"
    assert edge("relu.1.forward", "relu.1.backward") not in edges
    assert len(edges) == 9 + 9 + 1


def test_edges_pass_over_calls_without_a_row(tmp_path: Path) -> None:
    left, right = (add_modules(convolutions(tmp_path / side)) for side in "ab")
    report = compare(left, right, only=["conv2d"])
    rows = rows_of(report)
    forward = [rows[f"Functional.conv2d.{call}.forward"] for call in range(3)]
    backward = [rows[f"Functional.conv2d.{call}.backward"] for call in range(3)]
    expected = {(0, 1), (1, 2), (0, 2)}
    assert {tuple(edge) for edge in report.facts["edges"]} == {
        *((forward[a], forward[b]) for a, b in expected),
        *((backward[b], backward[a]) for a, b in expected),
        (forward[2], backward[2]),
    }


def test_the_target_may_lack_what_the_baseline_records(tmp_path: Path, report: Report) -> None:
    left, right = add_modules(convolutions(tmp_path / "a")), convolutions(tmp_path / "b")
    found = compare(left, right)
    assert found.table is not None and len(found.facts["modules"]) == 12
    assert found.facts["edges"] == report.facts["edges"], "the calls are the same"
    plain = compare(right, right)
    assert (plain.facts["modules"], plain.facts["edges"]) == ([], []) and plain.table is not None
    assert set(plain.table.column_values("module")) == {None}


def test_of_many_rows_the_edges_about_the_first_divergence_are_told() -> None:
    """A chain of 900 calls, with a ring of 50 at its middle that has to be in it."""
    names = [f"Torch.add.{call}.forward" for call in range(900)]
    sources = {taker: (maker,) for maker, taker in zip(names, names[1:])}
    sources.update({names[call]: (names[call - 1], names[450]) for call in range(500, 550)})
    run = SimpleNamespace(sources=sources)
    step = SimpleNamespace(step=0, rank=0, pairing=SimpleNamespace(target=run, baseline=run, pairs=()))
    columns = ("step", "rank", "operator", "judgement", "error_out", "own_error", "allowed")
    rows = [(0, 0, name, None, 2.0 if at == 7 else 0.1, None, 1.0) for at, name in enumerate(names)]
    table = Table(tuple(map(Column, columns)), tuple(rows))
    facts: Any = SimpleNamespace(steps=[step])
    edges = modules.find_edges(facts, table, 450)
    nodes = {node for edge in edges for node in edge}
    assert len(nodes) == modules.MOST_NODES and {450, 449, 451, *range(500, 550)} <= nodes and 7 not in nodes
    assert {7, 8} <= {node for edge in modules.find_edges(facts, table, None) for node in edge}, "about the worst"
    short = Table(table.columns, table.rows[: modules.MOST_NODES])
    assert len(modules.find_edges(facts, short, 3)) == modules.MOST_NODES - 1


def test_a_bundle_carries_modules_and_edges(tmp_path: Path) -> None:
    folder = tmp_path / "capture"
    capture_of(folder)
    add_modules(folder / "dump")
    files = pack_capture(folder)
    for name, data in files.items():
        (tmp_path / "packed" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "packed" / name).write_bytes(data)
    (before,), (after,) = read_dump(folder / "dump"), read_dump(tmp_path / "packed" / "dump")
    assert after.around == before.around and after.sources == before.sources and len(after.sources) == 8
    assert [op.module for op in after.operators] == [op.module for op in before.operators]


@pytest.mark.parametrize(("name", "content"), [("construct.json", "[1]"), ("edges.json", '{"a": {"b": 1}}')])
def test_a_damaged_file_is_told_and_the_rest_is_read(tmp_path: Path, name: str, content: str) -> None:
    root = add_modules(convolutions(tmp_path))
    (folder,) = root.glob("step*/*")
    (folder / name).write_text(content)
    (run,), troubles = read_runs(root)
    assert [trouble.key for trouble in troubles] == ["precision.dump_malformed"] and name in str(troubles[0])
    assert len(run.operators) == 18 and bool(run.around) == (name != "construct.json")
    assert bool(run.sources) == (name != "edges.json")


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        ("Module.layer1.0.conv1.Conv2d.forward.0", ("layer1.0.conv1", "Conv2d")),
        ("Module.fc.Linear.backward.12", ("fc", "Linear")),
        ("Cell.fc.Dense.forward.0", ("fc", "Dense")),
        ("Module.Net.forward.0", ("Net", "Net")),
        ("Functional.conv2d.0.forward", None),
        ("optimizer", None),
        ("Module.forward.0", None),
    ],
)
def test_nodes_are_parsed(node: str, expected: tuple[str, str] | None) -> None:
    assert parse_module(node) == (Module(*expected) if expected else None)


PIECES = st.text("abXZ019_", min_size=1, max_size=6)


@settings(deadline=None)
@given(st.recursive(PIECES, lambda inner: st.dictionaries(PIECES, inner, min_size=1, max_size=3), max_leaves=12))
def test_any_tree_of_modules_comes_back(tree: Any) -> None:
    """Written as a capture writes it, then read."""
    construct: dict[str, str | None] = {}
    expected: dict[str, Module] = {}
    around: dict[Module, Module | None] = {}

    def write(name: str, inside: Any, outer: Module | None) -> None:
        module = Module(f"{outer.path}.{name}" if outer else name, "Kind")
        node = f"Module.{module.path}.Kind.forward.0"
        construct[node] = f"Module.{outer.path}.Kind.forward.0" if outer else None
        around[module] = outer
        api = f"Torch.add.{len(expected)}.forward"
        construct[api], expected[api] = node, module
        for child, more in inside.items() if isinstance(inside, dict) else ():
            write(child, more, module)

    write("root", tree, None)
    assert read_modules(construct) == (expected, around)


NODES = st.sampled_from(
    [f"Module.{path}.Kind.forward.0" for path in ("a", "b", "a.b", "c")] + ["Torch.add.0.forward", ""]
)
JUNK = st.recursive(st.none() | st.integers() | NODES, lambda inner: st.lists(inner, max_size=2))


@settings(deadline=None, max_examples=200)
@given(st.dictionaries(NODES | st.text(max_size=5), JUNK | NODES, max_size=8))
def test_any_construct_is_read_without_a_circle(content: dict[str, Any]) -> None:
    _, around = read_modules(content)
    for module in around:
        outer, steps = around[module], 0
        while outer is not None:
            outer, steps = around.get(outer), steps + 1
            assert steps <= len(around), "a circle"


@settings(deadline=None)
@given(JUNK | st.dictionaries(st.text(max_size=3), JUNK | st.dictionaries(st.text(max_size=3), JUNK, max_size=2)))
def test_any_edges_are_read_or_refused(content: Any) -> None:
    try:
        read = read_sources(content)
    except (AttributeError, TypeError):
        return
    assert all(isinstance(maker, str) for makers in read.values() for maker in makers)
