// Elements, texts in the reader's language, and numbers. Every text reaches the page as text, never as markup.

export const page = {data: null, lang: 0, theme: "auto", files: new Map()};

// Makes an element. Attributes named on... are listeners; null children are left out.
export function h(tag, attributes, ...children) {
  const one = tag === "svg" || h.svg.has(tag)
    ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) one.addEventListener(name.slice(2), value);
    else one.setAttribute(name, value === true ? "" : value);
  }
  one.append(...children.flat(Infinity).filter(child => child !== null && child !== undefined && child !== false));
  return one;
}
h.svg = new Set(["g", "rect", "path", "line", "text", "circle", "polyline", "marker", "defs", "title"]);

// A text of the data in the reader's language.
export function t(text) {
  return Array.isArray(text) ? text[page.lang] : text ?? "";
}

// Words of the page's own, with {names} filled.
export function w(key, values = {}) {
  return t(page.data.words[key] ?? key).replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
}

export function number(value, digits = 4) {
  if (value === null || value === undefined) return "-";
  if (typeof value !== "number") return String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e9) return String(value);
  const short = parseFloat(value.toPrecision(digits));
  return Math.abs(short) < 1e-4 || Math.abs(short) >= 1e9 ? String(parseFloat(short.toExponential(digits - 1)).toExponential()) : String(short);
}

export const STATUS = ["good", "not_looked", "look", "fix"];
const MARKS = ["✓", "–", "!", "✕"];

// A status as mark and word.
export function chip(status, only = false) {
  if (status === null || status === undefined) return "";
  const word = w("status." + STATUS[status]);
  return h("span", {class: `chip ${STATUS[status]}`}, h("span", {"aria-hidden": "true"}, MARKS[status]),
    only ? h("span", {class: "hidden"}, word) : " " + word);
}

export function tag(text) {
  return h("span", {class: "tag"}, text);
}

export function isDark() {
  return page.theme === "dark" || (page.theme === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
}

// A colour of the page's style.
export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
}

// Long texts that the tab has told: none stands on it twice.
let told = new Set();
const LONG = 45;

export function forget() { told = new Set(); }

// The text the first time; of a long one that the tab has told already, nothing.
export function once(text) {
  const said = t(text);
  if (said.length < LONG) return said;
  if (told.has(said)) return "";
  told.add(said);
  return said;
}

// The text the first time, then the word that it stands above.
export function onceOrAbove(text) {
  return once(text) || (t(text) ? w("above") : "");
}

// Takes the texts as told while `act` runs: a list need not say what the table under it says.
export function asTold(texts, act) {
  const fresh = texts.map(t).filter(text => text.length >= LONG && !told.has(text));
  for (const text of fresh) told.add(text);
  const made = act();
  for (const text of fresh) told.delete(text);
  return made;
}

const ADDRESS = /(https:\/\/[\w./#?=&%~+:@-]*[\w/])|`([^`\n]+)`/g;

// A sentence as nodes: its addresses can be followed, its `code` is code.
export function prose(text) {
  const pieces = [];
  let done = 0;
  for (const match of String(text).matchAll(ADDRESS)) {
    pieces.push(text.slice(done, match.index));
    pieces.push(match[1] ? link(match[1]) : h("code", {}, onceOrAbove(match[2])));
    done = match.index + match[0].length;
  }
  return [...pieces, String(text).slice(done)];
}

export function link(address, text) {
  return h("a", {href: address, rel: "noreferrer", target: "_blank"},
    text ?? (decoded(address.replace(/\/$/, "").split("/").pop()) || address));
}

// A part of an address as text; as it stands where it is none.
export function decoded(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}

// Where a file of the page stands: PATH:LINE as a link to its line, or the plain text where the page lacks the file.
export function place(text, short = false) {
  const match = /^(.*?):(\d+)(?::\d+)?$/.exec(text);
  const name = match ? match[1] : text;
  const path = findFile(name);
  const shown = short ? text.split("/").pop() : text;
  if (path && match) return h("a", {href: codeLink(path, match[2]), class: "place"}, shown);
  if ((page.data.run?.files ?? []).includes(name)) return h("a", {href: name.split("/").map(encodeURIComponent).join("/"), class: "place"}, shown);
  return h("code", {class: "place"}, shown);
}

export function codeLink(path, line) {
  return `#code/${path.split("/").map(encodeURIComponent).join("/")}:${line}`;
}

// The page's file for a path as a report writes it: the same, or the only one that ends so.
export function findFile(name) {
  if (page.files.has(name)) return page.files.get(name).before || page.files.get(name).block ? name : null;
  const near = [...page.files.keys()].filter(path => name.endsWith("/" + path) || path.endsWith("/" + name));
  const file = near.length === 1 ? page.files.get(near[0]) : null;
  return file && (file.before || file.block) ? near[0] : null;
}

// A command that can be copied.
export function command(words, label = null) {
  const text = typeof words === "string" ? words : words.map(quote).join(" ");
  const button = h("button", {type: "button", class: "copy", "aria-label": `${w("copy")}: ${text}`, onclick: async () => {
    try { await navigator.clipboard.writeText(text); } catch { select(code); }
    button.textContent = w("copied");
    setTimeout(() => { button.textContent = w("copy"); }, 1500);
  }}, w("copy"));
  const code = h("code", {}, text);
  return h("div", {class: "command"}, label && h("span", {class: "small"}, label), h("div", {class: "line"}, code, button));
}

function quote(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${String(word).replaceAll("'", `'\\''`)}'`;
}

function select(node) {
  const range = document.createRange();
  range.selectNodeContents(node);
  getSelection().removeAllRanges();
  getSelection().addRange(range);
}

const opened = new Map();

// What a large piece holds: unpacked once, when it is first asked for.
export async function unpack(piece) {
  if (!piece?.block) return piece;
  if (!opened.has(piece.block)) {
    const text = document.getElementById(piece.block).textContent.replace(/\s/g, "");
    const bytes = Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    opened.set(piece.block, JSON.parse(await new Response(stream).text()));
  }
  return opened.get(piece.block);
}

export function card(title, ...children) {
  return h("section", {class: "card"}, title && h("h2", {}, title), ...children);
}
