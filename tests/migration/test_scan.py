"""scan: folders, what was not looked at, statuses and the report."""

from __future__ import annotations

import gc
import json
import random
import sysconfig
from pathlib import Path

import pytest

from ascend_workbook.cli.main import main
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import say
from ascend_workbook.migration.assess import assess
from ascend_workbook.migration.reading.source import decode_bytes, parse_text, read_source
from ascend_workbook.migration.reading.undecoded import LARGEST_BYTES, Unreadable
from ascend_workbook.migration.registry import choose_rules, load_rules
from ascend_workbook.migration.repair import CLASSES, CONFIDENCE, class_of
from ascend_workbook.migration.rewrite import rewrite
from ascend_workbook.migration.scan import scan, scan_source
from ascend_workbook.migration.verdict import stops_training
from tests.migration.subjects import SUBJECTS
from tests.page.reading import read_page, said_on, texts_of

EXAMPLES = [case.code for subject in SUBJECTS if not subject.file for case in subject.cases if case.marks]
ROOT = Path(__file__).resolve().parents[2]
#: An unsupported place that nothing stands over.
STOPS = "stops"
CUDA = "import torch\nx = torch.zeros(1).cuda()\n"


def _write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


def test_a_row_for_each_use_with_its_place(tmp_path: Path) -> None:
    report = scan(_write(tmp_path, {"训练.py": "import torch\n值 = 1; torch.cuda.synchronize()\n"}) / "训练.py")
    assert report.table is not None
    file, line, column, code, rule, *_ = report.table.rows[0]
    assert (file, line, column, rule) == ("训练.py", 2, 8, "MIG101")
    assert code == "值 = 1; torch.cuda.synchronize()"
    assert report.findings[1].args["class"] == "auto"


def test_folders_of_other_people_are_left_out(tmp_path: Path) -> None:
    files = dict.fromkeys(["a.py", "pkg/b.py", ".git/c.py", "venv/d.py", "my/lib/site-packages/e.py"], CUDA)
    _write(tmp_path, {**files, "own/pyvenv.cfg": "", "own/f.py": CUDA})
    report = scan(tmp_path)
    assert report.facts["files"] == 2
    assert {finding.place.path for finding in report.findings if finding.place} == {"a.py", "pkg/b.py"}


@pytest.mark.parametrize(
    "text", ["import torch\nx = ('cuda'", "import torch\nprint 'cuda'", "# coding: nonsense\nimport torch\n"]
)
def test_a_file_that_cannot_be_read_is_a_finding(tmp_path: Path, text: str) -> None:
    report = scan(_write(tmp_path, {"good.py": CUDA, "bad.py": text}))
    unread = [finding for finding in report.findings if finding.key == "MIG100.unreadable"]
    assert [finding.args["path"] for finding in unread] == ["bad.py"]
    assert report.status is Status.NOT_LOOKED, "not looked is not clean"


@pytest.mark.parametrize("name", ["data.py", "launch.sh"])
def test_a_file_too_large_for_a_script_is_told_and_not_read(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"x = 'cuda'\n" * (LARGEST_BYTES // 8))
    report = scan(tmp_path)
    told = [finding.message("en") for finding in report.findings if finding.status is Status.NOT_LOOKED]
    assert any(name in line and "larger than 4 MiB" in line for line in told)


def test_the_next_step_can_be_copied(tmp_path: Path) -> None:
    folder = tmp_path / "my code"
    folder.mkdir()
    (folder / "t.py").write_text("import torch\ntorch.cuda.is_available()\n")
    assert f"rewrite '{folder}' --diff" in scan(folder).headline.hint("en")


def test_a_folder_without_python_is_not_clean(tmp_path: Path) -> None:
    assert scan(tmp_path).status is Status.NOT_LOOKED


def test_what_is_not_scanned_is_said(tmp_path: Path) -> None:
    report = scan(_write(tmp_path, {"a.py": "", "conf.toml": "device = 'cuda'", "k.cu": "", "n.txt": "x"}))
    said = {finding.key: finding.args for finding in report.findings}
    assert said["MIG100.not_python"]["first"] == "conf.toml"
    assert said["MIG100.cuda_sources"]["count"] == 1
    assert report.status is Status.LOOK


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("print('你好')", Status.GOOD),
        (CUDA, Status.GOOD),
        ("import torch\ntorch.backends.cudnn.benchmark = True", Status.NOTE),
        ("x = x.cuda('cuda:0')", Status.LOOK),
        ("import torch\ntorch.cuda.nvtx.mark('x')", Status.LOOK),
        ("import torch.nn as nn\nm = nn.DataParallel(m)", STOPS),
        ("import torch.nn as nn\nif many:\n    m = nn.DataParallel(m)", Status.LOOK),
        ("try:\n    import flash_attn\nexcept ImportError:\n    flash_attn = None", Status.LOOK),
        ("import flash_attn", STOPS),
        ("try:\n    import a\nexcept ImportError:\n    import flash_attn", Status.LOOK),
        ("import torch\nif __name__ == '__main__':\n    m = torch.nn.DataParallel(m)", STOPS),
    ],
)
def test_a_script_that_runs_is_never_red(tmp_path: Path, code: str, status: str | Status) -> None:
    """Without --fail-on nothing is; a place that is reached whenever its file is says so, not one under an `if`."""
    report = scan(_write(tmp_path, {"a.py": code}) / "a.py")
    assert report.status is (Status.LOOK if status is STOPS else status)
    assert any(map(stops_training, report.findings)) == (status is STOPS)
    asked = scan(tmp_path / "a.py", ["unsupported"])
    told = ("UNSUPPORTED" in report.verdict("en"), "不支持】" in report.verdict("zh"))
    assert told == (asked.status is Status.FIX,) * 2
    assert asked.facts["failed_on"] == ["unsupported"] * (asked.status is Status.FIX)


