// The tabs: what each shows on its first screen, and below it every report of its stage.

import {asTold, card, chip, command, h, isDark, link, number, once, onceOrAbove, page, place, prose, STATUS, t, tag, unpack, w} from "./dom.js";
import {areas, barcode, curve, drawChart, graph, KIND_HUES, memoryBar, miniBars, moduleTree, ranges, shareBar} from "./charts.js";
import {cell, columnOf, drawTable, showRow, unpackTable} from "./table.js";
import {culpritCard, histogramCard} from "./culprit.js";
import {drawCode, excerpt, HUES} from "./code.js";
import {mountTimeline} from "./timeline.js";
import {LocalSource, RemoteSource} from "./timeline_source.js";

const PART_HUES = {computing: "s1", communication: "s3", copy: "s4", loading: "s2", free: "none"};

export const VIEWS = {overview, env, code, prec, perf, planning, run, report, plan, timeline};

// The first report of a verb among a tab's.
function part(tab, ...verbs) {
  const search = report => report && (verbs.includes(report.id) ? report : report.parts.map(search).find(Boolean));
  return search(page.data.tabs?.[tab]);
}

function overview(into) {
  const {cards, answers} = page.data;
  into.append(h("h1", {class: "hidden"}, w("tab.overview")), firstCard(cards[0]), h("div", {class: "answers"}, answers.map(answerCard)));
  const pictures = h("div", {class: "pictures"});
  into.append(pictures);
  lossPicture(pictures);
  const beside = h("div", {class: "beside"}, cards.length > 1 ? nextCard(cards.slice(1)) : null, page.data.unlooked.length ? unlookedCard(cards.length > 1 ? 2 : 5) : null);
  if (beside.children.length) pictures.append(beside);
}

function firstCard(one) {
  const heading = {3: "fix_first", 2: "look_first", 1: "unlooked_first"}[one.status] ?? "do_next";
  const code = h("div", {}), where = h("div", {class: "where"}, code);
  const made = h("section", {class: `card first ${["good", "not_looked", "look", "fix"][one.status]}`, "aria-labelledby": "first"},
    h("div", {class: "what"}, h("h2", {id: "first", class: "small"}, w(heading)), h("p", {class: "cause"}, prose(once(one.cause))),
      one.detail ? h("p", {}, prose(once(one.detail))) : null,
      one.place ? h("p", {}, place(one.place)) : null,
      one.remedy && t(one.remedy) ? h("p", {}, h("b", {}, w("what_to_do") + " "), prose(once(one.remedy))) : null,
      one.tab ? h("p", {}, h("a", {href: "#" + one.tab, class: "button"}, w("open_tab", {tab: w("tab." + one.tab)}), " →")) : null), where);
  if (one.place) excerpt(code, one.place).then(() => { if (code.querySelector(".place")) made.querySelector(".what > p > .place")?.parentNode.remove(); });
  if (one.difference) code.append(listing({text: one.difference, language: "diff"}));
  const row = rowOf(one.stage), again = one.command ?? row?.command;
  if (again) where.append(command(again, w(one.status === 3 ? "then_repeat" : "repeat")), row?.note ? h("p", {class: "small"}, prose(once(row.note))) : "");
  return made;
}

function rowOf(stage) {
  return page.data.run?.stages.find(one => one.tab === {environment: "env", migration: "code", precision: "prec", profiling: "perf", planning: "planning"}[stage]);
}

function answerCard(answer) {
  return h("a", {href: "#" + answer.tab, class: `card answer${answer.simulated ? " simulated" : ""}`},
    h("span", {class: "top"}, h("span", {class: "question"}, t(answer.question)), chip(answer.status)),
    h("strong", {}, t(answer.title)), h("span", {class: "small"}, t(answer.detail).replaceAll("`", "")), h("span", {class: "picture"}, picture(answer)));
}

function picture(answer) {
  if (answer.layers) return layers(answer.layers.slice(1));
  if (answer.stack) return shareBar(answer.stack.map(([name, count]) => [w(name.replace("migration.", "")), count, HUES[name.split(".").pop()]]));
  if (answer.bars?.length) return miniBars(answer.bars, w("barcode"));
  if (answer.memory) return memoryBar(answer.memory);
  if (answer.shares?.length) return shareBar(answer.shares.map(([name, value]) => [w(name.replace("page.", "")), value, PART_HUES[name.split(".").pop()]]), "ms");
  return "";
}

