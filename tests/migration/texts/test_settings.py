"""Settings, notebooks' cells and pins of torch, by the edges of what each means."""

from __future__ import annotations

import json

import pytest

from ascend_workbook.findings.finding import Edit, Place
from ascend_workbook.migration.repair import class_of
from ascend_workbook.migration.texts import embedded, lines, scan_text, text_source
from ascend_workbook.migration.texts.notebook import (
    magic_end,
    move_edits,
    read_cell,
    read_code_cells,
    split_foreign_cell,
)
from ascend_workbook.migration.texts.pins import Pin, find_pins
from ascend_workbook.migration.texts.settings import make_settings_explicit


def _judge(text: str, name: str = "a.yaml") -> list[tuple[str, str, str]]:
    findings = scan_text(text_source(text, name))
    return [(str(f.place).partition(":")[2], f.key.partition(".")[2], class_of(f)) for f in findings]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("NVIDIA_VISIBLE_DEVICES: all\n", [("1:1", "variable", "manual")]),
        ("NCCL_DEBUG: INFO\n", [("1:1", "nccl_variable", "advice")]),
        ("TORCH_NCCL_TRACE: 1\n", [("1:1", "nccl_variable", "advice")]),
        ("NCCL_SOCKET_IFNAME: eth0\n", [("1:1", "nccl_variable", "manual")]),
        ('CUDA_VISIBLE_DEVICES: "0"\n', [("1:1", "renamed", "rewrite")]),
        ("CUDA_VISIBLE_DEVICES: GPU-1\n", [("1:1", "value", "manual")]),
        ("CUDA_VISIBLE_DEVICES: $X\n", [("1:1", "renamed", "rewrite")]),
        ("CUDA_DEVICE_ORDER: PCI_BUS_ID\n", [("1:1", "no_effect", "advice")]),
        ('- name: CUDA_VISIBLE_DEVICES\n  value: "0"\n', [("1:9", "renamed", "rewrite")]),
        ('- name: CUDA_VISIBLE_DEVICES\n  value: "all"\n', [("1:9", "value", "manual")]),
        ('- {name: CUDA_VISIBLE_DEVICES, value: "all"}\n', [("1:10", "value", "manual")]),
        ("- {value: all, name: CUDA_VISIBLE_DEVICES}\n", [("1:22", "renamed", "rewrite")]),
        ("- name: CUDA_VISIBLE_DEVICES\n  other: 1\n  value: all\n", [("1:9", "renamed", "rewrite")]),
        ("- name: CUDA_VISIBLE_DEVICES", [("1:9", "renamed", "rewrite")]),
        ("image: nvidia/cuda:12.1\n", [("1:8", "image", "manual")]),
        ("container: pytorch/pytorch:2.1-cuda12\n", [("1:12", "image", "manual")]),
        ("picture: nvidia/cuda:12.1\n", [("1", "untold", "")]),
        ("run: CUDA_VISIBLE_DEVICES=0 python t.py\n", [("1:6", "renamed", "rewrite")]),
        ("- CUDA_VISIBLE_DEVICES=0\n", [("1:3", "renamed", "rewrite")]),
        ("x: 1 # nvidia\ny: nvidia\n", [("2", "untold", "")]),
        ("x: cuda_DEVICE_MAX_CONNECTIONS\nz: ASCEND_CUDA\n", []),
        (
            "command: |\n  nvidia-smi # cuda\n\n  nvidia-smi\nx: 1\n",
            [("2:3", "smi", "manual"), ("4:3", "smi", "manual")],
        ),
        ("note: |\n  device: cuda\ndevice: cuda\n", [("3:9", "device", "auto")]),
        ("- >-\n  device: cuda\n- device: cuda\n", [("3:11", "device", "auto")]),
    ],
)
def test_what_a_line_of_yaml_means(text: str, found: list[tuple[str, str, str]]) -> None:
    assert _judge(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"command": "nvidia-smi"}\n', [("1", "untold", "")]),
        (
            '{"comm_backend_name": "nccl", "x": {"device": "cuda"}}',
            [("1:24", "one_bit", "rewrite"), ("1:48", "device", "auto")],
        ),
        ("{device: cuda}\n", [("1", "untold", "")]),
    ],
)
def test_what_a_line_of_json_means(text: str, found: list[tuple[str, str, str]]) -> None:
    assert [(place, key) for place, key, _ in _judge(text, "a.json")] == [(place, key) for place, key, _ in found]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("CUDA_VISIBLE_DEVICES=0 # nvidia-smi", [("1:1", "renamed")]),
        ("NVIDIA_DRIVER_CAPABILITIES=all", [("1:1", "variable")]),
        ("A='# x' nvidia-smi", [("1:9", "smi")]),
        ("torchrun t.py --backend NCCL", [("1:25", "upper_case")]),
        ("torchrun t.py --distributed-backend nccl", [("1:37", "fixed_choices")]),
        ("NCCL_HOME=/x make", [("1:1", "no_effect")]),
    ],
)
def test_what_a_line_of_an_environment_means(line: str, found: list[tuple[str, str]]) -> None:
    for name in (".env", ".env.train", "a.env"):
        assert [(place, key) for place, key, _ in _judge(line, name)] == found


