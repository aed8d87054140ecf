"""What the hours cost, and what stands beside them: person-days, and the rows of a file of prices."""

from __future__ import annotations

from dataclasses import asdict

from ascend_workbook.estimates.prices import DAY_H, PERSON_DAY, Prices
from ascend_workbook.estimates.ranges import Range
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Column, Report, Table
from ascend_workbook.findings.sentence import Scalar
from ascend_workbook.migration.assess.effort import Sum

RULE = "MIG160"


def report_cost(hours: Sum, prices: Prices) -> Report:
    """Report person-days and, where the file prices one, what they cost; a row for everything that the user's file
    names, of the shipped example for the services alone."""
    days = {end: round(getattr(hours, end) / DAY_H, 1) for end in ("low", "likely", "high")}
    args: dict[str, Scalar] = {**days, "path": prices.path}
    cost = prices.cost_of_work(Range(hours.low, hours.likely, hours.high))
    key = "MIG160.no_price"
    if cost is not None:
        key = "MIG160.cost"
        args |= {"least": round(cost.low), "most": round(cost.high), "currency": cost.currency}
    columns = [Column("price_resource"), Column("price_spec", wrap=40), Column("price_count"), Column("price_unit")]
    columns += [Column("price_each", digits=7), Column("price_currency"), Column("price_note", wrap=40)]
    rows: list[tuple[Scalar, ...]] = [
        (row.resource, row.spec or None, row.count, row.unit, row.price, row.currency, row.note or None)
        for row in prices.rows
        if row.unit == PERSON_DAY or not prices.shipped
    ]
    findings = [Finding(RULE, Status.NOTE, key, args)]
    if prices.shipped:
        findings.append(Finding(RULE, Status.NOTE, "MIG160.example_prices", {"path": prices.path}))
    facts = {
        "person_days": days,
        "cost": asdict(cost) if cost else None,
        "monthly": dict(prices.monthly()),
        "prices": prices.path,
        "unpriced": [row.resource for row in prices.rows if row.unit == PERSON_DAY and row.price is None],
    }
    return Report("migration", "assess_cost", tuple(findings), Table(tuple(columns), tuple(rows)), facts=facts)