function layers(rows) {
  return h("span", {class: "layers"}, rows.map(row => h("span", {class: `layer ${row.state}`}, h("span", {}, row.name),
    h("span", {class: "small"}, row.state === "real" ? row.version : row.state === "simulated" ? `${row.version} ${w("simulated")}`.trim() : w("missing")))));
}

function lossPicture(into) {
  const curves = part("prec", "curves"), ran = part("code", "dry_run");
  const from = curves?.table ? curves : ran;
  if (!from?.table) return;
  const box = card(from === curves ? w("loss_both") : w("loss_dry"));
  into.append(box);
  unpackTable(from.table).then(table => drawLosses(box, table, from));
}

// Both losses; the relative error against what is allowed where it is more than nothing.
function drawLosses(box, table, report, height = 150) {
  const x = columnOf(table, "step"), first = columnOf(table, "loss_baseline") ?? columnOf(table, "baseline_loss"), second = columnOf(table, "loss_target") ?? columnOf(table, "target_loss");
  const error = columnOf(table, "relative_error"), allowed = report.facts?.tolerance;
  if (!x || !first || !second || x.kind !== "number") return;
  const some = [[first, "s1"], [second, "s2"]].filter(([column]) => column.values.some(value => typeof value === "number"));
  if (error?.values.some(value => value > 0)) {
    box.querySelector("h2").textContent = w("loss_error");
    const series = [{name: w("loss_error"), values: error.values, hue: "s2"}];
    if (allowed) series.push({name: w("allowed"), values: x.values.map(() => allowed), hue: "fix", dash: [4, 4], width: 1.5});
    curve(box, x.values, series, {log: true, label: w("loss_error"), height});
    return;
  }
  curve(box, x.values, some.map(([column, hue], at) => ({name: t(column.title), values: column.values, hue, width: at ? 2 : 4, dash: at ? [6, 4] : undefined})), {label: w("loss_both"), height});
}

function unlookedCard(most) {
  const rows = page.data.unlooked.filter(one => once(one.text)).map(one => h("li", {}, h("a", {href: "#" + one.tab}, w("tab." + one.tab)), " ", prose(t(one.text))));
  return card(w("unlooked_count", {count: rows.length}), h("ul", {class: "tight"}, rows.slice(0, most)),
    rows.length > most ? h("details", {}, h("summary", {}, `+${rows.length - most}`), h("ul", {class: "tight"}, rows.slice(most))) : null);
}

function nextCard(cards) {
  return card(w("then"), h("ol", {class: "tight"}, cards.slice(0, 3).map(one => h("li", {class: "short"}, chip(one.status), " ", one.place ? [place(one.place), " "] : null, prose(onceOrAbove(one.cause))))),
    cards.length > 3 ? h("p", {class: "small"}, w("more", {count: cards.length - 3})) : null);
}

// `later`: a verdict that stands further down, and so not here.
function head(tab, later = null) {
  const answer = page.data.answers?.find(one => one.tab === tab), report = page.data.tabs[tab];
  const again = page.data.run?.stages.find(one => one.tab === tab);
  return h("div", {class: "head"}, h("h1", {}, w("tab." + tab), " ", chip(answer?.status ?? report?.status ?? 1)),
    answer?.simulated ?? report?.simulated ? tag(w("simulated_tag")) : null, again?.reused ? tag(w("reused")) : null, answer?.estimated ? tag(w("estimated")) : null,
    answer && report && answer.status !== report.status ? h("p", {class: "verdict"}, h("b", {}, prose(once(answer.title)))) : null,
    report && later && t(report.verdict) === t(later) ? null : h("p", {class: "verdict"}, prose(once(report ? report.verdict : answer?.title))));
}

function missing(into, tab) {
  if (page.data.tabs[tab]) return false;
  const again = page.data.run?.stages.find(one => one.tab === tab);
  into.append(head(tab));
  if (again) into.append(card(w("not_run_yet"), command(again.command), again.note ? h("p", {class: "small"}, prose(once(again.note))) : null));
  return true;
}