def test_devices_of_settings_are_rewritten_where_the_source_says_npu() -> None:
    text = "device: cuda\nbackend: nccl\ndistributed_backend: nccl\ncommand: t.py device=cuda\nx: 1\n"
    found = list(make_settings_explicit(text_source(text, "a.yaml")))
    assert [(finding.key, finding.edits) for finding in found] == [
        ("MIG138.device", (Edit(8, 12, "npu"),)),
        ("MIG138.backend", (Edit(22, 26, "hccl"),)),
    ]
    assert not list(make_settings_explicit(text_source("device: cuda\n", ".env")))


@pytest.mark.parametrize(
    ("cell", "target"),
    [
        ("%%bash\nls", "commands.sh"),
        ("%%script bash -e\nls", "commands.sh"),
        ("%%script\nls", "commands.sh"),
        ("%%script perl\nls", ""),
        ("%%!\nls", "commands.sh"),
        ("%%writefile a/b.py\nx", "a/b.py"),
        ("%%file -a requirements.txt\nx", "requirements.txt"),
        ("%%writefile notes.md\nx", ""),
        ("%%writefile\nx", ""),
        ("%%html\nx", ""),
        ("x = 1", ""),
    ],
)
def test_what_a_cell_writes(cell: str, target: str) -> None:
    file, body = split_foreign_cell(cell)
    assert file == target and len(body) == len(cell) and body.endswith(cell.rpartition("\n")[2])
    assert magic_end(cell) == (cell.index("\n") + 1 if cell.startswith("%%") else 0)


def test_where_the_lines_of_a_magic_end() -> None:
    assert (magic_end("%%time"), magic_end("%%time\r\nx")) == (6, 8)


@pytest.mark.parametrize(
    ("code", "python", "shell"),
    [
        ("%time x = 1", "0;    x = 1", ""),
        ("%timeit -n 3 f()", "0;           f()", ""),
        ("a = !ls", "a = 0", "     ls"),
        ("if x:\n    !ls \\\n  -a\ny", "if x:\n    pass\n\ny", "\n     ls \\\n  -a\n"),
        ("%pip install x", "pass", " pip install x"),
        ("%matplotlib inline", "pass", ""),
        ("f?", "pass", ""),
        ("x = (", "x = (", ""),
    ],
)
def test_a_cell_is_read_as_python_and_a_shells(code: str, python: str, shell: str) -> None:
    cell = read_cell(code)
    assert (cell.python, cell.shell, cell.error is None) == (python, shell, code != "x = (")


