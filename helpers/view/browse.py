"""A long table on a page: sorted by a click on a heading, filtered by a list or a text under it.

A cell may tell its value in `data-value` where it shows more. The script is part of the page and loads nothing.
Without it (printed, or scripts forbidden) the table is whole.
"""

from __future__ import annotations

from html import escape

#: More rows than this make a page slow to open; the JSON has them all.
ROWS = 5000
STYLE = """
body:has(.browse) { max-width: 120em; } .aw .browse td { overflow-wrap: break-word; min-width: 2.5em; max-width: 28em; }
.aw .browse:has(td.s) td:not(.s):not(:empty) { min-width: 8em; }
.aw .browse th[aria-sort] { cursor: pointer; white-space: nowrap; }
.aw .browse th[aria-sort=ascending]::after { content: " \\25B2"; }
.aw .browse th[aria-sort=descending]::after { content: " \\25BC"; }
.aw .browse select, .aw .browse input { max-width: 9em; width: 100%; font: inherit; }
"""
SCRIPT = """<script>
for (const table of document.querySelectorAll("table.browse")) {
  if (table.tBodies[0].rows.length < 8) continue;
  const body = table.tBodies[0], all = [...body.rows], heads = [...table.tHead.rows[0].cells];
  const number = said => /^-?\\d[\\d.]*( \\S+)?$/.test(said) ? parseFloat(said) : Infinity;
  const words = new Intl.Collator(undefined, {numeric: true}).compare;
  const compare = (a, b) => number(a) === number(b) ? words(a, b) : number(a) < number(b) ? -1 : 1;
  const text = (row, at) => row.cells[at].dataset.value ?? row.cells[at].textContent.trim();
  const under = table.tHead.insertRow(), boxes = [], shown = document.createElement("p");
  table.before(shown);
  const filter = () => {
    let count = 0;
    for (const row of all) {
      row.hidden = !boxes.every((box, at) => !box.value || (box.tagName === "SELECT" ? text(row, at) === box.value
        : text(row, at).toLowerCase().includes(box.value.toLowerCase())));
      count += !row.hidden;
    }
    shown.textContent = count + " / " + all.length;
  };
  const sort = (head, at) => {
    const down = head.getAttribute("aria-sort") === "ascending";
    heads.forEach(each => each.setAttribute("aria-sort", "none"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    body.append(...all.sort((a, b) => (down ? -1 : 1) * compare(text(a, at), text(b, at))));
  };
  heads.forEach((head, at) => {
    const values = [...new Set(all.map(row => text(row, at)))].sort();
    const box = document.createElement(values.length <= 12 ? "select" : "input");
    if (box.tagName === "SELECT") for (const value of ["", ...values]) box.add(new Option(value, value));
    box.setAttribute("aria-label", head.textContent);
    box.addEventListener("input", filter);
    boxes.push(box);
    under.insertCell().append(box);
    head.setAttribute("aria-sort", "none");
    head.tabIndex = 0;
    head.addEventListener("click", () => sort(head, at));
    head.addEventListener("keydown", event => event.key === "Enter" && sort(head, at));
  });
  filter();
}
</script>"""


def script(body: str) -> str:
    """The script, and the style of what it makes, where the page's body has a table for it."""
    return f"<style>{STYLE}</style>{SCRIPT}" if '<table class="browse">' in body else ""


def link(address: str) -> str:
    """A link under the last part of its address."""
    name = address.rstrip("/").rpartition("/")[2]
    return f'<a href="{escape(address)}" rel="noreferrer">{escape(name)}</a>'