function env(into) {
  if (missing(into, "env")) return;
  const answer = page.data.answers?.find(one => one.tab === "env");
  into.append(head("env"));
  if (answer?.layers) into.append(card(w("layers"), layers(answer.layers)));
  const checks = part("env", "machine_check");
  if (checks?.table) into.append(checkGroups(checks));
  sections(into, page.data.tabs.env, checks?.table ? [checks.id] : []);
}

function checkGroups(report) {
  const box = card(t(report.title));
  unpackTable(report.table).then(table => {
    const group = columnOf(table, "environment_group"), check = columnOf(table, "check"), status = columnOf(table, "status"), evidence = columnOf(table, "evidence"), fix = columnOf(table, "fix");
    const groups = new Map();
    for (let row = 0; row < table.count; row++) {
      const name = cell(group, row);
      groups.set(name, [...(groups.get(name) ?? []), row]);
    }
    for (const [name, rows] of groups) {
      const worst = Math.max(...rows.map(row => status.values[row] ?? 1));
      box.append(h("details", {open: worst > 0, class: "group"}, h("summary", {}, chip(worst), ` ${name} (${rows.length})`),
        h("dl", {class: "checks"}, rows.map(row => [h("dt", {}, chip(status.values[row], true), " ", String(cell(check, row))),
          h("dd", {}, prose(onceOrAbove(String(cell(evidence, row)))), fix && cell(fix, row) !== "-" && cell(fix, row) ? h("p", {}, "→ ", prose(onceOrAbove(String(cell(fix, row))))) : null)]))));
    }
    if (table.notes.length) box.append(h("ol", {class: "notes small"}, table.notes.map(text => h("li", {}, prose(t(text))))));
  });
  return box;
}

async function code(into, target) {
  if (missing(into, "code")) return;
  into.append(head("code"));
  await drawCode(into, target);
  const skip = ["scan", "scan_classes", "rewrite"];
  sections(into, page.data.tabs.code, skip);
}

async function prec(into) {
  if (missing(into, "prec")) return;
  const curves = part("prec", "curves"), compared = part("prec", "divergence", "compare");
  const parts = compared?.table && typeof compared.facts?.row === "number";
  into.append(head("prec", parts ? compared.verdict : null));
  if (parts) await drawComparison(into, compared);
  if (curves?.table) {
    const table = await unpackTable(curves.table), both = h("div", {class: "pictures"}), losses = card(w("loss_both")), error = card(w("loss_error"));
    into.append(both);
    both.append(losses, error);
    const x = columnOf(table, "step"), first = columnOf(table, "loss_baseline"), second = columnOf(table, "loss_target"), off = columnOf(table, "relative_error"), allowed = curves.facts?.tolerance;
    if (x?.kind === "number" && first && second) curve(losses, x.values, [{name: t(first.title), values: first.values, width: 4, hue: "s1"}, {name: t(second.title), values: second.values, hue: "s2", dash: [6, 4]}], {label: w("loss_both")});
    const series = off?.values.some(value => value > 0) ? [{name: w("loss_error"), values: off.values, hue: "s2"}] : [];
    if (series.length && allowed) series.push({name: w("allowed"), values: x.values.map(() => allowed), hue: "fix", dash: [4, 4], width: 1.5});
    if (!series.length || curve(error, x.values, series, {log: true, label: w("loss_error")}) === false) error.append(h("p", {}, w("no_error", {count: table.count})));
  }
  if (compared?.table && !parts) await drawComparison(into, compared);
  sections(into, page.data.tabs.prec, [curves?.id, compared?.id].filter(Boolean));
}

