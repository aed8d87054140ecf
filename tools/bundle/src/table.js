// Tables: a plain one where it is short; where it is long only the rows in sight are drawn (Tabulator).

import {Tabulator, SortModule, FilterModule, FormatModule, InteractionModule} from "../vendor/tabulator.mjs";
import {chip, h, number, onceOrAbove, place, prose, t, unpack, w, STATUS} from "./dom.js";

Tabulator.registerModule([SortModule, FilterModule, FormatModule, InteractionModule]);

const WIDE = 8, PLAIN = 24, SHORT = 16;

// The value of a cell as it sorts, and as it is shown.
export function cell(column, row) {
  const value = column.values[row];
  if (column.kind === "number") return value;
  if (column.kind === "status") return value;
  const word = column.words[value];
  return word && word.note ? w("note", {number: word.note}) : t(word);
}

export function shown(column, row) {
  const value = cell(column, row);
  if (column.kind === "number") return number(value, column.digits) + (column.unit && value !== null ? " " + column.unit : "");
  if (column.kind === "status") return value === null ? "" : w("status." + STATUS[value]);
  return String(value);
}

// A cell as nodes; `first`: a long text that the tab has told is not told again.
function content(column, row, first = false) {
  const value = cell(column, row);
  if (column.kind === "status") return chip(value);
  if (column.links?.[row]) return h("a", {href: column.links[row]}, String(value));
  if (column.kind === "place" && typeof value === "string" && /:\d+$/.test(value)) return place(value);
  if (column.kind === "number") return shown(column, row);
  return prose(first ? onceOrAbove(String(value)) : String(value));
}

// The values of a named column; empty without one.
export function columnOf(table, name) {
  return table?.columns.find(column => column.name === name);
}

// A packed table, its columns that count from 0 written out.
export async function unpackTable(packed) {
  const table = await unpack(packed);
  for (const column of table?.columns ?? []) if (column.count) column.values ??= Array.from({length: column.count}, (_, at) => at);
  return table;
}

// Draws a packed table. `at`: the row to be in sight and marked; `onpick` is told a row's number.
export async function drawTable(into, packed, {at = null, onpick = null, label = "", all = false, details = true, tall = 420} = {}) {
  const table = await unpackTable(packed);
  const several = details ? table.columns : table.columns.filter(column => !column.detail);
  // a column of a wide table that says the same in every row is told once
  const same = several.length > WIDE && table.count > 1 ? several.filter(column => column.values.every(value => value === column.values[0])) : [];
  const columns = several.filter(column => !same.includes(column));
  if (same.length) into.append(h("p", {class: "small"}, w("same_in_all", {columns: same.map(column => `${t(column.title)} ${shown(column, 0) || "-"}`).join(", ")})));
  const notes = table.notes?.length ? h("ol", {class: "notes small"}, table.notes.map(note => h("li", {}, prose(onceOrAbove(note))))) : null;
  if (table.count <= PLAIN && !all) {
    into.append(plain(table, columns, at, label), ...(notes ? [notes] : []));
    return null;
  }
  const grid = virtual(into, table, columns, at, onpick, label, tall);
  if (table.left_out?.length) into.append(h("p", {class: "small"}, w("left_out", {columns: table.left_out.map(t).join(", ")})));
  if (notes) into.append(notes);
  return grid;
}

function plain(table, columns, at, label) {
  return h("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": label || w("table")}, h("table", {},
    h("thead", {}, h("tr", {}, columns.map(column => h("th", {scope: "col", class: column.kind === "number" ? "n" : null}, t(column.title))))),
    h("tbody", {}, Array.from({length: table.count}, (_, row) => h("tr", {class: row === at ? "mark" : null},
      columns.map(column => h("td", {class: column.kind === "number" ? "n" : shown(column, row).length <= SHORT ? "s" : null}, content(column, row, true))))))));
}

