"""`inspect-data`: what is odd in a training corpus, a copy without it, and the records of a spike's batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Place, Status
from ascend_workbook.findings.report import Chart, Column, Report, Table, parse_fail_on
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine.number_lists import format_spans, parse_numbers
from ascend_workbook.precision.corpus.cleaning import check_folder, write_clean
from ascend_workbook.precision.corpus.judging import (
    MOST_NEAR,
    MOST_SKETCHES,
    ODDITIES,
    Corpus,
    Settings,
    TestSet,
    flag_near,
    measure_corpus,
    read_words,
)
from ascend_workbook.precision.corpus.measures import LANGUAGES, UNKNOWN
from ascend_workbook.precision.corpus.perplexity import FAR, find_far, measure_perplexity
from ascend_workbook.precision.corpus.reading import format_of

#: An oddity -> its rule and the class that `--fail-on` names.
RULES = {
    **dict.fromkeys(("encoding", "syntax", "field"), ("ACC301", "broken")),
    "language": ("ACC302", "language"),
    "duplicate": ("ACC303", "duplicate"),
    "near": ("ACC304", "near"),
    **dict.fromkeys(("short", "long", "repeats", "symbols", "markup"), ("ACC305", "quality")),
    "words": ("ACC306", "words"),
    "test": ("ACC307", "test"),
}
CLASSES = (*dict.fromkeys(name for _, name in RULES.values()), "perplexity", "incomplete")
CLASS_OF = dict(RULES.values()) | {"ACC308": "perplexity", "ACC309": "incomplete"}
#: Records of a spike that are listed.
MOST_ROWS = 2000


def inspect_data(
    files: Sequence[str | Path],
    *,
    field: str = "",
    languages: str = "",
    shortest: int = Settings.shortest,
    longest: int = Settings.longest,
    words: str | Path | None = None,
    test: Sequence[str | Path] = (),
    model: str | Path | None = None,
    out: str | Path | None = None,
    spike: str = "",
    batch: int = 0,
    fail_on: Iterable[str] = (),
    progress: Callable[[str], None] | None = None,
) -> Report:
    """Looks at a corpus record by record: broken ones, duplicates, near duplicates, languages, length, symbols, markup.

    `field` is the entry that holds the text (default: `text`, `content`, else all texts of a record). `languages` are
    those to keep (`zh,en`), `words` a file of forbidden words, `test` the files of a test set whose text must not be
    in the corpus, `model` the folder of a small causal language model for the perplexity of a sample. `out` is an
    empty folder for a copy without the odd records and `dropped.jsonl`. `spike` are steps, from 1 on (`120-121`), of
    which the records are listed, with `batch` records a step in the files' order. `fail_on` are classes that make the
    status Fix. Raises WorkbookError where nothing can be read."""
    wanted = parse_fail_on(fail_on, CLASSES)
    paths = [Path(path) for path in ([files] if isinstance(files, (str, Path)) else files)]
    tests = [Path(path) for path in ([test] if isinstance(test, (str, Path)) else test)]
    for path in (*paths, *tests):
        format_of(path)
    settings = _make_settings(field, languages, shortest, longest)
    records = _spike_records(spike, batch)
    if out is not None:
        check_folder(Path(out))
    pattern = read_words(Path(words)) if words is not None else None
    test_set = TestSet(tests, field) if tests else None
    corpus = measure_corpus(paths, settings, pattern, test_set, progress)
    flag_near(corpus, progress)
    measured = measure_perplexity(corpus, Path(model), records) if model is not None else {}
    kept_counts = write_clean(corpus, Path(out)) if out is not None else None
    findings = [*_judge(corpus, test_set), *_judge_perplexity(corpus, measured, model is not None)]
    findings += _find_unlooked(corpus, words is not None, test_set, model is not None)
    if spike:
        findings.append(_describe_spike(corpus, records, spike))
    if kept_counts is not None:
        total = sum(kept_counts.values())
        args: dict[str, Scalar] = {"out": str(out), "kept": total, "left": len(corpus) - total}
        findings.append(Finding("ACC300", Status.NOTE, "ACC300.cleaned", args, weight=150))
    findings.insert(0, _sum_up(corpus, findings))
    findings = [
        replace(finding, status=Status.FIX)
        if CLASS_OF.get(finding.rule) in wanted and finding.status >= Status.NOT_LOOKED
        else finding
        for finding in findings
    ]
    table = _list_spike(corpus, records, measured) if spike else _count_oddities(corpus)
    chart = None if spike else Chart("bars", "oddity", ("records",))
    facts = _collect_facts(corpus, measured, kept_counts)
    return Report("precision", "inspect-data", tuple(findings), table, chart, facts=facts)


def _make_settings(field: str, languages: str, shortest: int, longest: int) -> Settings:
    names = tuple(name.strip() for name in languages.split(",") if name.strip())
    for name in names:
        if name not in LANGUAGES or name == UNKNOWN:
            raise WorkbookError("data.no_language", name=name, languages=list(LANGUAGES[1:]))
    if not 0 <= shortest <= longest:
        raise WorkbookError("data.no_length", shortest=shortest, longest=longest)
    return Settings(field, names, shortest, longest)


def _spike_records(spike: str, batch: int) -> range:
    """Return the numbers of the records of the spike's steps, which follow one another."""
    if not spike:
        return range(0)
    steps = parse_numbers(spike, "--spike")
    if batch < 1 or steps[0] < 1 or steps[-1] - steps[0] + 1 != len(steps):
        raise WorkbookError("data.no_batch", spike=spike, batch=batch)
    return range((steps[0] - 1) * batch, steps[-1] * batch)


