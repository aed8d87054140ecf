"""rewrite: where the import goes, what must not change, idempotence, refusals."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Edit, Status
from ascend_workbook.migration.closure import walk_imports
from ascend_workbook.migration.dry_run.mirror import migrate_modules
from ascend_workbook.migration.reading.source import parse_text
from ascend_workbook.migration.repair import class_of
from ascend_workbook.migration.rewrite import apply_edits, migrate_source, rewrite
from ascend_workbook.migration.scan import scan, scan_source

TWO = "import torch_npu\nfrom torch_npu.contrib import transfer_to_npu\n"
INLINE = "import torch_npu; from torch_npu.contrib import transfer_to_npu; "

PLACES = [
    pytest.param("import torch\n", TWO + "import torch\n", id="the first line"),
    pytest.param("import os\nimport torch\n", "import os\n" + TWO + "import torch\n", id="behind the standard library"),
    pytest.param(
        '"""说明"""\nfrom __future__ import annotations\nimport torch\n',
        '"""说明"""\nfrom __future__ import annotations\n' + TWO + "import torch\n",
        id="behind docstring and future",
    ),
    pytest.param(
        "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\nimport torch\n",
        "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n" + TWO + "import torch\n",
        id="behind the shebang",
    ),
    pytest.param(
        "import os\nos.environ['A'] = '1'\nimport torch\n",
        "import os\nos.environ['A'] = '1'\n" + TWO + "import torch\n",
        id="behind environment variables",
    ),
    pytest.param(
        "import models\nimport torch\n",
        TWO + "import models\nimport torch\n",
        id="before a module that may import torch",
    ),
    pytest.param(
        "from . import a\nimport torch\n", TWO + "from . import a\nimport torch\n", id="before a relative import"
    ),
    pytest.param(
        "import numpy as np\nfrom torch import nn\n",
        "import numpy as np\n" + TWO + "from torch import nn\n",
        id="behind numpy",
    ),
    pytest.param("import os; import torch\n", "import os; " + INLINE + "import torch\n", id="in the middle of a line"),
    pytest.param(
        "from __future__ import annotations; import torch\n",
        "from __future__ import annotations; " + INLINE + "import torch\n",
        id="never before a future import",
    ),
    pytest.param(
        "import os; \\\n  import torch\n", "import os; \\\n  " + INLINE + "import torch\n", id="behind a backslash"
    ),
    pytest.param(
        "try:\n    import torch\nexcept ImportError:\n    torch = None\n",
        TWO + "try:\n    import torch\nexcept ImportError:\n    torch = None\n",
        id="before a try",
    ),
    pytest.param(
        "import os\n\ndef f():\n    import torch\n",
        "import os\n" + TWO + "\ndef f():\n    import torch\n",
        id="torch in a function",
    ),
    pytest.param(
        '"""文档"""\ndef f():\n    import torch\n',
        '"""文档"""\n' + TWO + "def f():\n    import torch\n",
        id="behind the docstring alone",
    ),
    pytest.param(
        "def f():\n    import torch\n", TWO + "def f():\n    import torch\n", id="before a function at the top"
    ),
    pytest.param(
        "import os\r\nimport torch\r\n", "import os\r\n" + TWO.replace("\n", "\r\n") + "import torch\r\n", id="CRLF"
    ),
    pytest.param(
        "import torch_npu\nimport torch\nx.cuda()\n",
        "import torch_npu\nfrom torch_npu.contrib import transfer_to_npu\nimport torch\nx.cuda()\n",
        id="torch_npu is there",
    ),
    pytest.param("import torch", TWO + "import torch", id="no line end"),
    pytest.param(
        "@torch.no_grad\ndef f(): pass\nimport torch\n",
        "@torch.no_grad\ndef f(): pass\n" + TWO + "import torch\n",
        id="decorator above",
    ),
]
UNCHANGED = [
    pytest.param("import numpy as np\nprint('cuda 显卡')\n", id="no torch"),
    pytest.param("import torch\nfrom torch_npu.contrib import transfer_to_npu\nx = torch.zeros(1).cuda()\n", id="done"),
    pytest.param(
        "from torch_npu.contrib import transfer_to_npu as t  # noqa\nimport torch\n", id="done under another name"
    ),
    pytest.param("import torch_npu.contrib.transfer_to_npu\nimport torch\n", id="done in one line"),
    pytest.param("# import torch\n'import torch'\n", id="a comment and a string"),
    pytest.param("", id="empty"),
    pytest.param("torch = None\ntorch.cuda\n", id="another torch"),
]


@pytest.mark.parametrize(("before", "after"), PLACES)
def test_where_the_import_goes(before: str, after: str) -> None:
    text, _ = migrate_source(parse_text(before))
    assert text == after
    ast.parse(text)
    assert migrate_source(parse_text(text))[0] == text, "a second rewrite changes nothing"


@pytest.mark.parametrize("code", UNCHANGED)
def test_what_must_not_change(code: str) -> None:
    assert migrate_source(parse_text(code))[0] == code


MESSY = """#!/usr/bin/env python
'''训练脚本'''
import os, sys
os.environ["CUDA_VISIBLE_DEVICES"]  =  "0"   # 只用一张卡
import torch
import torch.distributed as dist
dist.init_process_group(backend = "NCCL" )
m = torch.nn.Linear(2, 2).cuda( "cuda:0" )	# 制表符
if m.weight.device.type  ==  'cuda' : print("好")
m = torch.compile(
    m,   # 模型
    mode = "default",
)
print('nccl cuda:0 .cuda("cuda:0") CUDA_VISIBLE_DEVICES')
"""


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_all_rewrites_at_once_keep_every_other_byte(end: str) -> None:
    before = MESSY.replace("\n", end)
    after, made = migrate_source(parse_text(before))
    undone = after
    assert {finding.rule for finding in made} >= {"MIG131", "MIG107", "MIG106", "MIG103", "MIG104", "MIG111"}
    for new, old in [
        (TWO.replace("\n", end), ""),
        ("ASCEND_RT_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"),
        ('"nccl"', '"NCCL"'),
        ('.to( "cuda:0" )', '.cuda( "cuda:0" )'),
        ("type  in  ('cuda', 'npu') :", "type  ==  'cuda' :"),
        (', backend="eager"', ""),
    ]:
        assert undone.count(new) == 1
        undone = undone.replace(new, old)
    assert undone == before
    ast.parse(after)
    assert migrate_source(parse_text(after))[0] == after
    assert not [finding for finding in scan_source(parse_text(after)) if class_of(finding) == "rewrite"]


def test_bytes_on_disk_keep_bom_and_encoding(tmp_path: Path) -> None:
    for name, data in {
        "bom.py": b"\xef\xbb\xbfimport torch\r\ns = '\xe4\xb8\xad'\r\n",
        "gbk.py": "# coding: gbk\nimport torch\ns = '中'; x.cuda('cuda:0')\n".encode("gbk"),
    }.items():
        (tmp_path / name).write_bytes(data)
        rewrite(tmp_path / name, tmp_path / "out")
        result = (tmp_path / "out" / name).read_bytes()
        assert (tmp_path / name).read_bytes() == data, "the input is never touched"
        assert result != data and result[:3] == data[:3]
        compile(result, name, "exec")


def test_a_folder_comes_out_whole_and_only_entries_import(tmp_path: Path) -> None:
    source = tmp_path / "in"
    (source / "pkg").mkdir(parents=True)
    (source / "main.py").write_text("import torch\nif __name__ == '__main__':\n    torch.cuda.init()\n")
    (source / "pkg" / "net.py").write_text("import torch\ndef f(x):\n    return x.cuda('cuda:0')\n")
    (source / "pkg" / "__init__.py").write_text("")
    report = rewrite(source, tmp_path / "out")
    assert (tmp_path / "out" / "main.py").read_text().startswith(TWO)
    assert (tmp_path / "out" / "pkg" / "net.py").read_text() == "import torch\ndef f(x):\n    return x.to('cuda:0')\n"
    assert (tmp_path / "out" / "pkg" / "__init__.py").exists()
    assert report.status is Status.GOOD and report.listing is not None
    assert "+import torch_npu\n" in report.listing.text and "-    return x.cuda('cuda:0')\n" in report.listing.text
    assert rewrite(tmp_path / "out").facts["sha256"] == {}


def test_what_is_left_for_a_person_stays_in_the_verdict(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import torch, apex\nm = torch.nn.DataParallel(m)\n")
    report = rewrite(tmp_path / "a.py")
    assert report.headline is not None and report.headline.args["manual"] == 1
    assert report.headline.args["unsupported"] == 1 and report.status is Status.LOOK
    assert report.verdict("en").startswith("UNSUPPORTED on an NPU today: 1 place(s), first a.py:2:5; ")
    assert rewrite(tmp_path / "a.py", fail_on=["unsupported"]).status is Status.FIX


def test_a_text_that_changed_since_the_scan_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("import torch\nx.cuda('cuda:0')\n")
    seen = scan(file).facts["sha256"]
    assert rewrite(file, tmp_path / "out", expect=seen).findings
    file.write_text("import torch\nx.cuda('cuda:1')\n")
    with pytest.raises(WorkbookError, match="changed since"):
        rewrite(file, tmp_path / "other", expect=seen)
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("text", ["import torch\nx = (\n", "print 'cuda'\n"])
def test_an_unreadable_file_is_an_error_that_names_it(tmp_path: Path, text: str) -> None:
    (tmp_path / "bad.py").write_text(text)
    told = r"\(line 1\).*Python 2" if "print" in text else r"\(line 2\)"
    with pytest.raises(WorkbookError, match=rf"bad\.py could not be read as Python {told}"):
        rewrite(tmp_path / "bad.py")


def test_the_input_is_never_the_output(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import torch\n")
    with pytest.raises(WorkbookError, match="overwrite the input"):
        rewrite(tmp_path / "a.py", tmp_path)
    assert (tmp_path / "a.py").read_text() == "import torch\n"


def test_overlapping_edits_are_refused() -> None:
    source = parse_text("abcdef")
    assert apply_edits(source, [Edit(0, 2, "X"), Edit(2, 4, "Y"), Edit(0, 2, "X")]) == "XYef"
    with pytest.raises(WorkbookError, match="overlap"):
        apply_edits(source, [Edit(0, 3, "X"), Edit(2, 4, "Y")])


@pytest.mark.parametrize(
    ("code", "after"),
    [
        ("ok = x.cuda('cuda:0').device.type == 'cuda'\n", "ok = x.to('cuda:0').device.type in ('cuda', 'npu')\n"),
        ("ok = 'cuda' != x.cuda('cuda:0').device.type\n", "ok = x.to('cuda:0').device.type not in ('cuda', 'npu')\n"),
        (
            "if str(x.cuda('cuda:0').device) == 'cuda:0':\n    pass\n",
            "if str(x.to('cuda:0').device) in ('cuda:0', 'npu:0'):\n    pass\n",
        ),
        (
            "ok = x.device.type in ('cpu', 'cuda') and y.cuda('cuda').device.type in ['cuda']\n",
            "ok = x.device.type in ('cpu', 'cuda', 'npu') and y.to('cuda').device.type in ['cuda', 'npu']\n",
        ),
    ],
)
def test_edits_of_two_rules_on_one_expression_are_both_made(code: str, after: str) -> None:
    text, _ = migrate_source(parse_text(code))
    assert text == after


#: A folder's files, and those that get transfer_to_npu.
FOLDERS = [
    pytest.param(
        {
            "train.py": "import torch\nfrom model import Net\n\ndef main():\n    Net().cuda()\n\nmain()\n",
            "model.py": "import torch\nclass Net(torch.nn.Module):\n    pass\n",
        },
        {"train.py"},
        id="a call without a guard",
    ),
    pytest.param(
        {
            "train.py": "from trainer import main\n\nif __name__ == '__main__':\n    main()\n",
            "trainer.py": "import torch\ndef main():\n    torch.zeros(2).cuda()\n",
        },
        {"train.py"},
        id="torch in another module",
    ),
    pytest.param(
        {
            "tools/run.py": "from pkg.core import go\ngo()\n",
            "pkg/__init__.py": "",
            "pkg/core.py": "from .deep import x\n_set_up()\n",
            "pkg/deep.py": "import torch\nx = torch.zeros(2).cuda()\n",
        },
        {"tools/run.py"},
        id="torch in a package beside the script's folder",
    ),
    pytest.param(
        {
            "run.py": "from transformers import AutoModel\nm = AutoModel()\nm.cuda()\n",
            "note.py": "import logging\nlogging.basicConfig()\nx = 1\n",
        },
        {"run.py"},
        id="torch in a library",
    ),
    pytest.param(
        {"setup.py": "import torch\nfrom setuptools import setup\nsetup()\n", "main.py": "import torch\nmain()\n"},
        {"main.py"},
        id="setup.py only builds",
    ),
    pytest.param(
        {"run.py": "import helper\nhelper.go()\n", "helper.py": "import json\n", "bad.py": "print 'x'\n"},
        set(),
        id="no torch anywhere",
    ),
    pytest.param(
        {"a.py": "import b\nb.f()\n", "b.py": "import torch\nfrom torch_npu.contrib import transfer_to_npu\n"},
        set(),
        id="a module sees to it",
    ),
]


def _folder(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.mark.parametrize(("files", "scripts"), FOLDERS)
def test_which_files_of_a_folder_import_transfer_to_npu(
    tmp_path: Path, files: dict[str, str], scripts: set[str]
) -> None:
    source = _folder(tmp_path / "in", files)
    report = rewrite(source, tmp_path / "out")
    changed = {name for name in files if "transfer_to_npu" in (tmp_path / "out" / name).read_text()}
    assert changed == scripts | {name for name, text in files.items() if "transfer_to_npu" in text}
    assert "MIG131.no_script" not in {finding.key for finding in report.findings}
    assert rewrite(tmp_path / "out").facts["sha256"] == {}, "a second rewrite changes nothing"
    for name in scripts - {"tools/run.py"}:  # a dry-run mirrors the script's own folder only
        modules = {module: module.read_bytes() for module in walk_imports(source / name)}
        contents, _ = migrate_modules(modules, source / name, (source / name).parent)
        assert {file.relative_to(source).as_posix() for file in contents} == scripts
        assert contents[source / name] == (tmp_path / "out" / name).read_bytes()
        rewrite(source / name, tmp_path / "single")
        assert (tmp_path / "single" / Path(name).name).read_bytes() == contents[source / name]


def test_a_folder_without_a_script_is_not_shown_as_done(tmp_path: Path) -> None:
    source = _folder(tmp_path, {"a.py": "import torch\ndef f(x):\n    return x.cuda()\n", "b.py": "import a\n"})
    report = rewrite(source)
    (finding,) = (finding for finding in report.findings if finding.key == "MIG131.no_script")
    assert report.status is Status.LOOK and str(finding.place) == "a.py:3:12" and finding.hint("en")
    explicit = rewrite(source, mode="explicit")
    assert "MIG131.no_script" not in {finding.key for finding in explicit.findings}


def test_a_lone_script_whose_torch_comes_with_a_library() -> None:
    text = "from transformers import AutoModel\nm = AutoModel.from_pretrained('x').cuda()\n"
    assert migrate_source(parse_text(text))[0] == TWO + text
    assert migrate_source(parse_text(text), mode="explicit")[0] == "import torch_npu\n" + text.replace("cuda", "npu")
