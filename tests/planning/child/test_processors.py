"""What prepares inputs is made as its class does without a file, and written down."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_workbook.planning.rehearsal.stand_ins import configure_hub
from tests.planning.child import running

PROCESSORS: tuple[str, dict[str, object]] = ("processors.py", {})
#: As much of tiktoken as is asked for.
TIKTOKEN = """
def data_gym_to_mergeable_bpe_ranks(vocab_bpe_file, encoder_json_file):
    raise ConnectionError("no network")
def load_tiktoken_bpe(tiktoken_bpe_file, expected_hash=None):
    raise ConnectionError("no network")
"""


def test_tokens_of_tiktoken_by_number(tmp_path: Path) -> None:
    library = tmp_path / "site-packages" / "tiktoken"
    library.mkdir(parents=True)
    (library / "__init__.py").write_text("")
    (library / "load.py").write_text(TIKTOKEN)
    code = """
from tiktoken.load import data_gym_to_mergeable_bpe_ranks as of_gpt2, load_tiktoken_bpe
ranks = of_gpt2(vocab_bpe_file="https://nowhere.invalid/gpt-2/encodings/main/vocab.bpe", encoder_json_file="e.json")
others = load_tiktoken_bpe("https://nowhere.invalid/encodings/cl100k_base.tiktoken", expected_hash="0")
try:
    load_tiktoken_bpe("https://nowhere.invalid/encodings/own.tiktoken")
except OSError as problem:
    lengths = sorted({len(token) for token in ranks})
    print(json.dumps([len(ranks), len(set(ranks.values())), max(ranks.values()), lengths, len(others), str(problem)]))
"""
    facts, stand_ins, errors = running.run(tmp_path, code, PROCESSORS, library="site-packages")
    assert facts == [50256, 50256, 50255, [1, 4], 100256, "no network"], errors
    assert [(each.name, each.facts["tokens"], each.guessed) for each in stand_ins] == [
        ("gpt-2", 50256, True),
        ("cl100k", 100256, True),
    ]


def test_what_prepares_pictures_and_sound(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    pytest.importorskip("PIL")
    code = """
from transformers import AutoFeatureExtractor, WhisperFeatureExtractor
sound = WhisperFeatureExtractor.from_pretrained("openai/whisper-tiny")
other = AutoFeatureExtractor.from_pretrained("facebook/wav2vec2-base-960h")
print(json.dumps([sound.feature_size, type(other).__name__]))
"""
    facts, stand_ins, errors = running.run(tmp_path, code, ("hub.py", configure_hub(False)), PROCESSORS)
    assert facts == [80, "Wav2Vec2FeatureExtractor"], errors[-2000:]
    told = [(each.kind, each.name, each.sentence.key) for each in stand_ins if each.kind == "processor"]
    assert [name for _, name, _ in told] == ["openai/whisper-tiny", "facebook/wav2vec2-base-960h"]
    assert told[0][2] == "rehearsal.stand_in.processor"
