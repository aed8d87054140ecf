// The page: header, tabs by name in the address, language, theme, and the state that a reload keeps.

import {chip, decoded, forget, h, isDark, page, t, tag, w} from "./dom.js";
import {keepCode, restoreCode} from "./code.js";
import {VIEWS} from "./views.js";

const TABS = ["overview", "env", "code", "prec", "perf", "planning", "plan", "run"];
const remembered = name => { try { return localStorage.getItem("ascend-workbook." + name); } catch { return null; } };
const remember = (name, value) => { try { localStorage.setItem("ascend-workbook." + name, value); } catch { /* a page in a frame may keep nothing */ } };

function tabs() {
  if (page.data.kind === "report") return ["report"];
  if (page.data.kind === "plan") return ["plan"];
  if (page.data.kind === "timeline") return ["timeline"];
  return TABS.filter(name => name === "plan" ? page.data.plan : name !== "planning" || page.data.answers.some(one => one.tab === name));
}

// What the address asks for: a tab, and in the code's a file and line.
function asked() {
  const [path] = location.hash.slice(1).split("?");
  const [name, ...rest] = path.split("/").map(decoded);
  const match = /^(.*?)(?::(\d+))?$/.exec(rest.join("/"));
  const own = tabs();
  const tab = own.includes(name) ? name : name === "code" && own[0] === "report" ? "report" : own[0];
  return {tab, target: rest.length ? {path: match[1], line: match[2] ? Number(match[2]) : null} : null};
}

function statusOf(tab) {
  const answer = page.data.answers?.find(one => one.tab === tab);
  return answer && answer.status > 0 ? chip(answer.status, true) : null;
}

function header() {
  const {tab} = asked();
  const list = tabs();
  document.documentElement.lang = page.lang ? "zh-CN" : "en";
  const bar = h("header", {}, h("a", {href: "#main", class: "skip", onclick: event => { event.preventDefault(); document.getElementById("main").focus(); }}, w("skip")),
    h("div", {class: "top"}, h("strong", {}, t(page.data.name)), page.data.script ? h("span", {}, page.data.script) : null, page.data.simulated ? tag(w("simulated_tag")) : null,
      page.data.running ? tag(w("running")) : null, h("time", {class: "small", datetime: page.data.created}, page.data.created.replace("T", " ").slice(0, 16) + " UTC"),
      h("span", {class: "controls"}, h("button", {type: "button", id: "language", lang: page.lang ? "en" : "zh-CN", onclick: () => again(() => { page.lang = 1 - page.lang; remember("lang", page.lang); }, "language")}, page.lang ? "English" : "中文"),
        h("button", {type: "button", id: "theme", onclick: () => again(() => { page.theme = isDark() ? "light" : "dark"; remember("theme", page.theme); }, "theme")}, w("theme"), " ", h("span", {"aria-hidden": "true"}, isDark() ? "☾" : "☀")))));
  if (list.length > 1) {
    bar.append(h("div", {role: "tablist", "aria-label": w("tabs"), onkeydown: event => {
      const at = list.indexOf(asked().tab), to = {ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: list.length - 1}[event.key];
      if (to === undefined) return;
      event.preventDefault();
      location.hash = list[(to + list.length) % list.length];
      requestAnimationFrame(() => document.getElementById("tab-" + asked().tab)?.focus());
    }}, list.map(name => h("a", {role: "tab", id: "tab-" + name, href: "#" + name, "aria-selected": String(name === tab), "aria-controls": "main", tabindex: name === tab ? "0" : "-1"}, w("tab." + name), " ", statusOf(name)))));
  }
  return bar;
}

let drawn = 0;

async function draw() {
  const own = ++drawn, {tab, target} = asked();
  document.documentElement.dataset.theme = isDark() ? "dark" : "light";
  const several = tabs().length > 1;
  const main = h("div", {id: "main", tabindex: "-1", role: several ? "tabpanel" : null, "aria-labelledby": several ? "tab-" + tab : null, class: "view"});
  document.getElementById("app").replaceChildren(header(), h("main", {}, main));
  forget();
  await VIEWS[tab](main, target);
  if (own === drawn) document.documentElement.dataset.ready = tab;
}

// Draws anew after a change of language or theme, with the focus and the place where they were.
async function again(change, id) {
  const {scrollY} = window;
  change();
  await draw();
  document.getElementById(id)?.focus();
  window.scrollTo(0, scrollY);
}