def test_the_bundled_scripts_need_no_hand() -> None:
    for script in sorted((ROOT / "notebooks" / "scripts").glob("*.py")):
        report = scan(script)
        least = 5 if script.stem == "llama_train" else 11  # its five uses, counted by hand
        assert report.status <= Status.NOTE and report.facts["counts"]["auto"] >= least


def test_counts_table_and_chart_agree(tmp_path: Path) -> None:
    report = scan(_write(tmp_path, {"a.py": CUDA + "x.cuda('cuda:0')\nimport apex\nimport flash_attn\n"}))
    classes = report.parts[0]
    assert classes.table is not None and classes.chart is not None
    assert classes.table.column_values("repair_count") == [report.facts["counts"][name] for name in CLASSES]
    assert sum(report.facts["counts"].values()) == len(report.table.rows if report.table else ())
    again = Report.from_json(report.to_json())
    assert again.text("zh") == report.text("zh") and again.verdict("en") == report.verdict("en")


@pytest.mark.parametrize("name", ["no_such_file.py", "notes.txt"])
def test_a_wrong_path_is_one_clear_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "notes.txt").write_text("cuda")
    with pytest.raises(WorkbookError, match=name):
        scan(tmp_path / name)


def test_a_file_that_was_not_checked_is_told_in_text_and_page(tmp_path: Path) -> None:
    report = scan(_write(tmp_path, {"good.py": "import os\n", "bad.py": "import torch\nx = ('cuda'"}))
    assert "no CUDA use in 1 file(s); 1 file(s) could not be read" in report.verdict("en")
    for shown in (report.text("en"), said_on(report.html("en"))):
        assert "bad.py could not be read as Python (line 2)" in shown and "Mend the file" in shown


def test_a_use_is_listed_once(tmp_path: Path) -> None:
    report = scan(_write(tmp_path, {"a.py": "import torch.nn as nn\nm = nn.DataParallel(m)\n"}))
    assert report.text("en").count("DataParallel is not supported") == 1
    assert report.parts[0].status is Status.LOOK, "one place has no way today: that is not OK"


@pytest.mark.parametrize(("files", "name"), [({"bad.py": "import torch\nx = ('cuda'"}, "bad.py"), ({"n.txt": ""}, "")])
def test_the_command_could_not_run_where_nothing_was_looked_at(
    tmp_path: Path, files: dict[str, str], name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["scan", str(_write(tmp_path, files) / name), "--lang", "en"]) == 2
    shown = capsys.readouterr()
    assert "next step: " in shown.err and "no CUDA use" not in shown.out


def test_what_is_named_for_the_cpu_is_no_use_of_cuda(tmp_path: Path) -> None:
    code = "import torch\nwith torch.autocast('cpu'):\n    pass\ns = torch.amp.GradScaler(device='cpu')\n"
    assert scan(_write(tmp_path, {"a.py": code})).facts["counts"]["auto"] == 0


def test_an_attribute_assigned_from_itself_ends(tmp_path: Path) -> None:
    code = "import torch\nself.d = self.d if x else torch.device('cuda')\nK = {'cuda': f, 'cpu': g}\nK[self.d.type]()\n"
    (tmp_path / "a.py").write_text(code, encoding="utf-8")
    assert [str(f.place) for f in scan(tmp_path / "a.py").findings if f.rule == "MIG104"] == ["a.py:3:6"]