// Every comparison. Where one parts the runs it stands first: its code, the tree of modules open at it, its tensors on
// both sides, its row; else the row of all.
async function drawComparison(into, report) {
  const table = await unpackTable(report.table), row = report.facts?.row ?? null, parts = typeof row === "number" && row < table.count;
  const {modules, edges, culprit} = report.facts ?? {};
  let grid = null;
  const pick = at => {
    if (!grid) return;
    showRow(grid, at, true);
    grid.element.scrollIntoView({block: "nearest"});
  };
  const holder = card(w("all_comparisons", {count: table.count}));
  const bars = card(w("barcode_title")), pair = h("div", {class: "pictures"});
  if (modules?.length) {
    const tree = h("div", {class: parts ? "low" : null}, moduleTree(modules, ownerOf(modules, table, row), pick));
    pair.append(card(w("modules"), tree));
    requestAnimationFrame(() => { const mark = tree.querySelector(".mark"); if (parts && mark) tree.scrollTop = mark.offsetTop - tree.clientHeight / 2; });
  }
  const flow = card(w("graph")), drawn = edges?.length && row !== null && graph(flow, table, edges, row);
  const counted = parts && culprit?.tensors?.length ? histogramCard(culprit) : null;
  if (counted) pair.append(counted); else if (drawn) pair.append(flow);
  if (parts) {
    const remedy = page.data.cards?.find(one => one.kind === "parts")?.remedy ?? report.findings.find(one => one.rule === "ACC230")?.hint;
    into.append(culpritCard(culprit ?? {}, table, row, report.verdict, pick), pair, holder, bars);
    if (remedy && once(remedy)) into.append(card(w("what_to_do"), h("p", {}, prose(t(remedy)))));
    if (counted && drawn) into.append(flow);
  } else into.append(bars, pair, holder);
  if (!barcode(bars, table, "error_out", "allowed", row, pick)) bars.remove();
  if (!pair.children.length) pair.remove();
  const said = findingList(report);
  if (said) into.append(card(null, said));
  grid = await drawTable(holder, report.table, {at: row, label: w("all_comparisons", {count: table.count}), all: true, tall: parts ? 168 : 420});
}

function ownerOf(modules, table, row) {
  const column = columnOf(table, "module"), name = column && row !== null ? cell(column, row) : null;
  return name ? modules.find(one => one.name === name) : null;
}

async function perf(into) {
  if (missing(into, "perf")) return;
  into.append(head("perf"));
  const measured = part("perf", "benchmark"), kinds = part("perf", "time_by_kind"), steps = part("perf", "step_times"), tuning = part("perf", "tuning"), line = part("perf", "timeline"), top = part("perf", "top_operators");
  const answer = page.data.answers?.find(one => one.tab === "perf");
  const pictures = h("div", {class: "pictures"});
  into.append(pictures);
  const box = card(w("one_step"));
  if (answer?.shares?.length) {
    box.append(h("p", {class: "big"}, t(answer.title)), shareBar(answer.shares.map(([name, value]) => [w(name.replace("page.", "")), value, PART_HUES[name.split(".").pop()]]), "ms"));
    if (answer.two_times) box.append(h("p", {class: "small"}, prose(t(answer.two_times))));
    pictures.append(box);
  } else if (kinds?.chart) pictures.append(box);
  if (!answer?.shares?.length && kinds?.chart) await drawChart(box, kinds);
  if (steps?.chart) { const all = card(t(steps.title)); if (await drawChart(all, steps)) pictures.append(all); }
  if (tuning?.table) pictures.append(await savings(tuning));
  if (line?.facts?.timeline) await drawTimeline(into, line);
  if (top) {
    const box = card(t(top.title));
    into.append(box);
    await fill(box, top);
  }
  sections(into, page.data.tabs.perf, [line?.facts?.timeline && "timeline", top && "top_operators", tuning?.table && "tuning", measured ? "" : ""].filter(Boolean));
}

async function planning(into) {
  if (missing(into, "planning")) return;
  into.append(head("planning"));
  await drawPlanning(into, page.data.tabs.planning);
}

