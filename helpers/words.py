"""The catalogue's sentences in the reader's language."""

from ascend_workbook.findings.sentence import choose_language, hint, say, show

__all__ = ["hint", "choose_language", "say", "show"]