def test_the_byte_search_loses_no_finding() -> None:
    """All rules on every file give what the rules chosen by a file's words give, on examples and installed files."""
    packages = Path(sysconfig.get_path("purelib"))
    files = sorted(file for name in ("torch", "transformers", "jinja2") for file in (packages / name).rglob("*.py"))
    sample = random.Random(11).sample(files, min(60, len(files)))
    for data in [*(code.encode() for code in EXAMPLES), *(file.read_bytes() for file in sample)]:
        try:
            text, encoding, bom = decode_bytes(data)
            source = parse_text(text, encoding=encoding, bom=bom)
        except Unreadable:
            continue
        assert scan_source(source, rules=choose_rules(data)) == scan_source(source, rules=load_rules())


@pytest.mark.parametrize(
    "code",
    [
        b"x = x.cuda('\\x63uda:0')\n",
        b"import torch\nx = torch.zeros(1, device='cu' 'da')\n",
        b"import torch\nx = torch.zeros(1, device='cu\\\nda')\n",
        "import torch\ntorch.ｃuda.nvtx.mark('x')\n".encode(),
        b"from torch.cuda import  *\n",
        b"# coding: utf-7\nimport torch\ntorch.cuda.synchronize()\n",
        b"from transformers import TrainingArguments\na = TrainingArguments('out', torch_compile=True)\n",
        b"from torch import (nn,  # layers\n compile as tc)\nm = tc(m)\n",
        b"from torch import (  # layout\n channels_last as cl)\nx.to(memory_format=cl)\n",
        b"import torch\nrank = 0\nx.to(torch.distributed.get_rank())\n",
        b"import torch\nopt = torch._dynamo.optimize; opt()(f)\n",
        b"import torch\nfor b in d:\n    l.backward()\n    a = l.item(  # now\n    )\n    n = l.item(  # now\n    )\n",
        b"import os\nos.environ['PYTORCH_CUDA' '_ALLOC_CONF'] = 'x'\n",
    ],
)
def test_words_without_their_bytes_are_found(code: bytes) -> None:
    text, encoding, bom = decode_bytes(code)
    found = scan_source(parse_text(text, encoding=encoding, bom=bom), rules=choose_rules(code))
    assert found == scan_source(parse_text(text, encoding=encoding, bom=bom), rules=load_rules()) and found


def test_every_finding_says_how_sure_it_is_and_what_it_costs(tmp_path: Path) -> None:
    files = {f"m{number}.py": code for number, code in enumerate(EXAMPLES)}
    report = scan(_write(tmp_path, {**files, "run.sh": "CUDA_VISIBLE_DEVICES=0 x\n", "requirements.txt": "apex\n"}))
    dressed = [finding for finding in report.findings if finding.place and class_of(finding)]
    assert len(dressed) > len(files) / 2
    for finding in dressed:
        link = finding.args["link"]
        no_page = isinstance(link, dict) and "no page says so" in say(link["say"], "en")
        assert finding.args["confidence"] in CONFIDENCE and (no_page or str(link).startswith("https://"))
        assert finding.args["versions"] and (finding.args["effort_h"] == 0) == (class_of(finding) == "auto")


def test_the_bundled_scripts_show_no_other_rules_than_before() -> None:
    """The notebooks print them: a new rule that fires here changes the committed outputs."""
    rules = {
        finding.rule
        for script in (ROOT / "notebooks" / "scripts").glob("*.py")
        for finding in scan_source(read_source(script))
    }
    assert rules <= {"MIG101", "MIG102", "MIG103", "MIG106", "MIG108", "MIG110", "MIG117", "MIG119"}, rules


def test_json_gives_path_line_column_rule_and_class_plainly(tmp_path: Path) -> None:
    report = scan(_write(tmp_path, {"a.py": "import torch\n值 = 1; torch.cuda.nvtx.mark('x')\n"}))
    found = json.loads(report.to_json())["findings"][-1]
    assert [found[name] for name in ("path", "line", "column", "rule", "class")] == ["a.py", 2, 8, "MIG101", "manual"]
    assert "mstx" in found["message"]["en"] and "mstx" in found["message"]["zh"]
    assert {"confidence", "effort_h", "versions", "link"} <= found["args"].keys()
    assert Report.from_json(report.to_json()) == report