def test_an_edit_of_a_cell_is_one_of_its_file() -> None:
    text = json.dumps({"cells": [{"cell_type": "code", "source": ["ab\n", "c"]}]})
    (cell,) = read_code_cells(text)
    for edit, after in (
        (Edit(0, 0, "x\n"), "x\nab\nc"),
        (Edit(1, 1, "x"), "axb\nc"),
        (Edit(4, 4, "显"), "ab\nc显"),
        (Edit(1, 4, "y"), "ay"),
        (Edit(0, 2, ""), "\nc"),
    ):
        changed = text
        for place in sorted(move_edits(text, cell, [edit]), key=lambda place: -place.start):
            changed = changed[: place.start] + place.text + changed[place.end :]
        assert "".join(json.loads(changed)["cells"][0]["source"]) == after
    assert "\\u663e" in move_edits(text, cell, [Edit(0, 0, "显")])[0].text, "a file in ASCII stays in ASCII"


@pytest.mark.parametrize(
    ("clause", "admitted", "refused"),
    [
        (("==", "2.1.0"), ["2.1.0"], ["2.1.1", "2.0.9"]),
        (("===", "2.1.0"), ["2.1.0"], ["2.1.1"]),
        (("=", "2.1"), ["2.1.0", "2.1.2"], ["2.2.0", "2.0.1"]),
        (("~=", "2.1"), ["2.1.0", "2.5.0"], ["2.0.9", "3.0.0"]),
        (("~=", "2.1.1"), ["2.1.1", "2.1.9"], ["2.1.0", "2.2.0"]),
        (("~", "2"), ["2.0.0", "2.9.0"], ["1.9.0", "3.0.0"]),
        (("~", "2.1.1"), ["2.1.1", "2.1.9"], ["2.1.0", "2.2.0"]),
        (("^", "2.1"), ["2.1.0", "2.9.0"], ["2.0.9", "3.0.0"]),
        (("^", "0.4"), ["0.4.0", "0.4.9"], ["0.5.0", "0.3.9"]),
        (("!=", "2.1.0"), ["2.1.1"], ["2.1.0"]),
        ((">=", "2.1.0"), ["2.1.0", "2.2.0"], ["2.0.9"]),
        ((">", "2.1.0"), ["2.1.1"], ["2.1.0", "2.0.9"]),
        (("<=", "2.1.0"), ["2.1.0", "2.0.9"], ["2.1.1"]),
        (("<", "2.1.0"), ["2.0.9"], ["2.1.0", "2.1.1"]),
    ],
)
def test_which_versions_a_clause_admits(clause: tuple[str, str], admitted: list[str], refused: list[str]) -> None:
    pin = Pin("torch", (clause,), Place(""))
    assert [version for version in admitted + refused if pin.admits_version(version)] == admitted


@pytest.mark.parametrize(
    ("line", "clauses", "wanted"),
    [
        ("torch>=1.8,<2.0", ((">=", "1.8"), ("<", "2.0")), "1.8"),
        ("torch>=1.10,!=1.12,>1.9", ((">=", "1.10"), ("!=", "1.12"), (">", "1.9")), "1.10"),
        ("torch<2.0", (("<", "2.0"),), "0"),
        ("torch==1.13.*", (("=", "1.13"),), "1.13"),
        ("torch>=1.13.*", ((">=", "1.13"),), "1.13"),
        ("torch==2.1.0 ; python_version < '3.9'", (("==", "2.1.0"),), "2.1.0"),
        ("torch  # ==1.0", (), ""),
        ("torchvision==0.1", (), ""),
        ("pytorch==2.1", (("==", "2.1"),), "2.1"),
    ],
)
def test_the_clauses_of_a_requirement(line: str, clauses: tuple[tuple[str, str], ...], wanted: str) -> None:
    pins = list(find_pins(text_source(f"numpy\n{line}\n", "requirements.txt")))
    assert [pin.clauses for pin in pins] == ([clauses] if clauses else [])
    assert [(pin.wanted_version, str(pin.place)) for pin in pins] == [(wanted, "requirements.txt:2:1")] * bool(clauses)


