// The code: a tree of files, one of them side by side before and after, its findings under their lines.

import {chip, codeLink, findFile, h, link, once, onceOrAbove, page, prose, t, unpack, w} from "./dom.js";

const CLASSES = ["unsupported", "manual", "rewrite", "advice", "auto"];
export const HUES = {auto: "good", rewrite: "s1", manual: "look", unsupported: "fix", advice: "none"};
const AROUND = 3;
const kept = {column: "both", shown: new Set(CLASSES), unfolded: new Set()};

// How the reader has set the code: kept when the page is loaded anew.
export function keepCode() {
  return {column: kept.column, shown: [...kept.shown], unfolded: [...kept.unfolded]};
}

export function restoreCode({column, shown, unfolded}) {
  Object.assign(kept, {column, shown: new Set(shown), unfolded: new Set(unfolded)});
}

export async function drawCode(into, target) {
  const files = page.data.code;
  if (!files.length) return into.append(h("p", {class: "empty"}, w("no_code")));
  const wanted = target && page.files.has(target.path) ? target.path : files[0].path;
  const findings = files.flatMap(file => file.findings.map(finding => ({...finding, path: file.path})));
  const layout = h("div", {class: "code"});
  into.append(...[classBar(findings), layout].filter(Boolean));
  const side = h("nav", {class: "side", "aria-label": w("files")}), main = h("div", {class: "main"});
  layout.append(main, side);
  drawSide(side, files, findings, wanted);
  await drawFile(main, page.files.get(wanted), target?.path === wanted ? target.line : null);
}

export function counted(findings) {
  return CLASSES.map(kind => [kind, findings.filter(finding => finding.class === kind).length]).filter(([, count]) => count);
}

function classBar(findings) {
  const counts = counted(findings).reverse();
  if (!counts.length) return null;
  return h("div", {class: "shares"}, h("div", {class: "sharebar", role: "img", "aria-label": counts.map(([kind, count]) => `${w("class." + kind)} ${count}`).join(", ")},
    counts.map(([kind, count]) => h("span", {style: `flex:${count} 1 0;background:var(--${HUES[kind]})`}))),
  h("p", {class: "legend"}, counts.map(([kind, count]) => h("span", {}, h("i", {style: `background:var(--${HUES[kind]})`}), `${w("class." + kind)} ${count}`))));
}

function drawSide(side, files, findings, wanted) {
  side.append(h("h2", {}, w("files_count", {count: files.length})), tree(files, wanted));
  const list = h("ul", {class: "findings"});
  const fill = () => {
    const some = findings.filter(finding => kept.shown.has(finding.class) || !finding.class)
      .sort((a, b) => rank(a) - rank(b) || (a.path < b.path ? -1 : a.path > b.path ? 1 : a.line - b.line));
    list.replaceChildren(...some.slice(0, 300).map(finding => h("li", {},
      h("a", {href: codeLink(finding.path, finding.line), class: "place"}, `${finding.path.split("/").pop()}:${finding.line}`), " ",
      h("span", {class: "small"}, finding.class ? w("class." + finding.class) : chip(finding.status)))));
    if (some.length > 300) list.append(h("li", {class: "small"}, w("more", {count: some.length - 300})));
  };
  const counts = counted(findings);
  side.append(h("h2", {}, w("findings_count", {count: findings.length})),
    h("div", {class: "filters", role: "group", "aria-label": w("filter")}, counts.map(([kind, count]) => {
      const button = h("button", {type: "button", class: "pill", "aria-pressed": String(kept.shown.has(kind)), onclick: () => {
        if (kept.shown.has(kind)) kept.shown.delete(kind); else kept.shown.add(kind);
        button.setAttribute("aria-pressed", String(kept.shown.has(kind)));
        fill();
      }}, `${w("class." + kind)} ${count}`);
      return button;
    })), list);
  fill();
}

const rank = finding => CLASSES.indexOf(finding.class) < 0 ? -1 : CLASSES.indexOf(finding.class);

