"""What the Hugging Face hub would give is made of what is known of a name, and written down."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.planning.child.hub import simplify
from ascend_workbook.planning.rehearsal.stand_ins import StandIn, configure_hub
from tests.planning.child import running

pytest.importorskip("transformers")
#: As much of the library `datasets` as is asked for.
DATASETS = """
class Dataset(dict):
    from_dict = classmethod(lambda cls, columns: cls(columns))
    to_iterable_dataset = lambda self: iter([dict(zip(self, row)) for row in zip(*self.values())])
    def cast_column(self, column, kind):
        self.kinds = {**getattr(self, "kinds", {}), column: kind.names}
        return self
class ClassLabel:
    def __init__(self, names):
        self.names = names
def concatenate_datasets(parts):
    return Dataset({column: [value for part in parts for value in part[column]] for column in parts[0]})
class IterableDatasetDict(dict):
    pass
DatasetDict = dict
def load_dataset(path, name=None, split=None, streaming=False):
    raise ConnectionError("no network")
"""


METRICS = """
def load(path, name=None):
    raise FileNotFoundError("no module " + path)
"""


def run(folder: Path, code: str, missing: tuple[str, ...] = ()) -> tuple[Any, list[StandIn], str]:
    """Run code with the plugin and a small library of data sets."""
    library = folder / "site-packages"
    library.mkdir()
    (library / "datasets.py").write_text(DATASETS)
    (library / "evaluate.py").write_text(METRICS)
    return running.run(folder, code, ("hub.py", configure_hub(False, missing)), library="site-packages")


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("meta-llama/Llama-2-7b-hf", "llama2-7b"),
        ("decapoda-research/llama-7b-hf", "llama-7b"),
        ("meta-llama/Meta-Llama-3-8B-Instruct", "llama3-8b"),
        ("google-bert/bert-base-uncased", "bert-base"),
        ("facebook/opt-350m", "opt-350m"),
        ("Qwen/Qwen2.5-7B-Instruct", "qwen2.5-7b"),
        ("mistralai/Mistral-7B-v0.1", "mistral-7b"),
    ],
)
def test_a_name_is_known_however_it_is_written(written: str, name: str) -> None:
    assert simplify(written) == simplify(name)


def test_a_model_its_tokenizer_and_rows_of_text(tmp_path: Path) -> None:
    code = """
from transformers import AutoModelForCausalLM, AutoTokenizer
from datasets import load_dataset
model = AutoModelForCausalLM.from_pretrained("facebook/opt-125m")
tokenizer = AutoTokenizer.from_pretrained("facebook/opt-125m")
batch = tokenizer(["some text", "more"], padding=True, return_tensors="pt")
rows = load_dataset("yahma/alpaca-cleaned")
print(json.dumps([model.num_parameters(), len(tokenizer), list(batch["input_ids"].shape), sorted(rows["train"]),
                  tokenizer.decode(tokenizer("text")["input_ids"])]))
"""
    facts, stand_ins, errors = run(tmp_path, code)
    assert facts == [125_239_296, 50272, [2, 9], ["input", "instruction", "output", "text"], "text"], errors[-2000:]
    assert [(each.kind, each.guessed, each.line) for each in stand_ins] == [
        ("model", False, 4),
        ("tokenizer", True, 5),
        ("texts", True, 7),
    ]
    assert all(each.sentence.args for each in stand_ins)


def test_weights_of_timm_stay_as_they_were_built(tmp_path: Path) -> None:
    library = tmp_path / "site-packages" / "timm" / "models"
    library.mkdir(parents=True)
    (library / "_builder.py").write_text("def load_pretrained(model, strict=True):\n    raise OSError('no network')\n")
    code = """
import torch
from timm.models import _builder
model = torch.nn.Linear(2, 3)
model.pretrained_cfg = {"architecture": "vgg19"}
before = model.weight.clone()
_builder.load_pretrained(model, strict=False)
print(json.dumps(torch.equal(model.weight, before)))
"""
    facts, stand_ins, errors = running.run(tmp_path, code, ("hub.py", configure_hub(False)), library="site-packages")
    assert facts is True, errors
    assert [(each.kind, each.name, each.guessed) for each in stand_ins] == [("weights", "timm vgg19", False)]


def test_rows_have_the_columns_and_the_number_that_a_run_before_missed(tmp_path: Path) -> None:
    code = """