def test_the_pins_of_other_lists() -> None:
    conda = "dependencies:\n  - pytorch=1.8.0=py3.8_cuda10.2\n  - pytorch 2.1\n"
    assert [pin.clauses for pin in find_pins(text_source(conda, "environment.yml"))] == [
        (("=", "1.8.0"),),
        (("=", "2.1"),),
    ]
    poetry = '[tool.poetry.dependencies]\ntorch = "2.1.0"\n'
    assert [pin.clauses for pin in find_pins(text_source(poetry, "pyproject.toml"))] == [(("==", "2.1.0"),)]
    script = "pip install -r torch.txt 'torch>=2.0' numpy\nconda install -c pytorch pytorch=2.1\necho torch==1.0\n"
    assert [str(pin.place) for pin in find_pins(text_source(script, "a.sh"))] == ["a.sh:1:27", "a.sh:2:26"]


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ("transformers==4.31", "too_old"),
        ("transformers==4.31.9", "too_old"),
        ("transformers==4.32", ""),
        ("transformers<4.32", "too_old"),
        ("transformers<=4.32", ""),
        ("transformers<=4.31", "too_old"),
        ("transformers~=4.31", ""),
        ("transformers~=4.31.0", "too_old"),
        ("transformers==4.31.*", ""),
        ("transformers>=4.0", ""),
        ("accelerate==0.21", "too_old"),
        ("peft==0.5", ""),
        ("trl<0.5", "too_old"),
        ("torch==2.1+cu121", "cuda_build"),
        ("torch==2.1", ""),
        ("numpy==1.0+cu121", ""),
        ("nvidia-cublas-cu12", "toolkit"),
        ("x @ git+https://github.com/Dao-AILab/flash-attention.git@v2", "library"),
        ("--extra-index-url https://download.pytorch.org/whl/cu118", "index"),
        ("--index-url https://download.pytorch.org/whl/cpu", ""),
    ],
)
def test_what_a_requirement_means(line: str, key: str) -> None:
    assert [found for _, found, _ in _judge(f"{line}\n", "requirements.txt")] == [key] * bool(key)


@pytest.mark.parametrize(
    ("code", "places"),
    [
        ("requires = ['apex']\n", ["1"]),
        ("extra_deps += ['apex']\n", ["1"]),
        ("deps: list = ['apex']\n", ["1"]),
        ("REQUIRED['gpu'] = ['apex']\n", ["1"]),
        ("requires.append('apex')\n", ["1"]),
        ("requires.remove('apex')\n", []),
        ("names.append('apex')\n", []),
        ("setup(name='apex', extras_require={'gpu': ['apex']})\n", ["1"]),
        ("deps: list\nname = 'apex'\n", []),
        ("requires = ['apex'\n", ["1"]),
    ],
)
def test_which_strings_of_a_setup_are_requirements(code: str, places: list[str]) -> None:
    found = [place.partition(":")[0] for place, key, _ in _judge(code, "setup.py") if key == "library"]
    assert found == places


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("  - cudatoolkit=10\ndependencies:\n  - numpy\n", []),
        ("dependencies:\n  - cudatoolkit=10\nname: x\n  - nccl\n", ["2"]),
        ("'dependencies':\n  - cudatoolkit=10\n", []),
    ],
)
def test_where_the_dependencies_of_an_environment_stand(text: str, places: list[str]) -> None:
    assert [place.partition(":")[0] for place, _, _ in _judge(text, "environment.yml")] == places


def test_the_hours_of_each_kind_of_text() -> None:
    bitsandbytes = {"bitsandbytes": 2.0, "flash": 0.25, "layout": 0.25}
    assert lines.KNOWN["MIG152"].hours == {"cards": 0.1, **bitsandbytes, "upper_case": 0.25, "variable": 0.25}
    assert lines.KNOWN["MIG153"].hours == {"image": 2.0, "variable": 0.1, "nccl": 0.25}
    listed = {"library": 0.25, "toolkit": 0.1, "cuda_build": 0.25, "index": 0.1, "too_old": 1.0}
    assert lines.KNOWN["MIG128"].hours == listed and embedded.KNOWN.hours == {"no_import": 0.1}