function start() {
  page.data = JSON.parse(document.getElementById("data").textContent);
  for (const file of page.data.code ?? []) page.files.set(file.path, file);
  const lang = remembered("lang");
  page.lang = lang === null ? (page.data.lang === "zh" ? 1 : 0) : Number(lang) ? 1 : 0;
  page.theme = remembered("theme") ?? "auto";
  addEventListener("hashchange", async () => {
    const held = document.activeElement?.id;
    await draw();
    if (held?.startsWith("tab-")) document.getElementById("tab-" + asked().tab)?.focus();
    else if (!asked().target) { window.scrollTo(0, 0); document.getElementById("main").focus({preventScroll: true}); }
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { if (page.theme === "auto") draw(); });
  const kept = recall();
  if (kept) restoreCode(kept.code);
  draw().then(() => { if (kept) restore(kept); });
  if (page.data.running) setTimeout(reload, 5000);
}

const KEPT = "ascend-workbook.place", STALE_MS = 2 * 3600 * 1000, SETTLED_MS = 1500;

// Loads the page anew while its run goes on, but not under a reader's hands; where he was is kept. A page that nobody
// has drawn for a long time is not asked for any more: its run was killed.
function reload() {
  if (Date.now() - Date.parse(page.data.created) > STALE_MS) return;
  if (document.activeElement?.matches("input") || getSelection()?.toString()) { setTimeout(reload, 5000); return; }
  const held = [...named(HELD)].find(([, one]) => one === document.activeElement);
  const folds = [...named("details")].map(([name, one]) => [name, one.open]);
  const scrolled = [...named(BOXES)].filter(([, one]) => one.scrollTop || one.scrollLeft).map(([name, one]) => [name, one.scrollTop, one.scrollLeft]);
  try { sessionStorage.setItem(KEPT, JSON.stringify({scroll: window.scrollY, focus: held?.[0] ?? "", folds, scrolled, code: keepCode()})); } catch { /* nothing is kept */ }
  history.scrollRestoration = "manual";  // the browser would put the place where the page was not whole yet
  location.reload();
}

const HELD = "a, button, summary, select, [tabindex]", BOXES = "[tabindex], nav ul";

// Elements by names that find them again on a page drawn anew: the id, else the folds about it and what it says.
function named(selector) {
  const all = new Map(), counts = new Map();
  for (const one of document.querySelectorAll(selector)) {
    const names = [label(one)];
    for (let fold = one.parentElement?.closest("details"); fold; fold = fold.parentElement.closest("details")) names.unshift(label(fold));
    const name = one.id || names.join(" > "), count = (counts.get(name) ?? 0) + 1;
    counts.set(name, count);
    all.set(count > 1 ? `${name} ${count}` : name, one);
  }
  return all;
}

// A fold is called by the begin of its summary: what comes behind it may change.
function label(one) {
  const inner = one.matches("details") ? one.querySelector("summary") : one;
  return `${one.tagName} ${inner?.getAttribute("href") ?? inner?.getAttribute("aria-label") ?? (inner?.matches("summary") ? inner.firstChild : inner)?.textContent.slice(0, 80) ?? ""}`;
}

function recall() {
  try {
    const kept = JSON.parse(sessionStorage.getItem(KEPT));
    sessionStorage.removeItem(KEPT);
    return kept;
  } catch { return null; }
}

// Puts the reader back where he was. What a fold holds is drawn after it was opened, and folds in it then: until that
// has settled, or the reader moves himself.
function restore(kept) {
  const folds = new Map(kept.folds), scrolled = new Map(kept.scrolled.map(([name, ...place]) => [name, place])), began = performance.now();
  let focus = kept.focus, moved = false;
  const stop = () => { moved = true; };
  for (const kind of ["wheel", "pointerdown", "keydown", "touchstart"]) addEventListener(kind, stop, {once: true, passive: true, capture: true});
  const settle = () => {
    if (moved || performance.now() - began > SETTLED_MS) { history.scrollRestoration = "auto"; return; }
    for (const [name, one] of named("details")) if (folds.has(name)) { one.open = folds.get(name); folds.delete(name); }
    for (const [name, one] of named(BOXES)) if (scrolled.has(name)) [one.scrollTop, one.scrollLeft] = scrolled.get(name);
    const held = focus && named(HELD).get(focus);
    if (held) { held.focus({preventScroll: true}); if (performance.now() - began > 100) focus = ""; }
    if (Math.abs(window.scrollY - kept.scroll) > 1) window.scrollTo(0, kept.scroll);
    requestAnimationFrame(settle);
  };
  requestAnimationFrame(() => requestAnimationFrame(settle));  // a line that the address names goes into view before
}

start();