// Files by folder; a folder holds what lies in it.
function tree(files, wanted) {
  const root = {folders: new Map(), files: []};
  for (const file of files) {
    const parts = file.path.split("/");
    let at = root;
    for (const part of parts.slice(0, -1)) {
      if (!at.folders.has(part)) at.folders.set(part, {folders: new Map(), files: []});
      at = at.folders.get(part);
    }
    at.files.push(file);
  }
  const draw = node => h("ul", {class: "tree"},
    [...node.folders].map(([name, inner]) => h("li", {}, h("details", {open: true}, h("summary", {}, name + "/"), draw(inner)))),
    node.files.map(file => h("li", {}, h("a", {href: `#code/${file.path.split("/").map(encodeURIComponent).join("/")}`, class: "file",
      "aria-current": file.path === wanted ? "true" : null}, h("span", {class: "name"}, file.path.split("/").pop()), badge(file),
    file.added || file.removed ? h("span", {class: "small"}, `+${file.added} −${file.removed}`) : null))));
  return draw(root);
}

function badge(file) {
  const worst = counted(file.findings)[0];
  return worst && h("span", {class: "count", style: `--hue:var(--${HUES[worst[0]]})`, title: `${w("class." + worst[0])} ${worst[1]}`}, String(file.findings.length));
}

async function drawFile(main, packed, line) {
  const file = await unpack(packed);
  const narrow = matchMedia("(max-width: 820px)").matches;
  const changed = (file.operations ?? []).length > 0;
  const both = changed && kept.column === "both" && !narrow;
  const switcher = changed && !narrow && h("button", {type: "button", id: "columns", onclick: () => {
    kept.column = kept.column === "both" ? "one" : "both";
    main.replaceChildren();
    drawFile(main, packed, line).then(() => document.getElementById("columns")?.focus());
  }}, both ? w("one_column") : w("two_columns"));
  main.append(h("div", {class: "filehead"}, h("h2", {}, file.path),
    changed ? h("span", {class: "small"}, `+${file.added} −${file.removed}`) : h("span", {class: "small"}, w("unchanged")), switcher));
  if (!file.before) {
    main.append(h("p", {class: "empty"}, file.why ? t(file.why) : w("no_text")), ...file.findings.map(one => note(one)));
    return;
  }
  const table = h("div", {class: `lines ${both ? "two" : "single"}`, role: "region", "aria-label": file.path, tabindex: "0"});
  main.append(table);
  const byLine = new Map();
  for (const finding of file.findings) byLine.set(finding.line, [...(byLine.get(finding.line) ?? []), finding]);
  const rows = pairRows(file);
  const near = new Uint8Array(rows.length);
  rows.forEach((row, at) => {
    if (row.changed || byLine.has(row.old) || row.old === line) near.fill(1, Math.max(0, at - AROUND), at + AROUND + 1);
  });
  if (rows.length <= 60) near.fill(1);
  rows.forEach((row, at) => { if (kept.unfolded.has(`${file.path}:${row.old}`)) near[at] = 1; });
  for (let at = 0; at < rows.length;) {
    if (near[at]) { drawRow(table, rows[at], both, byLine, line); at += 1; continue; }
    let end = at;
    while (end < rows.length && !near[end]) end += 1;
    if (end - at <= 4) { for (; at < end; at++) drawRow(table, rows[at], both, byLine, line); continue; }
    fold(table, file.path, rows.slice(at, end), both, byLine, line);
    at = end;
  }
  if (line) requestAnimationFrame(() => {
    const target = table.querySelector(".target");
    target?.setAttribute("tabindex", "-1");
    target?.focus({preventScroll: true});
    target?.scrollIntoView({block: "center"});
  });
}

