"""Launch scripts, lists of requirements and notebooks: their rules' own examples, and places in cells."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Edit, Status
from ascend_workbook.migration.reading.undecoded import Unreadable
from ascend_workbook.migration.repair import class_of
from ascend_workbook.migration.rewrite import rewrite
from ascend_workbook.migration.scan import scan
from ascend_workbook.migration.texts import scan_text, text_source
from ascend_workbook.migration.texts.lines import refuse_broken
from ascend_workbook.migration.texts.notebook import move_edits, read_code_cells
from ascend_workbook.migration.texts.requirements import import_name


def _notebook(path: Path, *cells: str) -> Path:
    content = {"cells": [{"cell_type": "code", "source": cell.splitlines(True)} for cell in cells]}
    content["cells"].insert(1, {"cell_type": "markdown", "source": ["x.cuda('cuda:0')"]})
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    return path


def test_names_run_on_from_cell_to_cell_and_places_name_cell_and_line(tmp_path: Path) -> None:
    cells = (
        "# 导入\nimport torch as t\n",
        "%matplotlib inline\nfor i in x:\n    !nvidia-smi\n值 = t.cuda.nvtx.mark('x')\n",
    )
    report = scan(_notebook(tmp_path / "训练.ipynb", *cells))
    found = {(str(finding.place), finding.rule) for finding in report.findings if class_of(finding)}
    assert found == {("训练.ipynb#cell3:3:6", "MIG127"), ("训练.ipynb#cell3:4:5", "MIG101")}
    assert all(not finding.edits for finding in report.findings)


def test_a_broken_cell_is_told_and_the_others_are_judged(tmp_path: Path) -> None:
    report = scan(_notebook(tmp_path / "n.ipynb", "import torch\nx = (\n", "import torch\nx = x.cuda()\n"))
    assert [str(f.place) for f in report.findings if f.status is Status.NOT_LOOKED and f.place] == ["n.ipynb#cell1:2"]
    assert [str(f.place) for f in report.findings if class_of(f)] == ["n.ipynb#cell3:2:5"]


@pytest.mark.parametrize("text", ["", "[]", '{"cells": 3}', "{", '{"a": 1}'])
def test_what_is_no_notebook_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "n.ipynb").write_text(text)
    report = scan(tmp_path)
    assert [finding.key for finding in report.findings if finding.place] == ["MIG100.unreadable"]


def test_shell_magics_and_cells_are_commands(tmp_path: Path) -> None:
    report = scan(
        _notebook(tmp_path / "n.ipynb", "%%bash\nexport CUDA_VISIBLE_DEVICES=0\n", "!pip list\n%env NCCL_DEBUG=INFO\n")
    )
    assert {str(f.place): class_of(f) for f in report.findings if class_of(f)} == {
        "n.ipynb#cell1:2:8": "rewrite",
        "n.ipynb#cell3:2:6": "advice",
    }


def test_scripts_are_rewritten_and_keep_their_other_bytes(tmp_path: Path) -> None:
    script = "#!/bin/bash\r\n# 说明 nccl\r\nCUDA_VISIBLE_DEVICES=0 torchrun t.py --backend nccl\r\n"
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "run.sh").write_bytes(script.encode())
    (tmp_path / "a" / "t.py").write_text("print('显卡')\n", encoding="utf-8")
    report = rewrite(tmp_path / "a", tmp_path / "b")
    after = (tmp_path / "b" / "run.sh").read_bytes().decode()
    assert after == script.replace("CUDA_V", "ASCEND_RT_V")
    assert [row[0] for row in report.table.rows] == ["run.sh"] if report.table else False
    assert scan(tmp_path / "b").facts["counts"]["rewrite"] == 0
    assert rewrite(tmp_path / "b").facts["sha256"] == {}, "a second rewrite changes nothing"


def test_a_backend_is_one_that_the_script_of_the_same_mode_takes(tmp_path: Path) -> None:
    parser = "import argparse, torch\np = argparse.ArgumentParser()\n"
    parser += "p.add_argument('--backend', choices=['nccl', 'gloo'])\n"
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "t.py").write_text(parser + "x.cuda('cuda:0')\n", encoding="utf-8")
    (tmp_path / "in" / "run.sh").write_text("torchrun t.py --backend nccl\n", encoding="utf-8")
    for mode, word in (("inject", "nccl"), ("explicit", "hccl")):
        rewrite(tmp_path / "in", tmp_path / mode, mode=mode)
        script, launch = ((tmp_path / mode / name).read_text(encoding="utf-8") for name in ("t.py", "run.sh"))
        assert f"choices=['{word}', 'gloo']" in script and launch == f"torchrun t.py --backend {word}\n"


def test_setup_py_is_python_and_a_list_of_requirements(tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text(
        "from torch.utils.cpp_extension import CUDAExtension\ne = CUDAExtension('核', ['a.cu'])\n"
        "setup(install_requires=['flash-attn'])\n",
        encoding="utf-8",
    )
    report = scan(tmp_path)
    assert {finding.rule for finding in report.findings if class_of(finding)} == {"MIG114", "MIG128"}


def _places(root: Path) -> dict[str, str]:
    return {str(finding.place): finding.rule for finding in scan(root).findings if class_of(finding)}


def test_python_behind_a_magic_is_looked_at_and_columns_stay(tmp_path: Path) -> None:
    cells = (
        "%time 值 = x.cuda('cuda:0')\nout = !nvidia-smi\ntook = %timeit -n 3 f()\n",
        "print('%d'\n  % 5)\nobj?\n!pip install \\\n  flash-attn\nfor i in y:\n    !echo it's\n    x.cuda('cuda:0')\n",
        "%%time\nx.cuda('cuda:0')\n",
    )
    report = scan(_notebook(tmp_path / "n.ipynb", *cells))
    assert not [finding for finding in report.findings if finding.status is Status.NOT_LOOKED]
    assert _places(tmp_path) == {
        "n.ipynb#cell1:1:11": "MIG103",
        "n.ipynb#cell1:2:8": "MIG127",
        "n.ipynb#cell3:5:3": "MIG128",
        "n.ipynb#cell3:8:5": "MIG103",
        "n.ipynb#cell4:2:1": "MIG103",
    }
    first = next(finding for finding in report.findings if finding.rule == "MIG103")
    assert first.args["code"] == "%time 值 = x.cuda('cuda:0')"


def test_files_written_by_a_cell_are_scanned_and_other_languages_are_told(tmp_path: Path) -> None:
    cells = (
        "%%writefile a/train.py\nimport torch\n字 = torch.cuda.nvtx.mark('x')\n",
        "%%writefile requirements.txt\nflash-attn\n",
        "%%cython\ncuda\n",
        "%%html\n<b>x</b>\n",
        "%%writefile b.py\nimport torch\nx = = 'cuda'\n",
    )
    report = scan(_notebook(tmp_path / "n.ipynb", *cells))
    assert _places(tmp_path) == {"n.ipynb#cell1:3:5": "MIG101", "n.ipynb#cell3:2:1": "MIG128"}
    told = {str(finding.place): finding.key for finding in report.findings if finding.status is Status.NOT_LOOKED}
    assert told == {"n.ipynb#cell4": "MIG100.foreign_cell", "n.ipynb#cell6:3": "MIG100.unreadable"}


def test_a_notebook_of_another_language_is_told(tmp_path: Path) -> None:
    cell = {"cell_type": "code", "source": "x <- 1"}
    content = {"metadata": {"language_info": {"name": "R"}}, "cells": [cell]}
    (tmp_path / "n.ipynb").write_text(json.dumps(content))
    found = [finding for finding in scan(tmp_path).findings if finding.place]
    assert len(found) == 1 and ": a notebook of r;" in found[0].message("en") and "r 语言" in found[0].message("zh")


FILES = {
    "setup.py": (
        "name = 'triton'\nsetup(name='apex', packages=['apex'], keywords=['triton'],\n"
        "      install_requires=['torch',  # 显卡\n        'flash-attn>=2'])\nextras['x'] = ['xformers']\n",
        {"4:10", "5:17"},
    ),
    "pyproject.toml": (
        "[project]\nname = 'apex'\nkeywords = ['triton']\ndependencies = [\n  'flash-attn>=2', # 注意\n"
        "  'torch[opt]',\n]\n[project.optional-dependencies]\ngpu = ['xformers']\n"
        "[tool.poetry.group.dev.dependencies]\nbitsandbytes = '^1'\n"
        "[[tool.uv.index]]\nurl = 'https://download.pytorch.org/whl/cu124'\n[tool.black]\nexclude = ['apex']\n",
        {"5:4", "9:9", "11:1", "13:16"},
    ),
    "setup.cfg": (
        "[metadata]\nname = apex\n[options]\ninstall_requires =\n    torch\n    flash-attn\npackages = apex\n"
        "[options.extras_require]\nall = xformers\n",
        {"6:5", "9:7"},
    ),
    "environment.yml": (
        "name: apex\nchannels:\n  - nvidia\ndependencies:\n  - nvidia::cuda-toolkit=12.1\n"
        "  - pytorch=2.1=py3.10_cuda12.1_cudnn8\n  - pip:\n    - flash-attn==2.5\n"
        "    - --extra-index-url https://download.pytorch.org/whl/cu121\nprefix: /apex\n",
        {"5:13", "6:5", "8:7", "9:33"},
    ),
    "requirements.txt": ("-r apex.txt\n  flash_attn @ git+https://github.com/Dao-AILab/flash-attention.git\n", {"2:3"}),
}


@pytest.mark.parametrize("name", FILES)
def test_only_what_is_to_be_installed_is_a_requirement(tmp_path: Path, name: str) -> None:
    text, places = FILES[name]
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert {place.removeprefix(f"{name}:") for place, rule in _places(tmp_path).items() if rule == "MIG128"} == places


EMBEDDED = (
    "#!/bin/bash\nexport CUDA_VISIBLE_DEVICES=0\npython - <<'EOF'  # 内嵌\nimport torch\n值 = x.cuda('cuda:0')\nEOF\n"
    "nvidia-smi\n",
    "cat > 训练.py <<\"PY\"\nimport torch\ntorch.cuda.nvtx.mark('CUDA_VISIBLE_DEVICES=1')\nPY\npython 训练.py\n",
    "python3 -c 'import torch; y = x.cuda(\"cuda:0\")' && torchrun t.py --backend nccl\n",
    "python <<EOF\nimport torch\nx.cuda('cuda:$GPU')\nEOF\n",
    "python -u - a b <<-'EOF'\n\timport torch\n\tx = x.cuda('cuda:1')\n\tEOF\n",
    'python -c "import torch; x = torch.compile(m)"\n',
    "python - <<'E'\nimport torch\nx = torch.compile(m)\nE\n",
)


def test_python_inside_a_launch_script_is_judged_at_its_place(tmp_path: Path) -> None:
    found = []
    for number, text in enumerate(EMBEDDED):
        (tmp_path / f"run{number}.sh").write_text(text, encoding="utf-8")
    for finding in scan(tmp_path).findings:
        if class_of(finding):
            found.append((str(finding.place).removeprefix("run"), finding.rule, class_of(finding)))
    assert found == [
        ("0.sh:2:8", "MIG127", "rewrite"),
        ("0.sh:5:5", "MIG103", "rewrite"),
        ("0.sh:7:1", "MIG127", "manual"),
        ("1.sh:3:1", "MIG101", "manual"),
        ("2.sh:1:31", "MIG103", "rewrite"),
        ("2.sh:1:76", "MIG127", "auto"),
        ("3.sh:3:1", "MIG103", "manual"),
        ("4.sh:3:6", "MIG103", "manual"),
        ("5.sh:1:30", "MIG111", "manual"),
        ("6.sh:3:5", "MIG111", "rewrite"),
    ]


def test_python_inside_a_launch_script_is_rewritten_where_it_stands(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    for number, text in enumerate(EMBEDDED):
        (tmp_path / "a" / f"run{number}.sh").write_bytes(text.replace("\n", "\r\n" if number == 0 else "\n").encode())
    rewrite(tmp_path / "a", tmp_path / "b")
    after = [(tmp_path / "b" / f"run{number}.sh").read_bytes().decode() for number in range(len(EMBEDDED))]
    expected = EMBEDDED[0].replace("CUDA_V", "ASCEND_RT_V").replace(".cuda('cuda:0')", ".to('cuda:0')")
    assert after[0] == expected.replace("\n", "\r\n")
    assert after[2] == EMBEDDED[2].replace('.cuda("cuda:0")', '.to("cuda:0")')
    assert after[1] == EMBEDDED[1] and after[3:6] == list(EMBEDDED[3:6]), "what the shell would change is not edited"
    assert after[6] == EMBEDDED[6].replace("compile(m", 'compile(m, backend="eager"')
    assert scan(tmp_path / "b").facts["counts"]["rewrite"] == 0


def test_inline_python_that_runs_under_transfer_to_npu_is_told_to_import_it(tmp_path: Path) -> None:
    (tmp_path / "a.sh").write_text("python - <<'E'\nimport torch\nx = x.cuda()\nE\n")
    (tmp_path / "b.sh").write_text(
        "python - <<'E'\nimport torch_npu\nfrom torch_npu.contrib import transfer_to_npu\nx = x.cuda()\nE\n"
    )
    told = [str(finding.place) for finding in scan(tmp_path).findings if finding.key == "MIG154.no_import"]
    assert told == ["a.sh:2:1"]


def test_inline_python_that_nobody_can_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.sh").write_text("python - <<E\nimport torch\ntorch.cuda.set_device($N +)\nE\necho 完成\n")
    (tmp_path / "b.sh").write_text("cat <<E > notes.txt\ntorch.cuda.nvtx.mark('x')\nE\npython -c 'print(1)'\n# <<E\n")
    assert [(f.key, str(f.place)) for f in scan(tmp_path).findings if f.place] == [("MIG154.unread", "a.sh:2:1")]


COMPILED = "import torch; m = torch.compile(m)"
#: A script with Python that ends, and whether that Python is edited: not where the quote around it would end.
QUOTED = (
    (f"ssh node \"python -c '{COMPILED}'\"\n", False),
    (f"bash -c 'python -c \"{COMPILED}\"'\n", False),
    (f"bash -c \"python - <<'EOF'\n{COMPILED}\nEOF\n\"\n", False),
    (f'bash -c "python - <<EOF\n{COMPILED}\nEOF"\n', False),
    (f'bash -c "python -c \\"{COMPILED}\\""\n', False),
    (f"# don't\npython -c '{COMPILED}'\n", True),
    (f"echo \"it's\" && python -c '{COMPILED}'\n", True),
    (f"python -c 'print(1)' && python -c 'print(1<<2); {COMPILED}'\n", True),
    (f"python - <<\\EOF\n{COMPILED}\nEOF\n", True),
    (f"python - <<'END-PY'\n{COMPILED}\nEND-PY\n", True),
)


@pytest.mark.parametrize(("script", "edited"), QUOTED)
def test_python_inside_a_quote_is_left_to_a_person(tmp_path: Path, script: str, edited: bool) -> None:
    launch = script + "CUDA_VISIBLE_DEVICES=0 python t.py\ncat <<EOF\nnvidia-smi\nEOF\n"
    docker = "RUN " + script.replace("# don't\n", "")
    for name, text in (("a.sh", launch), ("Dockerfile", docker)):
        (tmp_path / "a").mkdir(exist_ok=True)
        (tmp_path / "a" / name).write_text(text)
    rewrite(tmp_path / "a", tmp_path / "b")
    code = 'torch.compile(m, backend="eager")' if edited else "torch.compile(m)"
    changed = launch.replace("CUDA_V", "ASCEND_RT_V").replace("torch.compile(m)", code)
    assert (tmp_path / "b" / "a.sh").read_text() == changed
    assert (tmp_path / "b" / "Dockerfile").read_text() == docker.replace("torch.compile(m)", code)
    left = [(str(f.place).split(":")[0], class_of(f)) for f in scan(tmp_path / "b").findings if f.rule == "MIG111"]
    assert left == ([] if edited else [("Dockerfile", "manual"), ("a.sh", "manual")])


@pytest.mark.parametrize("mark", ['echo "usage: python - <<EOF"', "x=$((1<<N))", "python - <<EOF"])
def test_a_mark_that_nothing_closes_hides_nothing(tmp_path: Path, mark: str) -> None:
    (tmp_path / "a.sh").write_text(f"{mark}\nCUDA_VISIBLE_DEVICES=0 python t.py --backend NCCL\nnvidia-smi\n")
    assert [str(f.place) for f in scan(tmp_path).findings if class_of(f)] == ["a.sh:2:1", "a.sh:2:46", "a.sh:3:1"]


def test_an_edit_that_breaks_the_python_in_a_script_is_refused() -> None:
    source = text_source(f"python -c '{COMPILED}' && python -c '1 +'\n", "a.sh")
    refuse_broken(source, source.text.replace("(m)", "(n)"))
    for broken in ("(m", "('m')"):
        with pytest.raises(WorkbookError):
            refuse_broken(source, source.text.replace("(m)", broken))


CONFIGS = {
    "conf/train.yaml": ("device: cuda\nbackend: nccl\n说明: 显卡\n", {"1:9": "auto", "2:10": "auto"}),
    "ds_config.json": ('{"comm_backend_name": "nccl",\n "fp16": {"enabled": true}}\n', {"1:24": "rewrite"}),
    "docker-compose.yml": ("services:\n  t:\n    runtime: nvidia\n", {"3:14": "manual"}),
    "Dockerfile.gpu": ("FROM nvidia/cuda:12.1.0-base\nRUN nvidia-smi\n", {"1:6": "manual", "2:5": "manual"}),
    ".env": ("CUDA_VISIBLE_DEVICES=0,1\nNCCL_DEBUG=INFO\n", {"1:1": "rewrite", "2:1": "advice"}),
    "job.sbatch": ("#!/bin/bash\n#SBATCH --gres=gpu:8\n", {"2:9": "manual"}),
    "environment.yml": ("name: cuda\ndependencies:\n  - cudatoolkit=11.3\n", {"3:5": "manual"}),
}


@pytest.mark.parametrize("name", CONFIGS)
def test_settings_are_found_by_name_and_judged(tmp_path: Path, name: str) -> None:
    text, places = CONFIGS[name]
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(text, encoding="utf-8")
    for path in (tmp_path, tmp_path / name):
        report = scan(path)
        found = {str(f.place).rpartition(Path(name).name + ":")[2]: class_of(f) for f in report.findings if class_of(f)}
        assert found == places
        assert not [finding for finding in report.findings if finding.status is Status.NOT_LOOKED]


def test_settings_are_rewritten_and_devices_only_where_the_source_says_npu(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name in ("ds_config.json", ".env", "train.yaml"):
        text = CONFIGS.get(name, CONFIGS["conf/train.yaml"])[0]
        (tmp_path / "in" / name).write_text(text, encoding="utf-8")
    for mode in ("inject", "explicit"):
        rewrite(tmp_path / "in", tmp_path / mode, mode=mode)
    after = {
        mode: {file.name: file.read_text(encoding="utf-8") for file in (tmp_path / mode).iterdir()}
        for mode in ("inject", "explicit")
    }
    assert after["inject"]["ds_config.json"] == CONFIGS["ds_config.json"][0].replace('"nccl"', '"hccl"')
    assert after["inject"][".env"] == "ASCEND_RT_VISIBLE_DEVICES=0,1\nNCCL_DEBUG=INFO\n"
    assert after["inject"]["train.yaml"] == CONFIGS["conf/train.yaml"][0]
    assert after["explicit"]["train.yaml"] == "device: npu\nbackend: hccl\n说明: 显卡\n"


#: Text in settings that says CUDA and is a person's: nothing in it is a key, an item or a command.
PROSE = {
    "a.json": """{"content": "What's wrong, distributed_type: MULTI_GPU, or not?",
 "t": "it's {CUDA_VISIBLE_DEVICES: 0} x", "u": "Don't do this, device: cuda, ok",
 "v": "{'device': 'cuda'}", "w": "a\\", device: cuda, ok"}\n""",
    "a.yaml": """a: "it's {CUDA_VISIBLE_DEVICES: 0} x"
b: {text: "Don't do this, device: cuda, ok", n: 1}
"doc": |
  device: cuda
my key: |
  CUDA_VISIBLE_DEVICES: 0
a/b: >-
  device: cuda
k: !!str |
  device: cuda
l: &x |2
  device: cuda
- |
 device: cuda
m: "first
  device: cuda
  CUDA_VISIBLE_DEVICES: 0"
n: first
  - CUDA_VISIBLE_DEVICES=0
o: 'it''s
  device: cuda'
""",
}