// A rehearsal and a plan: what does not fit and what would help, memory at the peak and over the run, what holds it, time.
async function drawPlanning(into, whole) {
  const answer = page.data.answers.find(one => one.tab === "planning"), culprit = page.data.cards.find(one => one.stage === "planning" && one.remedy);
  if (culprit) {
    const where = h("div", {class: "where"}), code = h("div", {});
    where.append(code);
    into.append(h("section", {class: `card first ${STATUS[culprit.status]}`}, h("div", {class: "what"}, culprit.place ? h("p", {}, place(culprit.place)) : null,
      culprit.detail ? h("p", {}, prose(once(culprit.detail))) : null, culprit.remedy ? h("p", {}, h("b", {}, w("what_to_do") + " "), prose(once(culprit.remedy))) : null), where));
    if (culprit.place) excerpt(code, culprit.place);
    if (culprit.command) where.append(command(culprit.command, w("then_repeat")));
  }
  const pictures = h("div", {class: "pictures"}), over = part("planning", "rehearsed_memory"), plan_ = part("planning", "strategy");
  const first = h("div", {class: "beside"}), second = h("div", {class: "beside"}), cures = part("planning", "cures"), rehearsed = part("planning", "rehearse");
  if (answer?.memory) first.append(card(w("memory_at_peak"), h("p", {class: "big"}, t(answer.title)), memoryBar(answer.memory)));
  await drawTimes(first, answer);
  if (over?.table) { const box = card(t(over.title)); second.append(box); pictures.append(first, second); into.append(pictures); await drawMemory(box, over, answer?.memory?.limit); }
  if (cures?.table) { const box = card(t(cures.title)); second.append(box); await fill(box, cures); }
  for (const one of [rehearsed, plan_].filter(Boolean)) {
    const told = new Set([one.verdict, culprit?.cause, culprit?.detail].filter(Boolean).map(t)), list = findingList({findings: one.findings.filter(each => !told.has(t(each.text)))});
    if (list) into.append(card(null, list));
  }
  const ranks = rehearsed?.table?.count > 1 && {...rehearsed, title: w("by_rank"), parts: []};
  for (const one of [part("planning", "holders"), ranks, plan_ && {...plan_, parts: []}, part("planning", "strategy_bytes")]) {
    if (!one?.table) continue;
    const box = card(t(one.title), one.id === "strategy" ? h("p", {}, prose(once(one.verdict))) : null);
    into.append(box);
    await fill(box, {...one, findings: []});
  }
  sections(into, whole, ["rehearse", "strategy", "strategy_bytes", "holders", "rehearsed_memory", "cures", "estimated_kernels", answer?.memory && "memory_kinds"]);
}

async function drawMemory(box, report, limit) {
  const table = await unpackTable(report.table), x = columnOf(table, "allocation"), reserved = columnOf(table, "kind_reserved");
  const parts = table.columns.filter(column => column.name.startsWith("kind_") && column !== reserved && column.values?.some(value => value > 0))
    .map(column => ({name: t(column.title), values: column.values, hue: KIND_HUES[column.name.slice(5)] ?? "s5"}));
  const above = [{name: w("reserved"), values: reserved.values, hue: "ink", width: 1.5}];
  if (limit && limit < 4 * Math.max(...reserved.values)) above.push({name: w("card_limit"), values: x.values.map(() => limit), hue: "fix", dash: [4, 4], width: 1.5});
  areas(box, x.values, parts, above, {unit: "GiB", label: t(report.title)});
  box.append(h("p", {class: "small"}, `GiB ↑ ${t(x.title)} →`));
}

async function drawTimes(into, answer) {
  const kernels = part("planning", "estimated_kernels"), box = card(w("step_range"));
  if (answer?.step && kernels) box.append(h("p", {class: "big"}, `${number(answer.step[0], 2)} – ${number(answer.step[1], 2)} s`));
  if (!kernels?.table) return;
  const table = await unpackTable(kernels.table), name = columnOf(table, "kernel_type"), low = columnOf(table, "time_low"), high = columnOf(table, "time_high");
  const rows = Array.from({length: table.count}, (_, row) => [String(cell(name, row)), low.values[row], high.values[row]]).sort((one, other) => other[2] - one[2]);
  box.append(ranges(rows.slice(0, 10), "ms", w("step_range")) ?? "");
  const holder = h("details", {}, h("summary", {}, w("rows", {count: table.count})));
  holder.addEventListener("toggle", () => { if (!holder.dataset.drawn) { holder.dataset.drawn = "1"; drawTable(holder, kernels.table, {label: t(kernels.title)}); } });
  box.append(holder);
  into.append(box);
}

async function savings(report) {
  const table = await unpackTable(report.table), change = columnOf(table, "tuning_change"), bound = columnOf(table, "tuning_bound"), seen = columnOf(table, "tuning_seen"), act = columnOf(table, "tuning_do"), source = columnOf(table, "tuning_source");
  const rows = Array.from({length: Math.min(6, table.count)}, (_, row) => h("li", {}, h("b", {}, String(cell(change, row))), h("span", {class: "n"}, w("at_most", {gain: number(bound.values[row], 3)})),
    h("p", {class: "small"}, prose(String(cell(seen, row)))), h("p", {}, "→ ", prose(String(cell(act, row))), " ", source && String(cell(source, row)).startsWith("https") ? link(String(cell(source, row)), w("basis")) : null)));
  return card(t(report.title), h("ul", {class: "savings"}, rows), findingList(report));
}