def test_page_and_details_show_confidence_effort_versions_and_link(tmp_path: Path) -> None:
    report = scan(_write(tmp_path, {"a.py": "import flash_attn\n"}))
    plain, details = report.text("en"), report.text("en", details=True)
    data = read_page(report.html("en"))
    (placed,), (columns,) = data["code"][0]["findings"], [tab["table"]["columns"] for tab in data["tabs"].values()]
    for said in ("16 h", "documentation or source", "as the entry says", "https://pypi.org/project/flash-attn-npu/"):
        assert said in details and said not in plain
        assert said == "16 h" or said in [*texts_of(columns, "en")]
    (effort,) = [column for column in columns if column["name"] == "effort"]
    assert (effort["values"], effort["unit"]) == ([16.0], "h")
    assert (placed["effort_h"], placed["confidence"]) == ("16", ["documentation or source", "文档或源码"])
    assert placed["link"] == "https://pypi.org/project/flash-attn-npu/", "under its line too"
    assert "<script" not in report.html("en", page=False)


def test_details_show_every_place(tmp_path: Path) -> None:
    report = scan(_write(tmp_path, {"a.py": CUDA + "x.cuda()\n" * 60}))
    assert report.text("en").count("x.cuda()") < 45 and report.text("en", details=True).count("x.cuda()") == 60


TENSORFLOW = (
    "import tensorflow as tf\ns = tf.Session()\nx = tf.nn.relu(tf.nn.conv2d(图, w))\ny = tf.nn.conv2d(x, w)\n"
    "z = tf.no.such(y)\nwith tf.device('/gpu:0'):\n    tf.distribute.TPUStrategy()\n"
)


def test_tensorflow_is_counted_by_level_and_apart(tmp_path: Path) -> None:
    report = scan(_write(tmp_path, {"t.py": TENSORFLOW, "a.py": CUDA}))
    assert report.facts["counts"]["auto"] == 1 and sum(report.facts["counts"].values()) == 1
    apart = report.facts["tensorflow"]
    levels = {level: number["places"] for level, number in apart["levels"].items() if number["places"]}
    assert levels == {
        "supported": 1,
        "tool": 2,
        "listed_unsupported": 2,
        "unsupported": 1,
        "unknown": 1,
    }
    assert apart["levels"]["listed_unsupported"]["names"] == 1 and apart["files"] == 1
    assert apart["counts"] == {"auto": 0, "rewrite": 0, "manual": 3, "unsupported": 1, "advice": 1}
    assert {row[0] for row in report.table.rows} == {"a.py"} if report.table else False
    part = next(part for part in report.parts if part.verb == "scan_tensorflow")
    listed = part.parts[0].table
    assert listed is not None and {row[0] for row in listed.rows} == {"t.py"} and len(listed.rows) == 5
    assert report.text("zh").count("tf.Session 由 convert_tf2npu 修改") == 1
    assert assess(tmp_path).facts["counts"]["unsupported"] == 1, "a gate on unsupported places sees TensorFlow's"


def test_a_tensorflow_script_alone_is_not_called_clean(tmp_path: Path) -> None:
    report = scan(_write(tmp_path, {"t.py": TENSORFLOW}))
    assert "1 TensorFlow script(s)" in report.verdict("en") and report.status is Status.LOOK
    assert "UNSUPPORTED" in report.verdict("en") and scan(tmp_path, ["unsupported"]).status is Status.FIX


def test_a_scan_leaves_no_garbage_for_the_collector() -> None:
    """Children scan thousands of files with the collector off: a cycle that holds a tree would fill the memory."""
    text = (ROOT / "notebooks" / "scripts" / "gpt_text.py").read_text(encoding="utf-8")
    gc.collect()
    gc.disable()
    try:
        for _ in range(3):
            scan_source(parse_text(text))
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_a_binary_file_is_no_clean_script(tmp_path: Path) -> None:
    """Neither verb says that all is well with what it could not read."""
    (tmp_path / "a.py").write_bytes(b"\x7fELF\x02\x01\0\0\0cuda")
    (tmp_path / "b.py").write_bytes(b"\x7fELF\x02\x01\0\0\0")
    (tmp_path / "c.py").write_text("x = 1\n", encoding="utf-16")
    unread = [found.place.path for found in scan(tmp_path).findings if found.key == "MIG100.unreadable" and found.place]
    assert unread == ["a.py", "b.py", "c.py"] and scan(tmp_path).status is Status.NOT_LOOKED
    assert rewrite(tmp_path).status is Status.NOT_LOOKED
    with pytest.raises(WorkbookError, match="NUL"):
        rewrite(tmp_path / "b.py")


def test_what_needs_work_stands_first_in_the_table(tmp_path: Path) -> None:
    files = {"a.py": "x.cuda()\n", "b.py": "import torch\nm = torch.compile(m)\n", "c.py": "import cupy\ny.cuda()\n"}
    report = scan(_write(tmp_path, files))
    assert report.table is not None
    assert [row[0] for row in report.table.rows] == ["c.py", "b.py", "a.py", "c.py"]
