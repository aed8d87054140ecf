"""An HTML page of ours opened from its file, with no network: what is wrong with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tests.browser.screen import opened

if TYPE_CHECKING:
    from playwright.sync_api import Browser

#: Texts that hardly stand out from what lies behind them. WCAG 2 asks for a contrast of 4.5 to 1, of 3 for large text.
FAINT = """least => {
  const colour = text => (text.match(/[\\d.]+/g) ?? []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(each => each / 255).map(each =>
    each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4).reduce((sum, each, at) =>
    sum + each * [0.2126, 0.7152, 0.0722][at], 0);
  const mix = (over, under, share = over[3] ?? 1) =>
    [0, 1, 2].map(at => over[at] * share + under[at] * (1 - share));
  const pen = document.createElement('div');
  pen.style.background = 'Canvas';
  document.body.append(pen);
  const paper = colour(getComputedStyle(pen).backgroundColor);
  pen.remove();
  const behind = element => element ? mix(colour(getComputedStyle(element).backgroundColor),
    behind(element.parentElement)) : paper;
  const faint = [];
  for (const element of document.querySelectorAll('body *')) {
    const own = [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim());
    if (!own || !element.getClientRects().length) continue;
    if (element.closest('script, style, [hidden], details:not([open])')) continue;
    const back = behind(element), ink = mix(colour(getComputedStyle(element).color), back);
    const [high, low] = [light(ink), light(back)].sort((a, b) => b - a);
    const ratio = (high + 0.05) / (low + 0.05);
    const said = element.textContent.trim().slice(0, 30);
    if (ratio < least) faint.push(`${element.tagName}.${element.className} "${said}": ${ratio.toFixed(2)}`);
  }
  return faint.slice(0, 5);
}"""
LEAST = 3.0


def faults(made: Browser, file: Path, dark: bool, folder: Path, name: str) -> list[str]:
    """Requests, complaints of the console, boxes for letters, a page wider than its window, texts too faint to read."""
    with opened(made, dark=dark) as screen:
        screen.page.goto(file.as_uri())
        screen.page.wait_for_timeout(200)
        wide, faint = screen.overflow(), screen.page.evaluate(FAINT, LEAST)
        screen.picture(folder, f"page-{name}{'-dark' * dark}")
        found = [f"asked for {address}" for address in screen.asked]
        found += [f"the console says {said}" for said in screen.complaints]
        found += [f"no font has {letter}" for letter in screen.boxes()]
        found += [f"{wide} pixels wider than the window"] if wide > 0 else []
        return found + [f"hardly to be read: {text}" for text in faint]