@pytest.mark.parametrize("mode", ["inject", "explicit"])
def test_text_inside_a_string_is_nobodys_setting(tmp_path: Path, mode: str) -> None:
    (tmp_path / "a").mkdir()
    behind = {"a.json": '{"device": "cuda"}\n', "a.yaml": "- run: |\n    nvidia-smi\n  device: cuda\n"}
    for name, text in PROSE.items():
        (tmp_path / "a" / name).write_text(text + behind[name])
    rewrite(tmp_path / "a", tmp_path / "b", mode=mode)
    new = "npu" if mode == "explicit" else "cuda"
    for name, text in PROSE.items():
        assert (tmp_path / "b" / name).read_text() == text + behind[name].replace("cuda", new)


def test_a_quoted_key_and_a_longer_line_are_a_command(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text('"run": |\n  nvidia-smi\ncommand: torchrun t.py\n  --backend NCCL\n')
    found = [str(f.place) for f in scan(tmp_path).findings if class_of(f)]
    assert found == ["a.yaml:2:3", "a.yaml:4:13"]


def test_large_or_silent_settings_are_left_and_large_ones_told(tmp_path: Path) -> None:
    (tmp_path / "data.json").write_text('{"device": "cuda", "x": "' + "a" * (1 << 20) + '"}')
    (tmp_path / "vocabulary.json").write_text('{"hello": 1}')
    report = scan(tmp_path)
    assert [(f.key, f.args["first"]) for f in report.findings if "first" in f.args] == [
        ("MIG100.not_python", "data.json")
    ]


def test_settings_that_say_cuda_and_are_not_judged_are_told_once(tmp_path: Path) -> None:
    for number in range(3):
        text = f"device: cuda\nnames: [cuda]\nCUDA_DEVICE_MAX_CONNECTIONS: {number}\n# nccl 旧\n"
        (tmp_path / f"{number}.yaml").write_text(text, encoding="utf-8")
    told = [finding for finding in scan(tmp_path).findings[1:] if finding.status is Status.NOT_LOOKED]
    assert [(finding.key, finding.args) for finding in told] == [("MIG152.untold", {"count": 3, "first": "0.yaml:2"})]
    alone = scan_text(text_source("names: [cuda]\nothers: [nccl]\n", "a.yaml"))
    assert [(finding.key, finding.args) for finding in alone] == [("MIG152.untold", {"count": 1, "first": "a.yaml:1"})]
    (tmp_path / "b").mkdir()
    text = "device: cuda\nCUDA_DEVICE_MAX_CONNECTIONS: 1\n# nccl 旧\n"
    (tmp_path / "b" / "c.yaml").write_text(text, encoding="utf-8")
    assert not [finding for finding in scan(tmp_path / "b").findings if finding.status is Status.NOT_LOOKED]


def test_a_cell_that_writes_settings_is_looked_at(tmp_path: Path) -> None:
    report = scan(_notebook(tmp_path / "n.ipynb", '%%writefile conf/ds.json\n{"comm_backend_name": "nccl"}\n'))
    assert [str(finding.place) for finding in report.findings if class_of(finding)] == ["n.ipynb#cell1:2:24"]


def test_what_never_ends_is_not_read_and_large_scripts_are_told(tmp_path: Path) -> None:
    for name in ("a.yaml", "a.py", "a.sh"):
        os.mkfifo(tmp_path / name)
    (tmp_path / "Dockerfile").symlink_to("/dev/zero")
    (tmp_path / "b.sh").write_text("nvidia-smi\n")
    (tmp_path / "c.sh").symlink_to("b.sh")
    (tmp_path / "d.sh").write_text("nvidia-smi\n" + "#" * (4 << 20))
    found = [(str(f.place), f.key) for f in scan(tmp_path).findings if f.place]
    assert found == [
        ("b.sh:1:1", "MIG127.smi"),
        ("c.sh:1:1", "MIG127.smi"),
        ("d.sh", "MIG100.unreadable"),
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Dockerfile", "FROM " + "a" * 400_000 + "\n"),
        ("a.sh", "docker run " + "--gpus=" * 20_000 + "\n"),
        (".env", 'A="' + '\\"' * 100_000 + "\n"),
    ],
)
def test_long_lines_take_no_hours(tmp_path: Path, name: str, text: str) -> None:
    """Of the square of their length these would take minutes each."""
    (tmp_path / name).write_text(text + "nvidia-smi\n" * (name != "Dockerfile"))
    found = [str(f.place) for f in scan(tmp_path).findings if class_of(f)]
    assert found == ([] if name == "Dockerfile" else [f"{name}:2:1"])


