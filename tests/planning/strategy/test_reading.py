"""MODEL in all its forms, and one clear error for what is none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.planning.strategy.choice import FULL, NONE, SELECTIVE, strategy_of_arguments
from ascend_workbook.planning.strategy.reading import known_models, read_model
from ascend_workbook.planning.strategy.shell import read_arguments

CONFIG = {
    "model_type": "llama",
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 160,
    "vocab_size": 1000,
    "tie_word_embeddings": False,
}
SCRIPT = """
import argparse
from transformers import LlamaConfig, LlamaForCausalLM
HEADS = 4
parser = argparse.ArgumentParser()
parser.add_argument("--hidden", type=int, default=HEADS * 16)
parser.add_argument("--lr", type=float, default=3e-3)
parser.add_argument("--seq-len", type=int, default=128)
args = parser.parse_args()
config = LlamaConfig(hidden_size=args.hidden, num_hidden_layers=2, num_attention_heads=HEADS,
                     num_key_value_heads=2, intermediate_size=160, vocab_size=1000)
model = LlamaForCausalLM(config)
torch.nn.utils.clip_grad_norm_(model.parameters(), 0.0)
"""


def test_a_configuration_and_its_folder_are_one(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    (folder, _), (file, _) = (read_model(str(path)) for path in (tmp_path, tmp_path / "config.json"))
    assert folder == file and folder.name == tmp_path.name
    assert (folder.hidden, folder.kv_heads, folder.head_dim, folder.tied) == (64, 2, 16, False)


def test_a_script_that_builds_its_configuration(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(SCRIPT)
    model, stated = read_model(str(path))
    assert (model.hidden, model.layers, model.kv_heads, model.vocabulary) == (64, 2, 2, 1000)
    assert stated.number("learning_rate") == 3e-3 and stated.number("sequence") == 128
    assert stated.number("clipping") == 0.0
    place = stated.values["learning_rate"].place
    assert place is not None and place.line == 7


@pytest.mark.parametrize(
    "line",
    [
        'config = AutoConfig.from_pretrained("model")',
        'model = AutoModelForCausalLM.from_pretrained(PATH)\nPATH = "model"',
        'p.add_argument("--model", default="model")\nAutoModelForCausalLM.from_pretrained(args.model)',
        'tokenizer = AutoTokenizer.from_pretrained("elsewhere")\nm = AutoModel.from_config(pretrained_path="x")\n'
        'm = AutoModel.from_pretrained("model")',
    ],
)
def test_a_script_that_loads_a_folder(tmp_path: Path, line: str) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text(json.dumps(CONFIG))
    (tmp_path / "train.py").write_text(line)
    model, _ = read_model(str(tmp_path / "train.py"))
    assert model.hidden == 64 and model.source.endswith("train.py (model)")


def test_a_script_that_loads_a_known_name(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text('AutoModelForCausalLM.from_pretrained("Qwen/Qwen3-8B")')
    assert read_model(str(tmp_path / "train.py"))[0].hidden == 4096


def test_defaults_of_a_configurations_class(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("model = GPT2LMHeadModel(GPT2Config())")
    model, _ = read_model(str(tmp_path / "train.py"))
    assert model.parameters == known_models()["gpt2"].parameters


def test_a_report_names_its_model_or_script(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    for number, facts in enumerate(({"model": CONFIG}, {"script": str(tmp_path / "train.py")})):
        path = tmp_path / f"report{number}.json"
        path.write_text(json.dumps({"stage": "planning", "facts": facts}))
        assert read_model(str(path))[0].hidden == 64
    (tmp_path / "none.json").write_text(json.dumps({"stage": "planning", "facts": {}}))
    with pytest.raises(WorkbookError) as error:
        read_model(str(tmp_path / "none.json"))
    assert error.value.key == "strategy.no_report_model"


@pytest.mark.parametrize(
    "name, text, key",
    [
        ("config.json", "{", "strategy.no_json"),
        ("config.json", "[1]", "strategy.no_json"),
        ("config.json", json.dumps({**CONFIG, "hidden_size": "64"}), "strategy.bad_dimension"),
        ("config.json", json.dumps({**CONFIG, "num_hidden_layers": 0}), "strategy.bad_dimension"),
        ("config.json", json.dumps({"model_type": "llama"}), "strategy.no_dimension"),
        ("config.json", json.dumps({**CONFIG, "model_type": "mamba"}), "strategy.other_layers"),
        ("train.py", "def f(:\n", "strategy.no_python"),
        ("train.py", "x = 1", "strategy.no_config"),
        ("train.py", 'AutoModel.from_pretrained("some/where")', "strategy.config_elsewhere"),
        ("train.py", "\x00", "strategy.no_python"),
        ("run.sh", "torchrun x.py --lr 1", "strategy.no_dimension"),
    ],
)
def test_what_cannot_be_read_is_one_error(tmp_path: Path, name: str, text: str, key: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(WorkbookError) as error:
        read_model(str(tmp_path / name))
    assert error.value.key == key and error.value.hint("zh")
    assert name in error.value.message("en") or "no model" in error.value.message("en")


def test_bytes_that_are_no_text_are_one_error(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(WorkbookError) as error:
        read_model(str(tmp_path / "train.py"))
    assert error.value.key == "strategy.unreadable"


LAUNCH = """
TP=4
PP=2 # stages
NPUS_PER_NODE=8
NNODES=4
WORLD=$(($NPUS_PER_NODE*$NNODES))
ARGS="
    --tensor-model-parallel-size ${TP} \\
    --pipeline-model-parallel-size $PP \\
    --num-layers 32 --num-layers-per-virtual-pipeline-stage 4
    --micro-batch-size=2 --use-distributed-optimizer