def _share(count: int, of: int) -> str:
    return f"{100 * count / max(1, of):.3g}"


def _judge(corpus: Corpus, test: TestSet | None) -> list[Finding]:
    findings = []
    for path, error in corpus.errors.items():
        args: dict[str, Scalar] = {"path": path, "error": error}
        findings.append(Finding("ACC301", Status.LOOK, "ACC301.file", args, place=Place(path), weight=300))
    for name, count in corpus.counts().items():
        if not count:
            continue
        rule = RULES[name][0]
        args = {"count": count, "share": _share(count, len(corpus)), "places": list(corpus.first_places(name))}
        args |= _limits(corpus.settings, name)
        if name == "test" and test is not None:
            args["records"] = test.records
        weight = 250.0 if name == "test" else 200.0 - ODDITIES.index(name)
        findings.append(Finding(rule, Status.LOOK, f"{rule}.{name}", args, weight=weight))
    findings.append(Finding("ACC302", Status.NOTE, "ACC302.shares", {"shares": list(_language_shares(corpus))}))
    return findings


def _limits(settings: Settings, name: str) -> dict[str, Scalar]:
    """Return what the sentence of an oddity says of its limit."""
    if name in ("short", "long"):
        return {"limit": settings.shortest if name == "short" else settings.longest}
    if name in ("repeats", "symbols", "markup", "near"):
        return {"limit": f"{100 * float(getattr(settings, name)):.0f}"}
    return {"kept": list(settings.languages)} if name == "language" else {}


def _language_shares(corpus: Corpus) -> list[str]:
    codes = np.frombuffer(corpus.languages, np.uint8) if len(corpus) else np.empty(0, np.uint8)
    counts = np.bincount(codes, minlength=len(LANGUAGES)).tolist()
    pairs = sorted(zip(counts, LANGUAGES), reverse=True)
    return [f"{name} {_share(count, len(corpus))} %" for count, name in pairs if count]


def _judge_perplexity(corpus: Corpus, measured: dict[int, float], asked: bool) -> list[Finding]:
    if not asked:
        return []
    args: dict[str, Scalar] = {"count": len(measured), "factor": FAR}
    if not measured:
        return [Finding("ACC308", Status.NOT_LOOKED, "ACC308.none", {})]
    args["median"] = f"{float(np.median(list(measured.values()))):.4g}"
    far = find_far(measured)
    if not far:
        return [Finding("ACC308", Status.GOOD, "ACC308.even", args)]
    names = [f"{path}:{line} ({measured[at]:.4g})" for at in far[:5] for path, line in (corpus.place(at),)]
    return [Finding("ACC308", Status.LOOK, "ACC308.far", {**args, "far": len(far), "places": list(names)}, weight=180)]


