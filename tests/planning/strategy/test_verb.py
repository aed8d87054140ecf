"""`plan` as a user calls it: what is said first, what stands in the table, what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from ascend_workbook.planning.strategy import verb
from ascend_workbook.planning.strategy.verb import plan


@pytest.fixture(scope="module")
def seven_billion() -> Report:
    return plan("llama-7b", 16, tokens=1e9, batch=256, seq=4096)


def test_what_would_fit_is_said_first(seven_billion: Report) -> None:
    assert seven_billion.status is Status.NOTE
    assert seven_billion.headline is not None and seven_billion.headline.key == "PLN540.fits"
    facts = seven_billion.facts["plan"]
    assert len(facts["proposals"]) == 3 and facts["fitting"] > facts["equal"] > 3
    assert [finding.key for finding in seven_billion.findings if finding.rule == "PLN542"] == ["PLN542.formula"]


def test_every_figure_is_a_range(seven_billion: Report) -> None:
    for proposal in seven_billion.facts["plan"]["proposals"]:
        for name in ("memory_bytes", "step_s", "tokens_per_s", "card_hours", "cost", "beside"):
            low, middle, high = (proposal[name][end] for end in ("low", "middle", "high"))
            assert low < middle < high or name == "beside" and low <= middle <= high


def test_a_report_survives_its_json(seven_billion: Report) -> None:
    again = Report.from_json(seven_billion.to_json())
    assert again.verdict("zh") == seven_billion.verdict("zh") and json.loads(again.to_json()) == json.loads(
        seven_billion.to_json()
    )


def test_what_does_not_fit_names_what_needs_least() -> None:
    report = plan("llama-70b", 2)
    assert report.status is Status.FIX and report.headline is not None and report.headline.key == "PLN540.none"
    assert float(str(report.headline.args["low"])) > 64 and not report.table


def test_a_launch_script_is_judged_as_it_stands(tmp_path: Path) -> None:
    script = tmp_path / "pretrain.sh"
    lines = ["NPUS_PER_NODE=8", "NNODES=1", "TP=8", "torchrun pretrain_gpt.py --tensor-model-parallel-size ${TP} \\"]
    lines += ["--pipeline-model-parallel-size 1 --sequence-parallel --num-layers 32 --hidden-size 4096 --swiglu \\"]
    lines += ["--num-attention-heads 32 --ffn-hidden-size 11008 --padded-vocab-size 32000 --seq-length 4096 \\"]
    lines += ["--untie-embeddings-and-output-weights --disable-bias-linear --micro-batch-size 1 --lr 9e-4 \\"]
    lines += ["--global-batch-size 64"]
    script.write_text("\n".join(lines))
    report = plan(str(script), 8)
    own = report.facts["plan"]["own"]
    assert own["strategy"]["tensor"] == 8 and own["strategy"]["data"] == 1 and own["verdict"] == "fits"
    assert report.facts["plan"]["model"]["parameters"] == 6_738_415_616 and report.facts["plan"]["batch"] == 64
    advice = next(part for part in report.parts if part.verb == "strategy_advice")
    high = next(finding for finding in advice.findings if finding.key == "PLN511.high")
    assert high.place is not None and high.place.line == 7


@pytest.mark.parametrize(
    "words, key",
    [
        ({"model": "llama-8000b"}, "strategy.no_model"),
        ({"model": "llama-7b", "cards": 0}, "strategy.bad_number"),
        ({"model": "llama-7b", "cards": 16, "nodes": 3}, "strategy.bad_nodes"),
        ({"model": "llama-7b", "memory": "64 apples"}, "card.memory"),
        ({"model": "llama-7b", "framework": "jax"}, "strategy.no_framework"),
        ({"model": "llama-7b", "chip": "910Z"}, "estimates.unknown_chip"),
        ({"model": "llama-7b", "tokens": -1.0}, "strategy.bad_number"),
        ({"model": "llama-7b", "prices": "absent.json"}, "prices.unreadable"),
    ],
)
def test_what_cannot_be_is_one_error(words: dict[str, object], key: str) -> None:
    with pytest.raises(WorkbookError) as error:
        plan(**words)  # type: ignore[arg-type]
    assert error.value.key == key and error.value.message("zh") and error.value.hint("en")


def test_a_rehearsal_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a rehearsal says stands in place of the formula's; what then does not fit is taken out."""
    asked = []

    def rehearse(setting: object, strategies: object) -> list[float | None]:
        asked.append(strategies)
        return [200 * 2.0**30, 20 * 2.0**30, None]

    monkeypatch.setattr(verb, "rehearse_strategies", rehearse)
    formula = plan("llama-7b", 16, batch=256)
    report = plan("llama-7b", 16, batch=256, rehearse=True)
    texts = [proposal["text"] for proposal in report.facts["plan"]["proposals"]]
    assert len(asked) == 1 and formula.facts["plan"]["proposals"][0]["text"] not in texts
    second = next(p for p in report.facts["plan"]["proposals"] if p["rehearsed_bytes"])
    assert second["rehearsed_bytes"] == 20 * 2.0**30
    assert any(finding.key == "PLN542.rehearsed" for finding in report.findings)
    assert json.loads(report.to_json())["facts"]["plan"]["rehearsed"] is True
