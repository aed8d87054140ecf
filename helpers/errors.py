"""Errors a user can act on: a code and its arguments; the sentence is made when it is shown."""

from __future__ import annotations

from helpers.words import Scalar, hint, say


class WorkbookError(Exception):
    """Something could not be done. `key` names the sentence in the catalogue, `args` fill it.

    Commands print the message and the hint and exit with 2; a batch records both.
    """

    def __init__(self, key: str, **args: Scalar) -> None:
        super().__init__(key, args)
        self.key = key
        self.arguments = args

    def message(self, lang: str | None = None) -> str:
        """What went wrong, naming the file and the place."""
        return say(self.key, lang, **self.arguments)

    def hint(self, lang: str | None = None) -> str:
        """The next step, or an empty string."""
        return hint(self.key, lang, **self.arguments)

    def __str__(self) -> str:
        return "\n".join(filter(None, (self.message(), self.hint())))