def test_a_file_that_a_document_is_written_to_may_be_named_behind_the_mark() -> None:
    text = "#!/bin/bash\ncat <<'EOF' > 训练.py\nimport torch\nx = x.cuda('cuda:0')\nEOF\n"
    assert [(str(f.place), f.rule) for f in scan_text(text_source(text, "a.sh"))] == [("a.sh:4:5", "MIG103")]
    other = text.replace("训练.py", "说明.md")
    assert not scan_text(text_source(other, "a.sh"))


@pytest.mark.parametrize(
    ("wheel", "library"),
    [
        ("nvidia-dali-cuda120", "nvidia.dali"),
        ("nvidia-dali", "nvidia.dali"),
        ("nvidia-dal-tools", "nvidia_dal_tools"),
        ("my-nvidia-dali", "my_nvidia_dali"),
        ("detectron2-extras", "detectron2_extras"),
    ],
)
def test_a_wheel_is_known_by_how_its_name_begins(wheel: str, library: str) -> None:
    assert import_name(wheel) == library


def test_a_cell_that_no_parser_takes_has_no_line(tmp_path: Path) -> None:
    report = scan(_notebook(tmp_path / "n.ipynb", "x = '\0'\n"))
    assert [str(f.place) for f in report.findings if f.key == "MIG100.unreadable"] == ["n.ipynb#cell1"]


