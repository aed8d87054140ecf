"""A page for each stage, in both languages, written from the rules, the commands and the docstrings.

    python -m tools.docs            write docs/stages/*.md
    python -m tools.docs --check    exit with 1 where a page is not what would be written
    python -m tools.docs --report   rules without a source, without words; sentences without a translation

What is not in helpers/words (first sentences of rules, commands and functions, help of options) is translated in
tools/docs/chinese: a changed sentence has no translation any more, which is an error that names it.
"""