async function drawTimeline(into, report) {
  const box = card(t(report.title), h("p", {class: "small"}, prose(once(report.verdict)))), root = h("div", {class: "timeline"});
  box.append(root);
  into.append(box);
  const data = await unpack(report.facts.timeline);
  if (!data?.sides) { root.append(h("p", {class: "small"}, w("timeline_older"))); return; }
  mountTimeline(root, data.sides.map((side, at) => new LocalSource(side, at)), timelineWords(), isDark, data.window);
}

function timelineWords() {
  const words = {groups: {}, kinds: {}, familys: {}};
  for (const [key, text] of Object.entries(page.data.words)) {
    const [first, name, inner] = key.split(".");
    if (first === "timeline") { if (inner) words[name + "s"][inner] = t(text); else words[name] = t(text); }
  }
  return words;
}

// A page of a timeline alone: its sides are in it, or with the command that serves it.
async function timeline(into) {
  const {sides, remote} = page.data, root = h("div", {class: "timeline"});
  into.append(h("h1", {}, t(page.data.name)), page.data.simulated ? tag(w("simulated_tag")) : "", h("section", {class: "card"}, sides.map((side, at) => h("p", {class: "small"}, side.label ? h("b", {}, side.label + " ") : null, h("code", {}, side.source ?? ""))), root));
  const sources = await Promise.all(sides.map(async (side, at) => remote ? new RemoteSource(side, at) : new LocalSource(await unpack(side), at)));
  if (remote && !page.asking) page.asking = setInterval(() => fetch("alive", {cache: "no-store"}).catch(() => {}), 30000);
  mountTimeline(root, sources, timelineWords(), isDark);
}

function run(into) {
  const {stages, versions, parameters, files} = page.data.run;
  into.append(h("h1", {}, w("tab.run")));
  const note = stages.find(one => one.note)?.note;
  into.append(card(w("repeat"), note ? h("p", {class: "small"}, prose(t(note))) : null, h("ul", {class: "stages"}, stages.map(one => h("li", {}, h("div", {class: "bar"}, chip(one.status), h("a", {href: "#" + one.tab}, t(one.stage)),
    one.seconds !== null && one.seconds !== undefined ? h("span", {class: "small"}, number(one.seconds) + " s") : null, one.tier ? tag(one.tier) : null, one.reused ? tag(w("reused")) : null), command(one.command))))));
  const pair = h("div", {class: "pictures"});
  into.append(pair);
  const listed = pairs => h("dl", {class: "facts"}, pairs.map(([name, value]) => [h("dt", {}, name), h("dd", {}, String(value))]));
  if (Object.keys(versions).length) pair.append(card(w("versions"), listed(Object.entries(versions))));
  if (Object.keys(parameters).length) pair.append(card(w("parameters"), listed(Object.entries(parameters))));
  if (t(page.data.circumstances)) pair.append(card(w("circumstances"), h("ul", {class: "tight"}, t(page.data.circumstances).split("\n").map(line => h("li", {}, prose(line))))));
  pair.append(card(w("files_of_run"), h("ul", {class: "tight"}, files.map(name => h("li", {}, h("a", {href: name.split("/").map(encodeURIComponent).join("/")}, name))))));
  for (const one of page.data.beside) sections(into, one, [], true);
}