import evaluate
from datasets import load_dataset
rows = load_dataset("someone/talks", split="train")
both = load_dataset("someone/talks", split=["train", "test"])
metric = evaluate.load("glue", "mrpc")
metric.add_batch(predictions=[1], references=[1])
print(json.dumps([len(rows["text"]), rows["image"][0].size, rows["messages"][0][0]["role"], rows["score"][:3],
                  rows["notes"][0][:12], len(both), metric.compute()["accuracy"]]))
"""
    missing = ("column image", "column messages", "column score", "column notes", "rows 3000")
    facts, stand_ins, errors = run(tmp_path, code, missing)
    assert facts == [3000, [256, 256], "user", [0, 1, 0], "the training", 2, 0.0], errors[-2000:]
    assert [(each.kind, each.guessed, each.line) for each in stand_ins] == [("texts", True, 4), ("metric", False, 6)]
    assert stand_ins[0].facts["rows"] == 3000


def test_a_configuration_names_its_class(tmp_path: Path) -> None:
    code = """
from transformers import AutoConfig
config = AutoConfig.from_pretrained("Qwen/Qwen2-0.5B")
print(json.dumps(config.architectures))
"""
    facts, _, errors = run(tmp_path, code)
    assert facts == ["Qwen2ForCausalLM"], errors[-2000:]


def test_a_name_that_nobody_knows_is_not_answered(tmp_path: Path) -> None:
    code = "from transformers import AutoModel\nAutoModel.from_pretrained('someone/something-own')"
    facts, stand_ins, errors = run(tmp_path, code)
    assert "OSError" in errors and stand_ins == []


def test_rows_that_come_while_they_are_loaded_and_classes_with_names(tmp_path: Path) -> None:
    code = """
from datasets import load_dataset
rows = load_dataset("someone/imdb", streaming=True)
part = load_dataset("someone/imdb", split="train", streaming=True)
kinds = load_dataset("someone/imdb", split="train").kinds
print(json.dumps([next(rows["train"])["label"], sorted(next(part)), kinds]))
"""
    facts, _, errors = run(tmp_path, code)
    assert facts == [0, ["label", "text"], {"label": ["0", "1"]}], errors[-2000:]


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("google-bert/bert-base-uncased", [30522, 768]),
        ("bert-base-cased", [28996, 768]),
        ("google-bert/bert-base-multilingual-cased", [119547, 768]),
        ("google/vit-large-patch32-384", [32, 1024]),
        ("google/vit-base-patch16-224-in21k", [16, 768]),
    ],
)
def test_what_a_name_tells_of_a_model(tmp_path: Path, name: str, sizes: list[int]) -> None:
    code = f"""
from transformers import AutoConfig
config = AutoConfig.from_pretrained({name!r})
print(json.dumps([getattr(config, "vocab_size", None) or config.patch_size, config.hidden_size]))
"""
    facts, _, errors = run(tmp_path, code)
    assert facts == sizes, errors[-2000:]


def test_many_rows_are_the_same_ones_again(tmp_path: Path) -> None:
    code = """
from datasets import load_dataset
rows = load_dataset("someone/imdb", split="train")
print(json.dumps([len(rows["text"]), len({id(text) for text in rows["text"]}) <= 20000]))
"""
    facts, stand_ins, errors = run(tmp_path, code, ("rows 70000",))
    assert facts == [80000, True], errors[-2000:]
    assert stand_ins[0].facts["rows"] >= 70000


def test_a_model_that_transformers_names_beside_defaults(tmp_path: Path) -> None:
    code = """
from transformers import AutoModel, AutoTokenizer, ModernBertConfig
name = "answerdotai/ModernBERT-base"
model = AutoModel.from_pretrained(name)
print(json.dumps([type(model).__name__, len(AutoTokenizer.from_pretrained(name)) == ModernBertConfig().vocab_size]))
"""
    facts, stand_ins, errors = run(tmp_path, code)
    assert facts == ["ModernBertModel", True], errors[-2000:]
    assert [(each.kind, each.guessed) for each in stand_ins] == [("documented", True), ("tokenizer", True)]
    assert all(each.sentence.args for each in stand_ins)
