"""Errors of the converter: with the code of a public page, or with the words that none is documented."""

from __future__ import annotations

#: Codes with the texts of CANN's public reference ("Troubleshooting", GE errors). Other cases have none here.
TEXTS = {
    # https://www.hiascend.com/document/detail/zh/canncommercial/latest/maintenref/troubleshooting/atlaserrorcode_15_0001.html
    "E10001": "Value {} for parameter {} is invalid. Reason: {}",
    # https://www.hiascend.com/document/detail/en/canncommercial/800/maintenref/troubleshooting/atlaserrorcode_15_0051.html
    "E10054": "The required parameter [{}] for ATC is empty.",
}


class ConversionError(Exception):
    """A conversion that cannot be: `code` is empty where no public page gives one."""

    def __init__(self, text: str, code: str = "") -> None:
        super().__init__(text)
        self.code = code

    def __str__(self) -> str:
        label = self.code or "(CANN's code for this is not documented)"
        return f"{label}: {self.args[0]}"


def refuse_value(name: str, value: object, reason: str) -> ConversionError:
    """Return the error of a value that an option does not take."""
    return ConversionError(TEXTS["E10001"].format(f"[{value}]", f"[--{name}]", reason), "E10001")


def report_missing(name: str) -> ConversionError:
    """Return the error of a required option that was not given."""
    return ConversionError(TEXTS["E10054"].format(name), "E10054")
