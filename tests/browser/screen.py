"""Chromium under the tests' hand: nothing outside is asked, every complaint is kept, what is seen can be stored."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Literal

from tests.browser.install import chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--force-color-profile=srgb",
)
WIDE, TALL, TALLEST = 1280, 900, 14000
#: For a click, a page's coming, a screenshot: on a machine that others use too.
SECONDS = 120
#: Schemes that ask nobody.
INSIDE = ("file:", "data:", "blob:", "about:")
#: Chinese characters whose picture is that of a character which no font has: a box.
BOXES = """text => {
  const made = document.createElement('canvas'), pen = made.getContext('2d', {willReadFrequently: true});
  const picture = letter => {
    pen.clearRect(0, 0, 40, 40);
    pen.font = '28px ' + getComputedStyle(document.querySelector('.aw, .jp-Notebook') ?? document.body).fontFamily;
    pen.fillText(letter, 4, 32);
    return String(pen.getImageData(0, 0, 40, 40).data);
  };
  const none = [picture('\\u{10FFFD}'), picture('\\u{2FFFE}'), picture(' ')];
  return [...new Set(text)].filter(letter => /\\p{Script=Han}|[，。；：？！（）「」“”]/u.test(letter)
    && none.includes(picture(letter)));
}"""


@dataclass
class Screen:
    """One page of the browser and what went wrong on it: `asked` (requests that were refused), `complaints`."""

    page: Page
    asked: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def until(self, script: str, what: str, seconds: float, told: Callable[[], str] = str) -> None:
        """Waits until the script gives a true value; else fails with what was waited for, and what `told` then says."""
        from playwright.sync_api import TimeoutError as TooLong

        try:
            self.page.wait_for_function(script, timeout=seconds * 1000, polling=250)
        except TooLong as error:
            raise AssertionError(f"{what}: not within {seconds:g} s. {told()}".strip()) from error

    def picture(self, folder: Path, name: str) -> Path:
        """Stores what is seen, from top to bottom."""
        file = folder / f"{re.sub('[^A-Za-z0-9_.-]', '_', name)}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=file, full_page=True)
        return file

    def boxes(self) -> list[str]:
        """Chinese characters of the page that this machine's fonts draw as boxes."""
        found: list[str] = self.page.evaluate(BOXES, self.page.inner_text("body"))
        return found

    def overflow(self) -> int:
        """Pixels by which the page is wider than the window."""
        seen = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        return int(self.page.evaluate(seen))


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    """A Chromium with a new profile, ended with the block."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=chromium(), args=list(ARGUMENTS), headless=True)
        try:
            yield made
        finally:
            made.close()


@contextlib.contextmanager
def opened(made: Browser, inside: str = "", *, dark: bool | None = None) -> Iterator[Screen]:
    """A new page. Requests go to `inside` alone (an address; empty: nowhere); what else is asked is refused and kept.

    `dark`: the theme that the system wishes; None leaves it to the page, whose frames then follow the page's own.
    """
    scheme: Literal["dark", "light", "null"] = "null" if dark is None else "dark" if dark else "light"
    context = made.new_context(viewport={"width": WIDE, "height": TALL}, color_scheme=scheme, locale="en-US")
    context.set_default_timeout(SECONDS * 1000)
    screen = Screen(context.new_page())

    def decide(route: Any) -> None:
        address = route.request.url
        if address.startswith(INSIDE) or (inside and address.startswith(inside)):
            route.continue_()
        else:
            screen.asked.append(address)
            route.abort()

    context.route("**/*", decide)
    screen.page.on("console", lambda said: screen.complaints.append(said.text) if said.type == "error" else None)
    screen.page.on("pageerror", lambda error: screen.complaints.append(str(error)))
    try:
        yield screen
    finally:
        context.close()


def pictures() -> Path:
    """The folder of this run's pictures."""
    return Path(os.environ["ASCEND_WORKBOOK_PICTURES"])