async function report(into, target) {
  const one = Object.values(page.data.tabs)[0];
  into.append(h("div", {class: "head"}, h("h1", {}, t(one.title), " ", chip(one.status)), page.data.simulated ? tag(w("simulated_tag")) : null, page.data.tab === "planning" ? tag(w("estimated")) : null, h("p", {class: "verdict"}, prose(once(one.verdict)))));
  if (t(page.data.circumstances)) into.append(h("ul", {class: "tight small"}, t(page.data.circumstances).split("\n").map(line => h("li", {}, prose(line)))));
  if (page.data.tab === "planning") await drawPlanning(into, one);
  if (page.data.code.length) await drawCode(into, target);
  if (page.data.tab === "planning") return;
  const compared = page.data.tab === "prec" ? part("prec", "divergence", "compare") : null;
  if (compared?.table) {
    await drawComparison(into, compared);
    if (one === compared) return sections(into, one, [one.id]);
    const own = await section({...one, parts: []}, true);
    if (own) into.append(own);
    return sections(into, one, [compared.id]);
  }
  const timed = one.id === "timeline" ? one : null;
  if (timed?.facts?.timeline) await drawTimeline(into, timed);
  const own = await section({...one, parts: []}, true);
  if (own && !timed) into.append(own);
  sections(into, one, []);
}

// A section for every report of a tab, but those that the tab has shown.
function sections(into, whole, shown, self = false) {
  const list = self ? [whole] : whole.parts;
  if (!self) { const left = shown.includes(whole.id) ? null : findingList({...whole, parts: []}); if (left) into.append(card(null, left)); }
  for (const one of list) {
    const holder = h("div", {});
    into.append(holder);
    if (!shown.includes(one.id)) section(one).then(made => holder.replaceWith(made)); else if (one.parts.length) sections(holder, one, shown);
  }
}

// A report folded to its verdict, unless it has something to look at; `bare`: without a heading, open.
async function section(one, bare = false) {
  if (bare) {
    const box = h("section", {class: "card"});
    await fill(box, one);
    return box.children.length ? box : null;
  }
  const said = once(one.verdict);
  const [, begin, links] = /^(.*?)[;；]([^;；]*https:.*)$/s.exec(said) ?? [null, said, ""];  // no link is pressed in what folds
  const box = h("details", {class: "card"}, h("summary", {}, h("h2", {}, t(one.title)), " ", chip(one.status), " ", h("span", {}, prose(begin))));
  const open = async () => { if (box.open && !box.dataset.drawn) { box.dataset.drawn = "1"; if (links) box.append(h("p", {}, prose(links.trim()))); await fill(box, one); } };
  box.addEventListener("toggle", open);
  box.open = one.status >= 2;
  return box;
}

async function fill(box, one) {
  if (one.chart && one.table) await drawChart(box, one);
  if (one.facts?.flame) flame(box, one.facts.flame);
  const table = await unpackTable(one.table);
  const cells = (table?.columns ?? []).flatMap(column => column.words ?? []).filter(word => !word?.note);
  const list = asTold([...cells, ...(table?.notes ?? [])], () => findingList(one, new Set([...cells, ...(table?.notes ?? []), one.verdict].map(t))));
  if (list) box.append(list);
  if (one.listing) box.append(h("details", {}, h("summary", {}, t(one.listing.title)), listing(one.listing)));
  if (one.table) {
    const many = (one.table.count ?? 0) > 12;
    const holder = many && one.chart ? h("details", {}, h("summary", {}, w("rows", {count: one.table.count}))) : h("div", {});
    box.append(holder);
    const open = () => { if (!holder.dataset.drawn) { holder.dataset.drawn = "1"; drawTable(holder, one.table, {at: one.facts?.row ?? null, label: t(one.title)}); } };
    if (holder.tagName === "DETAILS") holder.addEventListener("toggle", open); else open();
  }
  for (const inner of one.parts) box.append(await section(inner));
}

// What a report has to say beside its table; `known`: what that and the verdict say already.
function findingList(report, known = new Set()) {
  const rows = report.findings.filter(one => !known.has(t(one.text)) || (t(one.hint) && !known.has(t(one.hint))))
    .map(one => ({...one, text: once(one.text), hint: once(one.hint)})).filter(one => one.text || one.hint);
  if (!rows.length) return null;
  return h("ul", {class: "told"}, rows.map(one => h("li", {}, t(one.text) ? [chip(one.status), " ", h("span", {class: "small"}, one.rule), " ", one.place ? [place(one.place), " "] : null, prose(t(one.text))] : null,
    one.topics ? h("details", {}, h("summary", {}, w("which")), one.topics.map(t).join(page.lang ? "、" : ", ")) : null,
    one.find && document.querySelector(".timeline") ? h("p", {class: "small"}, h("a", {href: `#${asTab()}?find=${encodeURIComponent(one.find)}&next=1`}, w("to_timeline"))) : null,
    t(one.hint) ? h("p", {}, "→ ", prose(t(one.hint))) : null)));
}

