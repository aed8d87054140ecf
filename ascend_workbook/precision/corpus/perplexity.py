"""How surprised a small language model is by a sample of the records."""

from __future__ import annotations

import math
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.precision.corpus.judging import BROKEN, Corpus, walk_again

SAMPLE, TOKENS = 200, 512
#: Deviations of the logarithm, by the median of distances, from which on a record is far from the others.
FAR = 5.0


def _load_model(folder: Path) -> tuple[Any, Any, Any]:
    if find_spec("transformers") is None or find_spec("torch") is None:
        raise WorkbookError("data.no_transformers")
    if not (folder / "config.json").is_file():
        raise WorkbookError("data.no_model", path=str(folder))
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    options = {"local_files_only": True, "trust_remote_code": False}
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, **options)
        model = AutoModelForCausalLM.from_pretrained(folder, use_safetensors=True, **options)
    except (OSError, ValueError, KeyError, ImportError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise WorkbookError("data.bad_model", path=str(folder), error=reason) from error
    return torch, tokenizer, model.eval()


def measure_perplexity(corpus: Corpus, folder: Path, also: range) -> dict[int, float]:
    """Return the perplexity of a sample spread over the corpus and of the records `also`, by the record's number."""
    torch, tokenizer, model = _load_model(folder)
    spread = np.linspace(0, max(0, len(corpus) - 1), min(SAMPLE, len(corpus))).astype(int)
    wanted = {*spread.tolist(), *also}
    measured = {}
    longest = min(TOKENS, int(getattr(model.config, "max_position_embeddings", TOKENS) or TOKENS))
    for at, _, record in walk_again(corpus):
        if at not in wanted or corpus.flags[at] & BROKEN:
            continue
        tokens = tokenizer(record.text[: TOKENS * 16], return_tensors="pt", truncation=True, max_length=longest)
        tokens = tokens["input_ids"]
        if tokens.shape[1] < 2:
            continue
        with torch.no_grad():
            loss = float(model(input_ids=tokens, labels=tokens).loss)
        if math.isfinite(loss):
            measured[at] = math.exp(min(loss, 700.0))
    return measured


def find_far(measured: dict[int, float]) -> list[int]:
    """Return the records whose perplexity is far from the others' on either side, the farthest first."""
    if len(measured) < 8:
        return []
    logs = {at: math.log(value) for at, value in measured.items()}
    median = float(np.median(list(logs.values())))
    spread = 1.4826 * float(np.median([abs(value - median) for value in logs.values()]))
    far = [at for at, value in logs.items() if abs(value - median) > FAR * max(spread, 0.05)]
    return sorted(far, key=lambda at: -abs(logs[at] - median))
