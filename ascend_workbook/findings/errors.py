"""Errors a user can act on: a code and its arguments; the sentence is made when it is shown."""

from __future__ import annotations

import errno
import shlex

from ascend_workbook.findings.sentence import Scalar, Sentence, hint, load_catalogue, say


class WorkbookError(Exception):
    """Something could not be done. `key` names the sentence in the catalogue, `args` fill it.

    Commands print the message and the hint and exit with 2; a batch records both.
    """

    def __init__(self, key: str, **args: Scalar) -> None:
        super().__init__(key, args)
        self.key = key
        self.arguments = args

    def message(self, lang: str | None = None) -> str:
        """Return what went wrong, naming the file and the place."""
        return say(self.key, lang, **self.arguments)

    def hint(self, lang: str | None = None) -> str:
        """Return the next step, or an empty string."""
        return hint(self.key, lang, **self.arguments)

    def __str__(self) -> str:
        return "\n".join(filter(None, (self.message(), self.hint())))


class Stopped(KeyboardInterrupt):
    """The user stopped it: one sentence of the catalogue says what is kept and how to go on. Commands print it and
    exit with 130, as shells tell a SIGINT."""

    EXIT = 130

    def __init__(self, key: str = "command.interrupted", **args: Scalar) -> None:
        super().__init__(key, args)
        self.key = key
        self.arguments = args

    def message(self, lang: str | None = None) -> str:
        """Return what is kept, and how to go on."""
        return say(self.key, lang, **self.arguments)

    def __str__(self) -> str:
        return self.message()


def explain_os_error(error: OSError) -> Scalar:
    """Explain why a file could not be read or written, in the reader's language where we have words for it."""
    key = f"os.{errno.errorcode.get(error.errno or 0, '')}"
    return Sentence(key) if key in load_catalogue() else error.strerror or str(error)


def install_line(*requirements: str, python: str = "python") -> str:
    """Return the shell line that installs beside what is here: torch and what is built against it stay as they are.

    Of `torchvision` pip alone would bring the newest, and the torch that one asks for; texts have the same form.
    """
    pip = f"{shlex.quote(python)} -m pip"
    return (
        f"{pip} list --format=freeze | grep -i ^torch > held.txt; {pip} install -c held.txt {shlex.join(requirements)}"
    )
