"""Writes the stages' pages, or says what is amiss."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from ascend_workbook.findings.sentence import load_catalogue
from tools import docs
from tools.docs.page import FOLDER, make_pages
from tools.docs.rules import NoBasis, all_rules, describe_basis


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.docs", description=docs.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="write nothing; 1 where a page is not up to date")
    parser.add_argument("--report", action="store_true", help="say which rules lack a source or words; write nothing")
    args = parser.parse_args(arguments)
    if args.report:
        print("\n".join(report_gaps()))
        return 0
    try:
        return _write_pages(check=args.check)
    except NoBasis as error:
        print(f"tools.docs: {error}", file=sys.stderr)
        return 1


def _write_pages(*, check: bool) -> int:
    lacking = [rule for rule in all_rules() if rule.title not in load_catalogue()]
    for rule in lacking:
        print(
            f"tools.docs: {rule.file}: ascend_workbook/locale has no {rule.title!r}: what the rule looks at",
            file=sys.stderr,
        )
    if lacking:
        return 1
    texts = make_pages()
    old = stale_pages(texts)
    for path in [] if check else old:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(texts[path], encoding="utf-8")
    for path in old:
        print(f"{'not up to date: run python -m tools.docs' if check else 'written'}: {path.name}")
    return 1 if check and old else 0


def stale_pages(texts: dict[Path, str]) -> list[Path]:
    """Return pages that are not as they would be written, and files in their folder that are none."""
    changed = [path for path, text in texts.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    return changed + sorted(set(FOLDER.glob("*.md")) - texts.keys())


def report_gaps() -> Iterator[str]:
    """Yield what pages lack, a line each; a sentence has both languages or the pages are not written."""
    rules = list(all_rules())
    for rule in rules:
        if not rule.sources:
            yield f"{rule.code}: no page named as its source, but: {describe_basis(rule.basis, 'en')} ({rule.file})"
        if not rule.outcomes:
            yield f"{rule.code}: no sentences of its own ({rule.file})"
        untranslated = [name for name, words in rule.outcomes.items() if not (words.en and words.zh)]
        if untranslated:
            yield f"{rule.code}: in one language only: {', '.join(untranslated)}"
    yield f"{len(rules)} rules, {sum(not rule.sources for rule in rules)} without a page as source"


if __name__ == "__main__":
    sys.exit(main())