const asTab = () => document.documentElement.querySelector('[role="tab"][aria-selected="true"]')?.id.slice(4) ?? "report";

function listing({text, language}) {
  const kinds = language === "diff" ? {"+": "add", "-": "del"} : {};
  return h("pre", {tabindex: "0"}, text.split("\n").map(line => [h("span", {class: kinds[line[0]] ?? null}, line), "\n"]));
}

// Frames of (name, depth, start, share): roots on top, as wide as their time.
function flame(into, frames) {
  const deepest = Math.min(40, Math.max(...frames.map(one => one[1])));
  into.append(h("div", {class: "flame", role: "img", "aria-label": w("flame"), style: `height:${(deepest + 1) * 20}px`}, frames.filter(one => one[1] <= deepest && one[3] > 0.001).map(([name, depth, start, share]) =>
    h("span", {title: `${name} ${number(100 * share, 3)} %`, style: `left:${100 * start}%;width:${100 * share}%;top:${depth * 20}px;--turn:${[...name].reduce((sum, letter) => sum + letter.charCodeAt(0), 0) % 5}`}, share > 0.03 ? name : ""))));
}

async function plan(into) {
  const {counts, rows, causes, stages} = page.data.plan;
  into.append(h("div", {class: "head"}, h("h1", {}, t(page.data.name), " ", chip(page.data.status)), page.data.simulated ? tag(w("simulated_tag")) : null, h("p", {class: "verdict"}, prose(t(page.data.verdict)))));
  into.append(h("p", {class: "counts"}, counts.map(([count, text]) => h("span", {}, h("b", {}, String(count)), " ", t(text)))));
  if (t(page.data.plan.note)) into.append(h("p", {class: "small"}, t(page.data.plan.note)));
  if (page.data.findings?.length) into.append(card(null, findingList({findings: page.data.findings})));
  if (causes.length) into.append(card(w("causes"), h("ul", {class: "told"}, causes.map(one => h("li", {}, chip(3), " ", one.count > 1 ? h("b", {}, w("runs_count", {count: one.count}) + " ") : null, prose(t(one.cause)),
    t(one.fix) ? h("p", {}, "→ ", prose(t(one.fix))) : null, h("p", {}, one.runs.slice(0, 12).map(run => [run.href ? h("a", {href: run.href}, run.name) : run.name, " "]), one.count > 12 ? w("more", {count: one.count - 12}) : null, one.files.map(file => [" · ", h("a", {href: file.href}, t(file.word))])))))));
  if (page.data.plan.more_causes) into.append(h("p", {class: "small"}, w("more", {count: page.data.plan.more_causes})));
  if (page.data.acceptance) sections(into, page.data.acceptance, [], true);
  into.append(h("div", {class: "runs"}, rows.slice(0, 60).map(runCard)));
  const holder = card(w("all_runs", {count: page.data.plan.table.count}));
  into.append(holder);
  await drawTable(holder, page.data.plan.table, {label: w("all_runs", {count: page.data.plan.table.count}), all: page.data.plan.table.count > 16});
  if (page.data.plan.trends) await drawTrends(into, page.data.plan.trends);

  function runCard(row) {
    return h(row.href ? "a" : "div", {href: row.href, class: `card answer${row.simulated ? " simulated" : ""}`}, h("span", {class: "top"}, h("strong", {}, row.name), chip(row.status)),
      h("span", {class: "dots"}, stages.map((stage, at) => h("span", {class: "dotstage"}, chip(row.stages[at] ?? null, true), " ", h("small", {}, t(stage))))), h("span", {class: "small"}, t(row.verdict)));
  }
}

async function drawTrends(into, trends) {
  const box = card(w("trends"));
  into.append(box);
  const table = await unpackTable(trends), x = Array.from({length: table.count}, (_, at) => at + 1);
  const series = table.columns.filter(column => column.kind === "number").map((column, at) => ({name: t(column.title), values: column.values, hue: ["good", "fix", "s1", "s2"][at]}));
  curve(box, x, series, {label: w("trends")});
  await drawTable(box, trends, {label: w("trends")});
}
