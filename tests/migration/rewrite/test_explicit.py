"""rewrite --mode explicit: each part's own examples and near misses, files that know npu, and what is left."""

from __future__ import annotations

import ast

import pytest

from ascend_workbook.findings.sentence import say
from ascend_workbook.migration.reading.source import parse_text
from ascend_workbook.migration.repair import class_of
from ascend_workbook.migration.rewrite import apply_edits, choose_edits, migrate_source
from ascend_workbook.migration.rewrite.explicit import PARTS
from ascend_workbook.migration.rewrite.explicit.calls import check_commands, rewrite_arguments
from ascend_workbook.migration.scan import scan_source
from ascend_workbook.migration.texts import text_source
from tests.migration.rewrite.explicit_examples import EXAMPLES, NEAR_MISSES

PART_NAMES = [part.__name__.rpartition(".")[2] for part in PARTS]
SCRIPT_EXAMPLES = [(part, *example) for part in PART_NAMES for example in EXAMPLES[part]]
SCRIPT_NEAR_MISSES = [(part, code) for part in PART_NAMES for code in NEAR_MISSES[part]]
IMPORT = "import torch_npu\n"


def _explicit(code: str) -> str:
    return migrate_source(parse_text(code), mode="explicit")[0]


@pytest.mark.parametrize(("part", "code", "after"), SCRIPT_EXAMPLES)
def test_the_example_is_rewritten_once(part: str, code: str, after: str) -> None:
    text, made = migrate_source(parse_text(code), mode="explicit")
    assert text.replace(IMPORT, "", 1) == after.replace(IMPORT, "", 1)
    ast.parse(text)
    for finding in made:
        assert say(finding.key, "en", **finding.args) and say(finding.key, "zh", **finding.args)
    assert _explicit(text) == text
    left = {class_of(finding) for finding in scan_source(parse_text(text), strict=True)}
    assert "rewrite" not in left and ("auto" not in left or "cu' 'da" in code)


@pytest.mark.parametrize(("part", "code"), SCRIPT_NEAR_MISSES)
def test_the_near_miss_is_left_alone(part: str, code: str) -> None:
    text = _explicit(code)
    assert text.replace(IMPORT, "", 1) == code or _only_inject(code, text), text


def _only_inject(code: str, text: str) -> bool:
    """A place that both modes edit alike."""
    source = parse_text(code)
    edits = [edit for finding in scan_source(source) if class_of(finding) == "rewrite" for edit in finding.edits]
    return bool(edits) and apply_edits(source, edits) == text.replace(IMPORT, "", 1)


@pytest.mark.parametrize("part", PART_NAMES)
def test_two_fifths_must_not_change_and_both_have_chinese(part: str) -> None:
    assert len(NEAR_MISSES[part]) >= 0.4 * (len(NEAR_MISSES[part]) + len(EXAMPLES[part])) - 1
    assert any(not code.isascii() for code, _ in EXAMPLES[part])
    assert any(not code.isascii() for code in NEAR_MISSES[part])


def test_at_least_two_fifths_in_all() -> None:
    assert len(SCRIPT_NEAR_MISSES) >= 0.4 * (len(SCRIPT_NEAR_MISSES) + len(SCRIPT_EXAMPLES))


@pytest.mark.parametrize(("line", "after"), EXAMPLES["commands"])
def test_a_command_hands_on_the_device(line: str, after: str) -> None:
    source = text_source(line, "run.sh")
    assert apply_edits(source, [edit for finding in check_commands(source) for edit in finding.edits]) == after
    assert not list(check_commands(text_source(after, "run.sh")))


@pytest.mark.parametrize("line", NEAR_MISSES["commands"])
def test_a_command_without_a_device_stays(line: str) -> None:
    assert not list(check_commands(text_source(line, "run.sh")))


@pytest.mark.parametrize(
    "code",
    [
        "import torch\nif d.type == 'cuda':  # 显卡\n    torch.cuda.synchronize()\n    x = x.cuda()\n"
        "elif d.type == 'mps':\n    pass\nelif d.type == 'npu':\n    torch.npu.synchronize()\n",
        "import torch\nif 'cuda' in args.device:\n    n = torch.cuda.current_device()\n"
        "elif 'npu' in args.device and HAS_NPU:\n    n = torch.npu.current_device()\n",
        "import torch\nif d.startswith('cuda:'):\n    torch.cuda.set_device(d)\n"
        "elif d.startswith('npu:'):\n    torch.npu.set_device(d)\n",
        "import torch\nbackend = {'cuda': 'nccl', 'npu': 'hccl', 'cpu': 'gloo'}[d]  # 后端\n",
    ],
)
def test_what_is_for_cuda_alone_stays(code: str) -> None:
    """A script with a place of its own for an NPU keeps the one for CUDA, and the scan is silent about it then."""
    after = _explicit(code)
    assert after == IMPORT + code
    assert not {class_of(finding) for finding in scan_source(parse_text(after), strict=True)} & {"auto", "rewrite"}
    assert class_of(scan_source(parse_text(code), strict=True)[-1]) == "auto"


