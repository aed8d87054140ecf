"""Holds the two languages against each other: notebooks' cells, pages, the catalogue of sentences.

python -m tools.languages            the list of what was compared, and the differences
python -m tools.languages --differences   the differences alone
"""