// Lines before and after in pairs: {old, new, left, right, changed}; a line that the other side lacks stands alone.
function pairRows(file) {
  const rows = [];
  let old = 0, now = 0;
  const same = until => { for (; old < until; old++, now++) rows.push({old: old + 1, now: now + 1, left: file.before[old], right: file.before[old]}); };
  for (const [begin, end, beginAfter, endAfter] of file.operations ?? []) {
    same(begin);
    const count = Math.max(end - begin, endAfter - beginAfter);
    for (let at = 0; at < count; at++) {
      const has = begin + at < end, adds = beginAfter + at < endAfter;
      rows.push({old: has ? begin + at + 1 : null, now: adds ? beginAfter + at + 1 : null, left: has ? file.before[begin + at] : null,
        right: adds ? file.after[beginAfter + at] : null, changed: true});
    }
    old = end;
    now = endAfter;
  }
  same(file.before.length);
  return rows;
}

function fold(table, path, rows, both, byLine, line) {
  const button = h("button", {type: "button", class: "fold", onclick: () => {
    const holder = h("div", {class: "unfolded", tabindex: "-1"});
    for (const row of rows) { drawRow(holder, row, both, byLine, line); kept.unfolded.add(`${path}:${row.old}`); }
    button.replaceWith(...holder.childNodes);
    table.focus({preventScroll: true});
  }}, w("unfold", {count: rows.length}));
  table.append(button);
}

function drawRow(table, row, both, byLine, target) {
  const findings = row.old ? byLine.get(row.old) ?? [] : [];
  const hue = findings.length ? HUES[findings.map(one => one.class).sort((a, b) => CLASSES.indexOf(a) - CLASSES.indexOf(b))[0]] ?? "fix" : null;
  const marked = row.old && row.old === target ? " target" : "";
  const mark = hue && {style: `--hue:var(--${hue})`};
  if (both) {
    table.append(h("div", {class: `row${marked}`, ...mark},
      half(row.old, row.left, row.changed ? (row.left ? "del" : "void") : "", hue), half(row.now, row.right, row.changed ? (row.right ? "add" : "void") : "")));
  } else {
    if (row.left) table.append(h("div", {class: `row${marked}`, ...mark}, half(row.old, row.left, row.changed ? "del" : "", hue)));
    if (row.changed && row.right) table.append(h("div", {class: "row"}, half(row.now, row.right, "add")));
  }
  for (const finding of findings) table.append(note(finding));
}

export function half(number, tokens, kind, hue) {
  return h("div", {class: `half ${kind}${hue ? " has" : ""}`}, h("span", {class: "no"}, number === null ? "" : String(number)), h("code", {}, spans(tokens)));
}

export function spans(tokens) {
  const made = [];
  for (let at = 0; tokens && at < tokens.length; at += 2) made.push(tokens[at] ? h("span", {class: "t" + tokens[at]}, tokens[at + 1]) : tokens[at + 1]);
  return made;
}

function note(finding) {
  const facts = [finding.rule, finding.effort_h && w("hours", {hours: t(finding.effort_h)}), finding.confidence && t(finding.confidence)].filter(Boolean).join(" · ");
  return h("div", {class: "note", style: `--hue:var(--${HUES[finding.class] ?? "fix"})`},
    h("p", {}, finding.class ? h("b", {}, w("class." + finding.class) + ": ") : chip(finding.status), " ", prose(onceOrAbove(finding.text))),
    once(finding.hint) ? h("p", {}, "→ ", prose(t(finding.hint))) : null,
    h("p", {class: "small"}, facts, finding.link ? [" · ", link(finding.link, w("basis"))] : null));
}

// A few lines about one line of a file, for a card; empty where the page lacks the file.
export async function excerpt(into, text) {
  const match = /^(.*?):(\d+)/.exec(text ?? "");
  const path = match && findFile(match[1]);
  const file = path && await unpack(page.files.get(path));
  if (!file?.before) return;
  const line = Number(match[2]), from = Math.max(1, line - 2), to = Math.min(file.before.length, line + 2);
  into.append(h("a", {href: codeLink(path, line), class: "place"}, `${path}:${line}`), h("div", {class: "lines single excerpt", tabindex: "0", role: "region", "aria-label": `${path}:${line}`},
    Array.from({length: Math.max(0, to - from + 1)}, (_, at) => h("div", {class: `row${from + at === line ? " target" : ""}`}, half(from + at, file.before[from + at - 1], "")))));
}
