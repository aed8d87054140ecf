"""The report of `plan`: a row for each strategy that is proposed, and parts that say how it came about."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from ascend_workbook.estimates.basis import Basis
from ascend_workbook.estimates.prices import Cost, Prices
from ascend_workbook.estimates.ranges import Range
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Chart, Column, Listing, Report, Table
from ascend_workbook.findings.rules import judge_facts, rules_of
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.planning.card import GIB, seen_bytes
from ascend_workbook.planning.strategy import rules
from ascend_workbook.planning.strategy.advice import Advised
from ascend_workbook.planning.strategy.arguments import argument_sources, write_arguments
from ascend_workbook.planning.strategy.candidates import limit_sources
from ascend_workbook.planning.strategy.choice import Setting
from ascend_workbook.planning.strategy.memory import PARTS
from ascend_workbook.planning.strategy.ranking import Judged, Ranking
from ascend_workbook.planning.strategy.stated import Stated

STAGE = "planning"
#: The verdict of a plan
FITS = "PLN540"
HOUR_S = 3600.0
STATUS = {"fits": Status.GOOD, "unsure": Status.LOOK, "not": Status.FIX}
#: Strategies of the first rank that the table shows beside the proposed ones
LISTED = 10


@dataclass(frozen=True)
class Answer:
    """All that the report tells. `own` is the script's strategy, `tokens` those of the whole training."""

    setting: Setting
    ranking: Ranking
    stated: Stated
    own: Judged | None
    basis: Basis
    prices: Prices
    tokens: float | None
    batch_stated: bool

    def speed(self, judged: Judged) -> Range:
        """Return the tokens a second on all cards, if nothing waits."""
        return divide(self.setting.tokens, judged.step.total)

    def card_hours(self, judged: Judged) -> Range | None:
        """Return the card-hours of the whole training; None where its tokens are not known."""
        if self.tokens is None:
            return None
        hours = self.tokens / self.setting.tokens * self.setting.cards / HOUR_S
        return judged.step.total.times(hours)

    def cost(self, judged: Judged) -> Cost | None:
        hours = self.card_hours(judged)
        return self.prices.cost(hours, self.setting.chip) if hours else None


def divide(value: float, by: Range) -> Range:
    """Return a known value over a range."""
    return Range(value / by.high, value / by.middle, value / by.low)


def report_plan(answer: Answer) -> Report:
    """Report the plan."""
    ranking = answer.ranking
    shown = ranking.first
    findings = [_make_verdict(answer)]
    findings += _list_remarks(answer)
    parts = [_report_arguments(answer, judged, number) for number, judged in enumerate(shown, 1)]
    if shown:
        parts = [_report_memory(answer, shown), _report_time(answer, shown), *parts]
    parts += [_report_refused(answer), _report_advice(answer), _report_prices(answer)]
    table = _make_table(answer, shown) if shown else None
    return Report(
        STAGE,
        "strategy",
        tuple(findings),
        table,
        facts=_collect_facts(answer),
        parts=tuple(parts),
        answers=(FITS,),
    )


def _make_verdict(answer: Answer) -> Finding:
    setting, ranking = answer.setting, answer.ranking
    args: dict[str, Scalar] = {
        "model": setting.model.name,
        "parameters": setting.model.parameters / 1e9,
        "cards": setting.cards,
        "chip": setting.chip.name,
        "memory": setting.memory_bytes / GIB,
    }
    if not ranking.first:
        return Finding(FITS, Status.FIX, "PLN540.none", {**args, **_describe_least(ranking)}, weight=100)
    first = ranking.first[0]
    args |= {
        "strategy": first.strategy.text,
        "fitting": len(ranking.fitting),
        "usable": seen_bytes(setting.memory_bytes) / GIB,
    }
    args |= {"low": first.total.low / GIB, "high": first.total.high / GIB}
    args |= {"step_low": first.step.total.low, "step_high": first.step.total.high}
    key = "PLN540.fits" if first.verdict == "fits" else "PLN540.unsure"
    return Finding(FITS, STATUS[first.verdict], key, args, weight=100)


def _describe_least(ranking: Ranking) -> dict[str, Scalar]:
    least = ranking.least
    if least is None:
        return {"strategy": Sentence("strategy.no_candidate"), "low": None, "high": None}
    total = least.memory.total
    return {"strategy": least.strategy.text, "low": total.low / GIB, "high": total.high / GIB}