"
# --sequence-parallel
torchrun train.py $ARGS --world $WORLD --lr -1
"""


def test_a_launch_scripts_arguments() -> None:
    arguments = read_arguments(LAUNCH)
    assert arguments["tensor-model-parallel-size"] == "4" and arguments["world"] == "32"
    assert arguments["use-distributed-optimizer"] == "" and "sequence-parallel" not in arguments
    found = strategy_of_arguments(arguments, 8)
    assert found is not None
    strategy, cards = found
    assert cards == 32 and strategy.data == 4 and strategy.chunks == 4 and strategy.zero == 1
    assert strategy.micro == 2 and not strategy.sequence_parallel and strategy.recompute == NONE


@pytest.mark.parametrize(
    "words, recompute, terms",
    [
        ("--recompute-granularity full --recompute-method uniform", FULL, ()),
        ("--recompute-granularity selective", NONE, ()),
        ("--recompute-activation-function", SELECTIVE, ("activated",)),
        (
            "--recompute-granularity selective --recompute-modules mlp layernorm",
            SELECTIVE,
            ("gate", "activated", "normed"),
        ),
    ],
)
def test_how_a_launch_script_recomputes(words: str, recompute: str, terms: tuple[str, ...]) -> None:
    found = strategy_of_arguments(read_arguments(f"x --tensor-model-parallel-size 1 {words}"), 8)
    assert found is not None and found[0].recompute == recompute
    assert found[0].savings.terms == terms


def test_savings_of_a_launch_script() -> None:
    words = "--swap-attention --reuse-fp32-param --o2-gradient --recompute-granularity full"
    words += " --recompute-method block --recompute-num-layers 2 --tensor-model-parallel-size 2 --moe-tp-extend-ep"
    found = strategy_of_arguments(read_arguments(f"x {words} --expert-model-parallel-size 4"), 8)
    assert found is not None
    savings = found[0].savings
    assert (savings.optimizer_bytes, savings.gradient_bytes, savings.layers) == (2.0, 2.0, 2)
    assert savings.unknown == ("swap-attention",) and found[0].expert == 8 and found[0].expert_tensor == 1


def test_layers_of_stages_of_a_launch_script() -> None:
    words = {"pipeline-model-parallel-size": "4", "num-layer-list": "11,13,19,21"}
    found, short = (strategy_of_arguments({**words, **more}, 8) for more in ({}, {"num-layer-list": "1,2"}))
    assert found is not None and found[0].stage_layers == (11, 13, 19, 21)
    assert short is not None and short[0].stage_layers == ()


def test_a_line_without_degrees_has_no_strategy() -> None:
    assert strategy_of_arguments({"lr": "1"}, 8) is None