function virtual(into, table, columns, at, onpick, label, tall) {
  const rows = Array.from({length: table.count}, (_, row) => {
    const one = {id: row};
    for (const column of columns) one[column.name] = cell(column, row);
    return one;
  });
  const count = h("output", {class: "small"});
  const find = h("input", {type: "search", "aria-label": w("filter"), placeholder: w("filter"), oninput: () => {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    grid.setFilter(words.length ? row => words.every(word => columns.some(column => String(shown(column, row.id)).toLowerCase().includes(word))) : []);
    if (!words.length) grid.clearFilter();
  }});
  const holder = h("div", {class: "grid"});
  into.append(h("div", {class: "bar"}, find, count), holder);
  const grid = new Tabulator(holder, {
    data: rows, index: "id", layout: "fitDataFill", height: Math.min(tall, 34 * (table.count + 1)), rowHeight: 32,
    columnDefaults: {headerSortTristate: true},
    columns: columns.map(column => ({
      title: t(column.title), field: column.name, sorter: column.kind === "number" || column.kind === "status" ? compare : compareText,
      hozAlign: column.kind === "number" ? "right" : "left", headerSort: true, maxInitialWidth: 340,
      formatter: one => {
        const made = content(column, one.getRow().getData().id);
        if (typeof made === "string") return document.createTextNode(made);
        if (!Array.isArray(made)) return made;
        return h("span", {title: shown(column, one.getRow().getData().id)}, made);
      },
    })),
    rowFormatter: row => row.getElement().classList.toggle("mark", row.getData().id === at),
  });
  grid.on("tableBuilt", () => {
    // what the library leaves out for readers of the screen and for keys
    holder.setAttribute("aria-label", label || w("table"));
    holder.setAttribute("aria-rowcount", table.count);
    holder.querySelector(".tabulator-header")?.setAttribute("role", "rowgroup");
    holder.querySelector(".tabulator-headers")?.setAttribute("role", "row");
    holder.querySelector(".tabulator-table")?.setAttribute("role", "presentation");
    const scroller = holder.querySelector(".tabulator-tableholder");
    scroller?.setAttribute("tabindex", "0");
    scroller?.setAttribute("role", "rowgroup");
    for (const head of holder.querySelectorAll(".tabulator-col")) {
      head.tabIndex = 0;
      head.addEventListener("keydown", event => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        const field = head.getAttribute("tabulator-field"), sorted = grid.getSorters().find(one => one.field === field);
        grid.setSort(field, sorted?.dir === "asc" ? "desc" : "asc");
      });
    }
    count.textContent = `${table.count} / ${table.count}`;
    if (at !== null && at < table.count) showRow(grid, at);
  });
  grid.on("dataFiltered", (_, left) => { count.textContent = `${left.length} / ${table.count}`; });
  if (onpick) grid.on("rowClick", (_, row) => onpick(row.getData().id));
  return grid;
}

// Brings a row of a long table into the middle of what is in sight; `mark`: and marks it. Rows are of one height.
export function showRow(grid, at, mark = false) {
  const scroller = grid.element.querySelector(".tabulator-tableholder"), count = grid.getDataCount("active"), position = grid.getRowPosition(at);
  if (!position) return;
  scroller.scrollTop = (position - 0.5) / count * scroller.scrollHeight - scroller.clientHeight / 2;
  if (!mark) return;
  scroller.addEventListener("scrollend", () => {
    for (const row of grid.getRows("visible")) row.getElement().classList.toggle("picked", row.getData().id === at);
  }, {once: true});
}

function compare(a, b) {
  const first = typeof a === "number" ? a : -Infinity, second = typeof b === "number" ? b : -Infinity;
  return first === second ? 0 : first < second ? -1 : 1;
}

const words = new Intl.Collator(undefined, {numeric: true}).compare;

function compareText(a, b) {
  return words(String(a ?? ""), String(b ?? ""));
}
