for (const table of document.querySelectorAll("table.browse")) {
  if (table.tBodies[0].rows.length < 8) continue;
  const body = table.tBodies[0], all = [...body.rows], heads = [...table.tHead.rows[0].cells];
  const number = said => /^-?\d[\d.]*( \S+)?$/.test(said) ? parseFloat(said) : Infinity;
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
