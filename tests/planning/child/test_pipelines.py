"""The parts of a pipeline of diffusers are built of what is known of its name, and written down."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_workbook.planning.rehearsal.stand_ins import configure_hub, configure_pipelines
from tests.planning.child import running

#: As much of diffusers as is asked for: whoever asks for a file of the hub hears that there is none.
MODELS = """
import torch
class ModelMixin(torch.nn.Module):
    @classmethod
    def from_pretrained(cls, name, **kwargs):
        raise OSError("no network")
    @classmethod
    def from_config(cls, config):
        made = cls()
        made.layer = torch.nn.Linear(config["cross_attention_dim"], 2)
        return made
"""
SCHEDULERS = """
class SchedulerMixin:
    @classmethod
    def from_pretrained(cls, name=None, subfolder=None, **kwargs):
        raise OSError("no network")
    @classmethod
    def from_config(cls, config):
        made = cls()
        made.steps = config["num_train_timesteps"]
        return made
"""
CODE = """
import torch
from diffusers.models.modeling_utils import ModelMixin
from diffusers.schedulers.scheduling_utils import SchedulerMixin
name = "CompVis/stable-diffusion-v1-4"
model = ModelMixin.from_pretrained(name, subfolder="unet", torch_dtype=torch.float16)
steps = [SchedulerMixin.from_pretrained(name, subfolder="scheduler").steps]
steps += [SchedulerMixin.from_pretrained(name, "scheduler").steps]
try:
    ModelMixin.from_pretrained("somebody/their-own", subfolder="unet")
except OSError as problem:
    print(json.dumps([model.layer.in_features, str(model.layer.weight.dtype), steps, str(problem)]))
"""


def test_parts_of_a_known_name_and_of_no_other(tmp_path: Path) -> None:
    for name, content in (("models/modeling_utils", MODELS), ("schedulers/scheduling_utils", SCHEDULERS)):
        path = tmp_path / "site-packages" / "diffusers" / f"{name}.py"
        path.parent.mkdir(parents=True)
        path.write_text(content)
    plugin = ("pipelines.py", configure_pipelines())
    facts, stand_ins, errors = running.run(tmp_path, CODE, plugin, library="site-packages")
    assert facts == [768, "torch.float16", [1000, 1000], "no network"], errors
    told = [(each.name, each.facts["parameters"], each.guessed) for each in stand_ins]
    assert told == [("CompVis/stable-diffusion-v1-4/unet", 2 * 768 + 2, False)]


def test_a_model_by_its_own_name(tmp_path: Path) -> None:
    path = tmp_path / "site-packages" / "diffusers" / "models" / "modeling_utils.py"
    path.parent.mkdir(parents=True)
    path.write_text(MODELS.replace('"cross_attention_dim"', '"latent_channels"'))
    code = """
from diffusers.models.modeling_utils import ModelMixin
print(json.dumps(ModelMixin.from_pretrained("stabilityai/sd-vae-ft-mse").layer.in_features))
"""
    plugin = ("pipelines.py", configure_pipelines())
    facts, stand_ins, errors = running.run(tmp_path, code, plugin, library="site-packages")
    assert facts == 4, errors
    assert [each.name for each in stand_ins] == ["stabilityai/sd-vae-ft-mse"]


def test_its_text_encoder_and_tokenizer(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    code = """
from transformers import AutoConfig, AutoTokenizer
name = "CompVis/stable-diffusion-v1-4"
config = AutoConfig.from_pretrained(name, subfolder="text_encoder")
tokenizer = AutoTokenizer.from_pretrained(name, subfolder="tokenizer")
print(json.dumps([config.hidden_size, config.num_hidden_layers, tokenizer.model_max_length, len(tokenizer)]))
"""
    facts, stand_ins, errors = running.run(tmp_path, code, ("hub.py", configure_hub(False)))
    assert facts == [768, 12, 77, 49408], errors
    assert [each.kind for each in stand_ins] == ["tokenizer"]