@pytest.mark.parametrize(
    "code",
    [
        "import torch\nif d.type != 'cuda':\n    pass\nelse:\n    torch.cuda.synchronize()  # 显卡\n",
        "import torch\nif d.type == 'cuda':\n    torch.cuda.synchronize()\nelif d.type == 'mps':\n    pass\n",
        "import torch\nif d.type in ('cuda', 'npu'):\n    torch.cuda.synchronize()\nelif d.type == 'npu':\n    pass\n",
    ],
)
def test_another_branch_is_rewritten(code: str) -> None:
    assert "torch.npu.synchronize()" in _explicit(code)


def test_arguments_of_a_script_follow() -> None:
    given = "--device=cuda:1 --device cuda --backend NCCL --name cuda --distributed-backend nccl"
    asked = "--device=npu:1 --device npu --backend hccl --name cuda --distributed-backend nccl"
    assert " ".join(rewrite_arguments(given.split())) == asked


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ("--distributed-backend=nccl --dist-backend=nccl", "--distributed-backend=nccl --dist-backend=hccl"),
        ("--attn-impl=cuda --kernel=cuda:0 --name=cuda", "--attn-impl=cuda --kernel=cuda:0 --name=cuda"),
        ("--device=cpu cuda --backend=gloo nccl", "--device=cpu cuda --backend=gloo nccl"),
        ("train.device=cuda:1 model.impl=cuda device cuda", "train.device=npu:1 model.impl=cuda device cuda"),
    ],
)
def test_only_the_option_of_the_value_itself_counts(given: str, asked: str) -> None:
    assert " ".join(rewrite_arguments(given.split())) == asked


def test_what_has_no_form_is_named_and_stays() -> None:
    code = (
        "import torch\ntorch.cuda.caching_allocator_enable(False)\nx = name.split('cuda')\nfrom torch.cuda import *\n"
    )
    made, left = choose_edits(parse_text(code), mode="explicit")
    assert [finding.args["name"] for finding in left if finding.rule == "MIG138"] == [
        "torch.cuda.caching_allocator_enable",
        "cuda",
        "torch.cuda.*",
    ]
    assert _explicit(code) == IMPORT + code


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("from b import Batch\nf = Batch().cuda\nf()\n", "Batch().cuda"),
        ("import torch\nmove = torch.Tensor.cuda\n", "torch.Tensor.cuda"),
        ("from torch import cuda\nraise cuda.OutOfMemoryError()\n", "torch.cuda.OutOfMemoryError"),
    ],
)
def test_a_name_that_another_edit_would_break_is_told(code: str, name: str) -> None:
    _, left = choose_edits(parse_text(code), mode="explicit")
    assert [finding.args["name"] for finding in left] == [name]


@pytest.mark.parametrize(
    ("code", "key", "line"),
    [
        ("PEAK = {'cuda': 1, 'cpu': 0}\n", "MIG138.key", 1),
        ("import torch\ntorch.save({'cuda': state}, path)\n", "MIG138.key", 2),
        ("peak = {'cuda': 1}\nprint(peak['cuda'])\nrun(peak)\n", "MIG138.key", 1),
        ("def f():\n    return {'cuda': 1}\n", "MIG138.key", 2),
        ("import torch\nstate = torch.load(path)\nif 'cuda' in state:\n    pass\n", "MIG138.key", 3),
        ("import yaml\nc = yaml.safe_load(f)\nok = c['device'] == 'cuda'\n", "MIG138.outside", 3),
        ("ok = c.get('device', 'cpu') in ('cuda', 'cpu')\n", "MIG138.outside", 1),
        ("import hydra\ndef main(cfg):\n    return cfg.train.device != 'cuda'\n", "MIG138.outside", 3),
        ("import hydra\ndef main(cfg, x):\n    return x.device.type != 'cuda'\n", "", 0),
    ],
)
def test_what_other_files_say_is_left_to_a_person(code: str, key: str, line: int) -> None:
    made, left = choose_edits(parse_text(code), mode="explicit")
    assert [(finding.key, finding.place and finding.place.line) for finding in left] == ([(key, line)] if key else [])
    assert bool([finding for finding in made if finding.key == "MIG138.device"]) == (not key)


def test_a_migrated_script_of_the_other_mode_is_taken_over() -> None:
    code = "import torch\nm = m.cuda()\nx = x.cuda('cuda:0')\nif x.device.type == 'cuda':\n    pass\n"
    injected = migrate_source(parse_text(code))[0]
    assert "transfer_to_npu" in injected
    after = _explicit(injected)
    assert "transfer_to_npu" not in after and "m.npu()" in after and "x.to('npu:0')" in after
