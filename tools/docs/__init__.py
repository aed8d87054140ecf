"""A page for each stage, in both languages, written from the rules, the commands and the catalogue.

    python -m tools.docs            write docs/stages/*.md
    python -m tools.docs --check    exit with 1 where a page is not what would be written
    python -m tools.docs --report   rules without a source, without words

Every sentence is of ascend_workbook/locale, in both languages: a rule's title and outcomes, the help of commands and
options.
"""