def _list_remarks(answer: Answer) -> list[Finding]:
    """List what belongs to the verdict: what is equal, how it was judged, what stands in the script, the host."""
    ranking, remarks = answer.ranking, []
    if ranking.first:
        equal: dict[str, Scalar] = {"equal": len(ranking.equal), "fitting": len(ranking.fitting)}
        key = "PLN541.equal" if len(ranking.equal) > 1 else "PLN541.first"
        remarks.append(Finding("PLN541", Status.NOTE, key, equal))
        key = "PLN542.rehearsed" if any(judged.rehearsed for judged in ranking.first) else "PLN542.formula"
        remarks.append(Finding("PLN542", Status.NOTE, key))
        if ranking.first[0].step.host_bound != "no":
            key = f"PLN543.{ranking.first[0].step.host_bound}"
            remarks.append(Finding("PLN543", Status.NOTE, key, {"strategy": ranking.first[0].strategy.text}))
    if answer.own is not None:
        remarks.append(_describe_own(answer, answer.own))
    if not answer.batch_stated:
        setting = answer.setting
        args: dict[str, Scalar] = {"batch": setting.batch, "sequence": setting.sequence, "tokens": setting.tokens / 1e6}
        remarks.append(Finding("PLN545", Status.NOTE, "PLN545.usual", args))
    return remarks


def _describe_own(answer: Answer, own: Judged) -> Finding:
    total = own.memory.total
    args: dict[str, Scalar] = {"strategy": own.strategy.text, "cards": own.strategy.cards}
    args |= {"low": total.low / GIB, "high": total.high / GIB, "memory": answer.setting.memory_bytes / GIB}
    if own.strategy.savings.unknown:
        args["names"] = [f"--{name}" for name in own.strategy.savings.unknown]
        return Finding("PLN544", Status.LOOK, "PLN544.unknown", args)
    status = Status.NOTE if own.verdict == "fits" else Status.LOOK
    return Finding("PLN544", status, f"PLN544.{own.verdict}", args)


def _make_table(answer: Answer, shown: tuple[Judged, ...]) -> Table:
    columns = [
        Column("strategy_rank"),
        Column("strategy_degrees", wrap=44),
        Column("strategy_verdict"),
        Column("strategy_memory"),
        Column("strategy_rehearsed", "GiB", 3),
        Column("strategy_step"),
        Column("strategy_beside"),
        Column("strategy_speed"),
        Column("strategy_hours"),
        Column("strategy_cost"),
    ]
    rest = [judged for judged in answer.ranking.equal if judged not in shown][: LISTED - len(shown)]
    rows = [_make_row(answer, judged) for judged in (*shown, *rest)]
    filled = [at for at in range(len(columns)) if any(row[at] is not None for row in rows)]
    return Table(tuple(columns[at] for at in filled), tuple(tuple(row[at] for at in filled) for row in rows))


def _make_row(answer: Answer, judged: Judged) -> tuple[Scalar, ...]:
    hours, cost = answer.card_hours(judged), answer.cost(judged)
    verdict: Scalar = Sentence(f"strategy.verdict.{judged.verdict}")
    return (
        judged.rank,
        judged.strategy.text,
        verdict,
        f"{show_range(judged.memory.total, 1 / GIB)} GiB",
        judged.rehearsed / GIB if judged.rehearsed else None,
        f"{show_range(judged.step.total)} s",
        f"{show_range(judged.beside)} ×" if judged.beside.low < judged.beside.high else None,
        f"{show_range(answer.speed(judged))} /s",
        f"{show_range(hours)} h" if hours else None,
        f"{show_range(cost)} {cost.currency}" if cost else None,
    )


def show_range(value: Range, factor: float = 1.0) -> str:
    """Return a range as it is shown: two significant digits, or three where both ends would be alike."""
    low, high = value.low * factor, value.high * factor
    for digits in (2, 3):
        texts = [show_digits(end, digits) for end in (low, high)]
        if texts[0] != texts[1]:
            break
    return texts[0] if texts[0] == texts[1] else f"{texts[0]} – {texts[1]}"


