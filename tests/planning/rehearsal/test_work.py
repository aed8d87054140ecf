"""What a step asked of the device, read back, and what the script read of values that nobody computed."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ascend_workbook.migration.rewrite.change import INJECT
from ascend_workbook.planning.rehearsal import reads
from ascend_workbook.planning.rehearsal.reads import Read, format_assumptions, load_reads
from ascend_workbook.planning.rehearsal.times import list_kernels
from ascend_workbook.planning.rehearsal.work import Call, Collective, Copy, HostWait, Mark, Wait, load_work


def task(
    kind: str, name: str, inputs: str = "", in_types: str = "", outputs: str = "", out_types: str = "", **more: object
) -> str:
    fields = {"kind": kind, "name": name, "input_shapes": inputs, "input_types": in_types}
    return json.dumps({**fields, "output_shapes": outputs, "output_types": out_types, **more})


def write_tasks(folder: Path, *lines: str) -> None:
    data = folder / "PROF_1" / "host" / "data"
    data.mkdir(parents=True)
    (data / "simulated_tasks.jsonl").write_text("\n".join(lines))


def test_tasks_of_a_step(tmp_path: Path) -> None:
    traffic = [{"peer": 1, "sent": 40, "received": 20}, {"peer": 2, "sent": 2, "received": 1}]
    write_tasks(
        tmp_path,
        task("kernel", "aten::mm", "2,3;3,4", "FLOAT;FLOAT", "2,4", "FLOAT"),
        task("kernel", "aten::add", "2,4;;5", "FLOAT;FLOAT;N/A", "2,4", "FLOAT"),
        task("copy", "MEMCPY_ASYNC", "", "FLOAT"),
        task("collective", "hcom_allReduce_", group="g", count=10, data_type="fp32", traffic=traffic),
    )
    work = load_work(tmp_path)
    assert work is not None and work.tasks[2] == Copy(reads=True)
    assert work.calls[0] == Call("aten::mm", ((2, 3), (3, 4)), ("FLOAT", "FLOAT"), ((2, 4),), ("FLOAT",))
    assert work.calls[1].inputs == ((2, 4), (), (5,))
    assert work.collectives == (Collective("hcom_allReduce", "g", 10, "fp32", 42, 21, 2, partners=(1, 2)),)
    assert load_work(tmp_path / "none") is None


def test_what_waits_for_what(tmp_path: Path) -> None:
    orders = [{"kind": "mark", "stream": 3, "number": 7}, {"kind": "wait", "stream": 1, "number": 7}]
    lines = [json.dumps(order) for order in (*orders, {"kind": "host_wait", "stream": -1, "number": 0})]
    more = {"group": "g", "count": 1, "data_type": "fp32", "traffic": [], "stream": 3, "rank": 1}
    write_tasks(tmp_path, task("collective", "hcom_send_", **more), *lines)
    work = load_work(tmp_path)
    assert work is not None
    assert work.tasks == (
        Collective("hcom_send", "g", 1, "fp32", 0, 0, 0, stream=3, rank=1),
        Mark(3, 7),
        Wait(1, 7),
        HostWait(-1, 0),
    )


def test_a_product_has_its_operands_as_they_lie_in_memory(tmp_path: Path) -> None:
    operands = ("4,8;8,6", "DT_BF16;DT_BF16", "4,6", "DT_BF16")
    write_tasks(
        tmp_path,
        task("kernel", "aten::mm", *operands, turned="0"),
        task("kernel", "aten::mm", *operands, turned="1"),
        task("kernel", "aten::add.Tensor", "4,8;4,8", "FLOAT;FLOAT", "4,8", "FLOAT", turned="0,1"),
    )
    work = load_work(tmp_path)
    assert work is not None and work.calls[0].turned == (0,)
    shapes = [list_kernels(call)[-1].inputs[:2] for call in work.calls]
    assert shapes == [((8, 4), (8, 6)), ((4, 8), (6, 8)), ((4, 8), (4, 8))], "only products are taken as they lie"


def test_two_ranks_that_do_the_same_have_one_signature(tmp_path: Path) -> None:
    line = task("kernel", "aten::mm", "2,3;3,4", "FLOAT;FLOAT", "2,4", "FLOAT")
    for name, lines in (("a", [line]), ("b", [line]), ("c", [line, line])):
        write_tasks(tmp_path / name, *lines)
    a, b, c = (load_work(tmp_path / name) for name in "abc")
    assert a and b and c and a.signature == b.signature != c.signature


def test_reads_are_each_place_once(tmp_path: Path) -> None:
    path = tmp_path / "reads.jsonl"
    first = {"file": "train.py", "line": 8, "operator": "item", "value": "1", "sets_shape": False}
    watched = {**first, "file": f"{reads.OURS}/machine/launch/child/gauges.py"}
    lines = [
        json.dumps(watched),
        json.dumps(first),
        json.dumps({**first, "value": "2"}),
        json.dumps({**first, "line": 9, "sets_shape": True}),
    ]
    path.write_text("\n".join([*lines, '{"file": "train.py", "li']))  # the last half written
    assert load_reads(path) == [Read("train.py", 8, "item", "1"), Read("train.py", 9, "item", "1", True)]
    assert load_reads(tmp_path / "none") == []


def test_assumptions_are_joined() -> None:
    before = b"import torch\nx = 1\nloss.item()\n"
    after = b"import torch\nimport torch_npu\nfrom torch_npu import transfer\nx = 1\nloss.item()\n"
    texts = {Path("/a/pkg/train.py"): before, Path("/a/rain.py"): before}
    original: Any = SimpleNamespace(texts=texts, migrate_texts=lambda mode: dict.fromkeys(texts, after))
    given = ["train.py:3=2.5", " rows=0.5 ", "", "pkg/train.py:1=0", "other.py:9=1"]
    expected = "train.py:5=2.5;rows=0.5;pkg/train.py:1=0;other.py:9=1"  # lines as the migrated file has them
    assert format_assumptions(given, original, INJECT) == expected
    assert format_assumptions(["rows=0.5"], original, INJECT) == "rows=0.5"