def test_a_cells_source_is_a_text_or_a_list_of_them_and_an_edit_changes_its_characters_alone() -> None:
    content = [("code", ["a = 1\n", "b = '显卡'"]), ("markdown", ["c"]), ("code", "d")]
    text = json.dumps({"cells": [{"cell_type": kind, "source": source} for kind, source in content]})
    first, last = read_code_cells(text)
    assert [(cell.number, cell.code) for cell in (first, last)] == [(1, "a = 1\nb = '显卡'"), (3, "d")]
    (edit,) = move_edits(text, first, [Edit(4, 5, '"2"')])
    after = json.loads(text[: edit.start] + edit.text + text[edit.end :])
    assert after["cells"][0]["source"] == ['a = "2"\n', "b = '显卡'"]


def test_a_source_that_cannot_be_placed_is_refused_by_its_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a JSON reader would leave it that hands strings on by another way than the decoder's own."""
    content = [("code", None), ("markdown", 1), ("code", ["import torch\n", "x = x.cuda('cuda:0')\n"])]
    text = json.dumps({"cells": [{"cell_type": kind, "source": source} for kind, source in content]})
    assert [cell.number for cell in read_code_cells(text)] == [3]
    with pytest.raises(Unreadable, match="cell 1: where its source stands"):
        read_code_cells(json.dumps({"cells": [{"cell_type": "code", "source": ["a\n", 1]}]}))
    monkeypatch.setattr(json.scanner, "py_make_scanner", json.scanner.make_scanner)  # type: ignore[attr-defined]
    (tmp_path / "n.ipynb").write_text(text)
    report = rewrite(tmp_path, in_place=True)
    (told,) = [finding for finding in report.findings if finding.key == "MIG100.unreadable"]
    assert "cell 3: where its source stands" in told.message("en") and "单元格 3" in told.message("zh")
    assert report.status is not Status.GOOD and (tmp_path / "n.ipynb").read_text() == text


@pytest.mark.parametrize("key", ["说明", "'说明'", '"说明"'])
def test_a_string_over_several_lines_holds_no_keys(key: str) -> None:
    assert not scan_text(text_source(f'{key}: "首行\n  backend: NCCL"\n', "a.yaml"))
    behind = scan_text(text_source(f'{key}: "首行\n  文"\nbackend: NCCL\n', "a.yaml"))
    assert [(finding.key, str(finding.place)) for finding in behind] == [("MIG152.upper_case", "a.yaml:3:10")]


def test_only_the_dependencies_of_an_environment_are_asked_for() -> None:
    text = "name: cudatoolkit\nchannels:\n  - cupy\ndependencies:\n  - numpy\n{}prefix: /opt/cudatoolkit  # 前缀\n"
    for name in ("environment.yml", "environment.yaml"):
        assert scan_text(text_source(text.format(""), name)) == []
        (finding,) = scan_text(text_source(text.format("  - cudatoolkit=10\n"), name))
        assert (finding.key, str(finding.place)) == ("MIG128.toolkit", f"{name}:6:5")