def _find_unlooked(corpus: Corpus, words: bool, test: TestSet | None, model: bool) -> list[Finding]:
    findings = []
    options = {"--words FILE": words, "--test FILE": test is not None, "--model DIR": model}
    options["--languages LIST"] = bool(corpus.settings.languages)
    if absent := [name for name, is_given in options.items() if not is_given]:
        findings.append(Finding("ACC309", Status.NOTE, "ACC309.not_asked", {"options": list(absent)}))
    if corpus.not_near:
        args: dict[str, Scalar] = {"count": corpus.not_near, "most": MOST_NEAR}
        findings.append(Finding("ACC309", Status.NOT_LOOKED, "ACC309.near", args))
    if corpus.unverified:
        args = {"count": corpus.unverified, "most": MOST_SKETCHES}
        findings.append(Finding("ACC309", Status.NOT_LOOKED, "ACC309.unverified", args))
    if test is not None and not test.records:
        findings.append(Finding("ACC309", Status.NOT_LOOKED, "ACC309.no_test"))
    elif test is not None and (test.short or test.every > 1):
        args = {"short": test.short, "records": test.records, "every": int(test.every)}
        findings.append(Finding("ACC309", Status.NOTE, "ACC309.test", args))
    return findings


def _sum_up(corpus: Corpus, findings: Sequence[Finding]) -> Finding:
    odd = int((np.frombuffer(corpus.flags, np.uint16) != 0).sum()) if len(corpus) else 0
    args: dict[str, Scalar] = {"records": len(corpus), "files": len(corpus.files), "odd": odd}
    args["share"] = _share(odd, len(corpus))
    if not len(corpus):
        return Finding("ACC300", Status.NOT_LOOKED, "ACC300.empty", args, weight=400)
    status, key = (Status.LOOK, "ACC300.odd") if odd else (Status.NOTE, "ACC300.clean")
    return Finding("ACC300", status, key, args, weight=400)


def _describe_spike(corpus: Corpus, records: range, spike: str) -> Finding:
    inside = [at for at in records if at < len(corpus)]
    args: dict[str, Scalar] = {"steps": format_spans(parse_numbers(spike, "--spike")), "records": len(corpus)}
    if not inside:
        return Finding("ACC300", Status.NOT_LOOKED, "ACC300.beyond", args, weight=350)
    args |= {"first": "{}:{}".format(*corpus.place(inside[0])), "last": "{}:{}".format(*corpus.place(inside[-1]))}
    args |= {"odd": sum(bool(corpus.flags[at]) for at in inside), "count": len(inside)}
    return Finding("ACC300", Status.NOTE, "ACC300.spike", args, weight=350)


def _count_oddities(corpus: Corpus) -> Table:
    columns = (Column("oddity"), Column("records"), Column("percent", "%", 3), Column("first_places", wrap=60))
    rows = [
        (
            Sentence(f"data.oddity.{name}"),
            count,
            100 * count / max(1, len(corpus)),
            ", ".join(corpus.first_places(name)),
        )
        for name, count in corpus.counts().items()
    ]
    return Table(columns, tuple(rows))


def _list_spike(corpus: Corpus, records: range, measured: dict[int, float]) -> Table:
    names = ("record", "place", "signs", "language", "perplexity", "oddity")
    rows = []
    for at in [at for at in records if at < len(corpus)][:MOST_ROWS]:
        path, line = corpus.place(at)
        oddities = ", ".join(corpus.oddities(at)) or None
        language = LANGUAGES[corpus.languages[at]]
        rows.append((at + 1, f"{path}:{line}", corpus.lengths[at], language, measured.get(at), oddities))
    return Table(tuple(Column(name) for name in names), tuple(rows))


def _collect_facts(corpus: Corpus, measured: dict[int, float], kept_counts: dict[str, int] | None) -> dict[str, object]:
    return {
        "records": len(corpus),
        "files": [str(path) for path in corpus.files],
        "oddities": corpus.counts(),
        "languages": _language_shares(corpus),
        "perplexity": {str(at + 1): round(value, 4) for at, value in sorted(measured.items())},
        "kept": kept_counts,
    }
