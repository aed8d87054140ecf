"""Writes the stages' pages, or says what is amiss."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tools import docs
from tools.docs.bases import NoBasis, told
from tools.docs.chinese import NoChinese, table
from tools.docs.page import FOLDER, pages, sentences
from tools.docs.rules import all_rules


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.docs", description=docs.__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("--check", action="store_true", help="write nothing; 1 where a page is not up to date")
    parser.add_argument("--report", action="store_true", help="say which rules lack a source or words; write nothing")
    args = parser.parse_args(arguments)
    if args.report:
        print("\n".join(report()))
        return 0
    try:
        return _write(check=args.check)
    except NoBasis as error:
        print(f"tools.docs: {error}", file=sys.stderr)
        return 1


def _write(*, check: bool) -> int:
    lacking = [sentence for sentence in dict.fromkeys(sentences()) if sentence and sentence not in table()]
    for sentence in lacking:
        print(NoChinese(sentence), file=sys.stderr)
    if lacking:
        return 1
    made = pages()
    old = stale(made)
    for path in [] if check else old:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(made[path], encoding="utf-8")
    for path in old:
        print(f"{'not up to date: run python -m tools.docs' if check else 'written'}: {path.name}")
    return 1 if check and old else 0


def stale(made: dict[Path, str]) -> list[Path]:
    """Pages that are not as they would be written, and files in their folder that are none."""
    changed = [path for path, text in made.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    return changed + sorted(set(FOLDER.glob("*.md")) - made.keys())


def report() -> Iterator[str]:
    """What pages lack, a line each; a sentence has both languages or the pages are not written."""
    rules = list(all_rules())
    for rule in rules:
        if not rule.sources:
            yield f"{rule.code}: no page named as its source, but: {told(rule.basis, 'en')} ({rule.file})"
        if not rule.outcomes:
            yield f"{rule.code}: no sentences of its own ({rule.file})"
        one = [name for name, words in rule.outcomes.items() if not (words.en and words.zh)]
        if one:
            yield f"{rule.code}: in one language only: {', '.join(one)}"
        if rule.looks not in table():
            yield f"{rule.code}: what it looks at has no Chinese: {rule.looks}"
    yield f"{len(rules)} rules, {sum(not rule.sources for rule in rules)} without a page as source"


if __name__ == "__main__":
    sys.exit(main())