def show_digits(value: float, digits: int) -> str:
    """Return a number rounded to so many significant digits, without an exponent."""
    rounded = float(f"{value:.{digits}g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 10 ** (digits - 1) else f"{rounded:.{digits}g}"


def _report_memory(answer: Answer, shown: tuple[Judged, ...]) -> Report:
    """Report the bytes of each proposal by kind, on its fullest card."""
    names = [f"strategy_{name}" for name in (*PARTS, "outside")]
    columns = [Column("strategy_degrees"), Column("strategy_stage"), *(Column(name, "GiB", 3) for name in names)]
    rows: list[tuple[Scalar, ...]] = []
    for judged in (*shown, *([answer.own] if answer.own else [])):
        parts = [judged.memory.parts[name] / GIB for name in PARTS]
        rows.append((judged.strategy.text, judged.memory.stage, *parts, judged.memory.outside.middle / GIB))
    args: dict[str, Scalar] = {
        "usable": seen_bytes(answer.setting.memory_bytes) / GIB,
        "memory": answer.setting.memory_bytes / GIB,
    }
    finding = Finding("PLN546", Status.NOTE, "PLN546.formula", args)
    chart = Chart("stacks", "strategy_degrees", tuple(names), "GiB")
    return Report(STAGE, "strategy_bytes", (finding,), Table(tuple(columns), tuple(rows)), chart)


def _report_time(answer: Answer, shown: tuple[Judged, ...]) -> Report:
    """Report the seconds of each proposal by kind."""
    names = list(shown[0].step.parts)
    columns = [
        Column("strategy_degrees"),
        *(Column(f"strategy_{name}") for name in names),
        Column("strategy_launches"),
    ]
    rows = tuple(
        (
            judged.strategy.text,
            *(f"{show_range(part)} s" if part.high else None for part in judged.step.parts.values()),
            f"{show_range(judged.step.launches)} s",
        )
        for judged in shown
    )
    args: dict[str, Scalar] = {"basis": answer.basis.name, "date": answer.basis.date}
    finding = Finding("PLN547", Status.NOTE, "PLN547.basis", args)
    return Report(STAGE, "strategy_seconds", (finding,), Table(tuple(columns), rows))


def _report_arguments(answer: Answer, judged: Judged, number: int) -> Report:
    """Report the arguments of one proposal, to be copied."""
    text, language = write_arguments(answer.setting, judged.strategy)
    pages = list(
        dict.fromkeys(page for name, page in argument_sources(judged.strategy.framework).items() if name in text)
    )
    args: dict[str, Scalar] = {"number": number, "strategy": judged.strategy.text, "pages": list(pages)}
    finding = Finding("PLN548", Status.NOTE, "PLN548.copy", args)
    facts = {"arguments": text, "sources": pages, "row": number}
    return Report(
        STAGE, "strategy_arguments", (finding,), listing=Listing("strategy_copy", text, language), facts=facts
    )


def _report_refused(answer: Answer) -> Report:
    """Report why candidates fell away."""
    ranking = answer.ranking
    columns = (Column("strategy_limit", wrap=70), Column("strategy_refused"), Column("strategy_source", detail=True))
    refused = ranking.space.refused
    rows: list[tuple[Scalar, ...]] = [
        (Sentence(f"strategy.limit.{name}"), refused[name], source)
        for name, source in limit_sources().items()
        if name in refused
    ]
    if ranking.too_large:
        rows.append((Sentence("strategy.limit.memory"), ranking.too_large, None))
    args: dict[str, Scalar] = {"all": ranking.space.looked_at, "left": len(ranking.fitting)}
    finding = Finding("PLN549", Status.NOTE, "PLN549.refused", args)
    return Report(STAGE, "strategy_left_out", (finding,), Table(columns, tuple(rows)) if rows else None)


def _report_advice(answer: Answer) -> Report:
    """Report the hyper-parameters that are stated, beside published ones."""
    advised = Advised(answer.setting, answer.stated, answer.batch_stated)
    findings = judge_facts(advised, rules_of(rules))
    looked = sum(finding.status is not Status.NOT_LOOKED for finding in findings)
    odd = sum(finding.status in (Status.NOTE, Status.LOOK) for finding in findings)
    args: dict[str, Scalar] = {"looked": looked, "all": len(findings), "odd": odd}
    key = "PLN520.none" if not looked else "PLN520.odd" if odd else "PLN520.usual"
    status = max(
        (finding.status for finding in findings if finding.status is not Status.NOT_LOOKED), default=Status.NOTE
    )
    summary = Finding("PLN520", status, key, args, weight=100)
    columns = (Column("strategy_topic"), Column("strategy_remark", wrap=90))
    rows: tuple[tuple[Scalar, ...], ...] = tuple(
        (Sentence(f"strategy.about.{finding.rule}"), Sentence(finding.key, **finding.args))
        for finding in findings
        if finding.status is not Status.NOT_LOOKED
    )
    table = Table(columns, rows) if rows else None
    return Report(STAGE, "strategy_advice", (summary, *findings), table, answers=("PLN520",))


def _report_prices(answer: Answer) -> Report:
    """Report what the cards cost, or what is missing to tell it."""
    prices, chip = answer.prices, answer.setting.chip
    row = prices.card_row(chip)
    first = next(iter(answer.ranking.first), None)
    if row is None or row.of_card_hour is None:
        return Report(
            STAGE,
            "strategy_money",
            (Finding("PLN530", Status.NOTE, "PLN530.no_row", {"chip": chip.name, "path": prices.path}),),
        )
    args: dict[str, Scalar] = {
        "price": row.of_card_hour,
        "currency": row.currency,
        "resource": row.resource,
        "path": prices.path,
    }
    remarks = [Finding("PLN530", Status.NOTE, "PLN530.example" if prices.shipped else "PLN530.price", args)]
    hours, cost = (answer.card_hours(first), answer.cost(first)) if first else (None, None)
    if hours and cost:
        numbers: dict[str, Scalar] = {"hours": show_range(hours), "cost": show_range(cost), "currency": cost.currency}
        numbers["tokens"] = (answer.tokens or 0.0) / 1e9
        remarks.append(Finding("PLN531", Status.NOTE, "PLN531.cost", numbers))
    elif first:
        remarks.append(Finding("PLN531", Status.NOTE, "PLN531.no_tokens"))
    return Report(STAGE, "strategy_money", tuple(remarks))


def _collect_facts(answer: Answer) -> dict[str, object]:
    """Collect the numbers for scripts: bytes, seconds, card-hours."""
    setting, ranking = answer.setting, answer.ranking
    about = {
        "model": {**asdict(setting.model), "parameters": setting.model.parameters},
        "cards": setting.cards,
        "nodes": setting.nodes,
        "chip": setting.chip.name,
        "memory_bytes": setting.memory_bytes,
        "usable_bytes": seen_bytes(setting.memory_bytes),
        "batch": setting.batch,
        "sequence": setting.sequence,
        "framework": setting.framework,
    }
    counts = {"refused": ranking.space.refused, "too_large": ranking.too_large, "fitting": len(ranking.fitting)}
    proposals = [_collect_judged(answer, judged) for judged in ranking.first]
    own = _collect_judged(answer, answer.own) if answer.own else None
    basis = {"name": answer.basis.name, "date": answer.basis.date}
    rehearsed = any(judged.rehearsed for judged in ranking.first)
    return {
        "plan": {
            **about,
            **counts,
            "equal": len(ranking.equal),
            "proposals": proposals,
            "own": own,
            "basis": basis,
            "rehearsed": rehearsed,
        }
    }


def _collect_judged(answer: Answer, judged: Judged) -> dict[str, object]:
    hours, cost = answer.card_hours(judged), answer.cost(judged)
    return {
        "rank": judged.rank,
        "strategy": asdict(judged.strategy),
        "text": judged.strategy.text,
        "verdict": judged.verdict,
        "memory_bytes": asdict(judged.memory.total),
        "memory_parts_bytes": judged.memory.parts,
        "outside_bytes": asdict(judged.memory.outside),
        "stage": judged.memory.stage,
        "rehearsed_bytes": judged.rehearsed,
        "step_s": asdict(judged.step.total),
        "step_parts_s": {name: asdict(part) for name, part in judged.step.parts.items()},
        "beside": asdict(judged.beside),
        "host_bound": judged.step.host_bound,
        "tokens_per_s": asdict(answer.speed(judged)),
        "card_hours": asdict(hours) if hours else None,
        "cost": asdict(cost) if cost else None,
    }
