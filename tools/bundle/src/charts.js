// Pictures: curves (uPlot), bars and stacks, the barcode of all comparisons, the graph about one of them (dagre).

import uPlot from "../vendor/uplot.js";
import dagre from "../vendor/dagre.js";
import {colour, h, number, t, w, STATUS} from "./dom.js";
import {cell, columnOf, shown, unpackTable} from "./table.js";

const SERIES = ["s1", "s2", "s3", "s4", "s5"];
const BARS = 25, HOPS = 3, NODES = 24;

// Draws the chart of a report into an element; resolves to false where there is nothing to draw.
export async function drawChart(into, report) {
  const chart = report.chart, table = await unpackTable(report.table);
  if (!chart || !table) return false;
  const draw = {bars, stack, stacks, lines, strip, heat, errors}[chart.kind];
  return draw ? draw(into, chart, table, report) !== false : false;
}

function bars(into, chart, table) {
  const labels = columnOf(table, chart.x), columns = chart.y.map(name => columnOf(table, name));
  const most = Math.max(...columns.flatMap(column => column.values.slice(0, BARS)).filter(value => typeof value === "number"), 0);
  if (!(most > 0)) return false;
  const least = Math.min(...columns.flatMap(column => column.values.slice(0, BARS)).filter(value => value > 0));
  const share = value => !(value > 0) ? 0 : chart.log ? (Math.log(value / least) + 1) / (Math.log(most / least) + 1) : value / most;
  const rows = Array.from({length: Math.min(BARS, table.count)}, (_, row) => columns.map((column, number_) =>
    h("tr", {}, number_ ? h("td", {}) : h("th", {scope: "row", title: String(shown(labels, row))}, cut(String(shown(labels, row)), 42)),
      h("td", {class: "track"}, h("span", {class: "filled", style: `width:${(100 * share(column.values[row])).toFixed(2)}%;background:var(--${SERIES[number_]})`})),
      h("td", {class: "n"}, shown(column, row)))));
  into.append(h("table", {class: "bars"}, h("caption", {class: "hidden"}, columns.map(column => t(column.title)).join(", ")), h("tbody", {}, rows)));
  if (columns.length > 1) into.append(legend(columns.map((column, number_) => [t(column.title), SERIES[number_]])));
  return true;
}

export function legend(pairs) {
  return h("p", {class: "legend"}, pairs.map(([name, hue]) => h("span", {}, h("i", {style: `background:var(--${hue})`}), name)));
}

// One bar of shares: [[name, value, colour], ...].
export function shareBar(parts, unit = "", label = "") {
  const whole = parts.reduce((sum, part) => sum + Math.max(0, part[1]), 0);
  const told = parts.map(([name, value]) => `${name} ${number(value, 3)}${unit && " " + unit}`);
  return h("div", {class: "shares"},
    h("div", {class: "sharebar", role: "img", "aria-label": `${label} ${told.join(", ")}`.trim()}, parts.map(([, value, hue]) =>
      value > 0 && whole > 0 ? h("span", {style: `flex:${value / whole} 1 0;background:var(--${hue})`}) : null)),
    h("p", {class: "legend"}, parts.map(([, , hue], at) => h("span", {}, h("i", {style: `background:var(--${hue})`}), told[at]))));
}

// What a card's memory goes to, against what the card has: kinds at the peak, what lies outside PyTorch as a range.
export const KIND_HUES = {weights: "s1", gradients: "s2", optimizer: "s3", communication: "s4", activations: "s6", temporary: "s7", fragmentation: "s8"};
export function memoryBar({parts, outside, limit}) {
  const used = parts.reduce((sum, part) => sum + part[2], 0), [low, high] = outside, whole = Math.max(limit, used + high);
  const range = `${number(low, 3)} – ${number(high, 3)} GiB`;
  const told = [...parts.map(([kind, name, size]) => [`${t(name)} ${number(size, 3)} GiB`, KIND_HUES[kind] ?? "s5"]), [`${w("outside")} ${range}`, "none"]];
  const piece = (size, hue, more = "") => size > 0 ? h("span", {class: more, style: `flex:0 0 ${(100 * size / whole).toFixed(3)}%;background-color:var(--${hue})`}) : null;
  return h("div", {class: "shares"},
    h("div", {class: "memory", role: "img", "aria-label": `${told.map(each => each[0]).join(", ")}; ${w("card_limit")} ${number(limit, 4)} GiB`},
      h("div", {class: "sharebar"}, parts.map(([kind, , size]) => piece(size, KIND_HUES[kind] ?? "s5")), piece(low, "none"), piece(high - low, "none", "maybe")),
      h("span", {class: "limit", style: `left:${(100 * limit / whole).toFixed(3)}%`})),
    legend([...told, [`${w("card_limit")} ${number(limit, 4)} GiB`, "ink"]]));
}

// Ranges as bars from the low end to the high one: [[name, low, high], ...].
export function ranges(rows, unit, label) {
  const most = Math.max(...rows.map(row => row[2]));
  if (!(most > 0)) return null;
  return h("table", {class: "bars"}, h("caption", {class: "hidden"}, label), h("tbody", {}, rows.map(([name, low, high]) => h("tr", {}, h("th", {scope: "row", title: name}, cut(name, 42)),
    h("td", {class: "track"}, h("span", {class: "filled", style: `margin-left:${(100 * low / most).toFixed(2)}%;width:${(100 * (high - low) / most).toFixed(2)}%;background:var(--s1)`})),
    h("td", {class: "n"}, `${number(low, 2)} – ${number(high, 2)} ${unit}`)))));
}

// Areas on one another over one x, and lines above them. `parts`, `above`: [{name, values, hue, dash}].
export function areas(into, x, parts, above, {unit = "", label = "", height = 190} = {}) {
  const sums = [];
  for (const part of parts) sums.push(part.values.map((value, at) => (value ?? 0) + (sums.length ? sums[sums.length - 1][at] : 0)));
  const shaded = parts.map((part, at) => ({...part, values: sums[at], own: part.values, fill: true})).reverse();
  return curve(into, x, [...shaded, ...above], {label, height, unit, points: false, zero: true});
}

function stack(into, chart, table) {
  const labels = columnOf(table, chart.x), column = columnOf(table, chart.y[0]);
  const parts = Array.from({length: table.count}, (_, row) => [String(shown(labels, row)), column.values[row]])
    .filter(([, value]) => value > 0).slice(0, 12).map(([name, value], at) => [name, value, SERIES[at % SERIES.length]]);
  if (!parts.length) return false;
  into.append(shareBar(parts, chart.unit));
  return true;
}

function stacks(into, chart, table) {
  const labels = columnOf(table, chart.x), columns = chart.y.map(name => columnOf(table, name)).filter(column => column.values.some(value => value > 0));
  const count = Math.min(table.count, 60), first = table.count - count;
  const sums = Array.from({length: count}, (_, row) => columns.reduce((sum, column) => sum + (column.values[first + row] || 0), 0));
  const most = Math.max(...sums, 0);
  if (!(most > 0)) return false;
  const told = Array.from({length: count}, (_, row) => `${shown(labels, first + row)}: ${number(sums[row], 3)}`).join(", ");
  into.append(h("div", {class: "stacks", role: "img", "aria-label": `${chart.unit} ${told}`}, Array.from({length: count}, (_, row) =>
    h("div", {class: "stackcol"}, h("div", {class: "stackbox"}, columns.map((column, at) => h("span", {
      title: `${t(column.title)} ${shown(column, first + row)}`,
      style: `height:${(100 * (column.values[first + row] || 0) / most).toFixed(2)}%;background:var(--${hueAt(column, at)})`}))),
      h("small", {}, String(shown(labels, first + row)))))),
    legend(columns.map((column, at) => [t(column.title), hueAt(column, at)])));
  return true;
}

// The kinds of a step's time have the same colours wherever they are drawn.
const KINDS = {strategy_weights: "s1", strategy_gradients: "s2", strategy_optimizer: "s3", strategy_activations: "s6", strategy_logits: "s4", strategy_gathered: "accent", strategy_working: "s7", strategy_outside: "none",
  profiling_computing: "s1", profiling_communication: "s3", profiling_copy: "s4", profiling_loading: "s2", profiling_free: "none"};
const hueAt = (column, at) => KINDS[column.name] ?? SERIES[at % SERIES.length];

function strip(into, chart, table) {
  const labels = columnOf(table, chart.x), column = columnOf(table, chart.y[0]);
  into.append(h("div", {class: "strip", role: "img", "aria-label": column.values.map(value => w("status." + STATUS[value ?? 1])).join(", ")},
    column.values.map((value, row) => h("span", {class: STATUS[value ?? 1], title: `${shown(labels, row)}: ${w("status." + STATUS[value ?? 1])}`}))));
  return true;
}

// A cell for each pair of two columns, the darker the more; of several rows of a pair the least counts.
function heat(into, chart, table) {
  const across = columnOf(table, chart.x), down = columnOf(table, chart.by), column = columnOf(table, chart.y[0]), least = new Map();
  for (let row = 0; row < table.count; row++) {
    const key = `${shown(down, row)}\n${shown(across, row)}`, value = column.values[row];
    if (typeof value === "number" && !(least.get(key)?.value <= value)) least.set(key, {value, text: shown(column, row)});
  }
  const most = Math.max(...[...least.values()].map(cell_ => cell_.value), 0);
  if (!(most > 0)) return false;
  const names = labels => [...new Set(Array.from({length: table.count}, (_, row) => String(shown(labels, row))))]
    .sort((a, b) => Number(a) - Number(b) || a.localeCompare(b));
  const columns = names(across);
  into.append(h("div", {class: "heat"}, h("table", {},
    h("caption", {class: "small"}, `${t(column.title)}: ${t(down.title)} ↓ ${t(across.title)} →`),
    h("thead", {}, h("tr", {}, h("td", {}), columns.map(name => h("th", {scope: "col"}, name)))),
    h("tbody", {}, names(down).map(row => h("tr", {}, h("th", {scope: "row"}, row), columns.map(name => {
      const found = least.get(`${row}\n${name}`);
      return found ? h("td", {class: "n", style: `--share:${(60 * found.value / most).toFixed(1)}%`}, found.text) : h("td", {class: "none"});
    })))))));
  return true;
}

// Curves over one x. `series`: [{name, values, hue, dash}]; `limit`: a number that is drawn across.
export function curve(into, x, series, {log = false, label = "", height = 170, mark = null, marks = [], unit = "", points = true, zero = false} = {}) {
  const box = h("div", {class: "curve", role: "img", "aria-label": label});
  into.append(box);
  const floor = log ? Math.min(...series.flatMap(one => one.values).filter(value => value > 0)) : null;
  const positive = value => value === null || value === undefined || typeof value !== "number" ? null : log && value <= 0 ? floor / 10 : value;
  const values = series.map(one => one.values.map(positive));
  if (log && !Number.isFinite(floor)) return false;
  const font = "12px " + getComputedStyle(document.body).fontFamily;
  // of a logarithmic axis only the powers of ten are drawn
  const powers = log ? {filter: (_, ticks) => ticks.map(tick => Math.abs(Math.log10(tick) - Math.round(Math.log10(tick))) < 1e-6 ? tick : null)} : {};
  const axis = {stroke: colour("soft"), grid: {stroke: colour("line"), width: 1}, ticks: {stroke: colour("line"), width: 1}, font};
  const plot = new uPlot({
    width: Math.max(200, box.clientWidth || 480), height, legend: {show: false}, cursor: {y: false, points: {size: 7}},
    scales: {x: {time: false}, y: log ? {distr: 3, log: 10} : zero ? {range: (_, least, most) => [0, 1.05 * most || 1]} : {}},
    axes: [{...axis, size: 34, values: (_, ticks) => ticks.map(tick => Number.isInteger(tick) || ticks.every(one => !Number.isInteger(one)) ? number(tick) : "")},
      {...axis, size: 66, ...powers, grid: {...axis.grid, ...powers}, values: (_, ticks) => ticks.map(tick => tick === null || tick === undefined ? "" : number(tick, 3))}],
    series: [{}, ...series.map((one, at) => ({label: one.name, stroke: colour(one.hue ?? SERIES[at]), width: one.fill ? 0 : one.width ?? 2, dash: one.dash,
      fill: one.fill ? colour(one.hue) : undefined, points: {show: points && x.length <= 60, size: 6}}))],
    hooks: {draw: [now => {
      for (const place of [mark, ...marks]) {
        if (typeof place !== "number") continue;
        const at = Math.round(now.valToPos(place, "x", true));
        now.ctx.save();
        now.ctx.strokeStyle = colour(place === mark ? "fix" : "look");
        now.ctx.beginPath();
        now.ctx.moveTo(at, now.bbox.top);
        now.ctx.lineTo(at, now.bbox.top + now.bbox.height);
        now.ctx.stroke();
        now.ctx.restore();
      }
    }], setCursor: [now => {
      const at = now.cursor.idx;
      readout.textContent = at === null || at === undefined ? "" : `${number(x[at])}: ` + series.map(one => `${one.name} ${number((one.own ?? one.values)[at])}${unit && " " + unit}`).join(", ");
    }]},
  }, [x, ...values], box);
  const readout = h("p", {class: "small readout", "aria-hidden": "true"});
  into.append(legend(series.map((one, at) => [one.name, one.hue ?? SERIES[at]])), readout);
  new ResizeObserver(() => { if (box.clientWidth && Math.abs(box.clientWidth - plot.width) > 1) plot.setSize({width: box.clientWidth, height}); }).observe(box);
  return true;
}

function lines(into, chart, table) {
  const x = columnOf(table, chart.x), ys = chart.y.map(name => columnOf(table, name)), below = chart.below.map(name => columnOf(table, name));
  if (x.kind !== "number") return false;
  const named = columns => columns.filter(column => column?.kind === "number").map((column, at) => ({name: t(column.title), values: column.values, dash: at ? [6, 4] : undefined}));
  curve(into, x.values, named(ys), {log: chart.log, label: ys.map(column => t(column.title)).join(", "), mark: chart.mark, marks: chart.marks});
  if (named(below).length && below.some(column => column.kind === "number" && column.values.some(value => value > 0))) {
    curve(into, x.values, named(below), {log: true, label: below.map(column => t(column.title)).join(", "), mark: chart.mark});
  }
  return true;
}

// How far an error is from what is allowed: 0 none, 3 just allowed, 9 a million times that, -1 not compared.
export function heightOf(error, allowed) {
  if (typeof error !== "number" || typeof allowed !== "number") return typeof error === "string" ? 9 : -1;
  if (error === 0 || (allowed > 0 && error <= allowed * 1e-3)) return 0;
  if (!(allowed > 0)) return 9;
  return Math.max(0, Math.min(9, 3 + Math.ceil(Math.log10(error / allowed) - 1e-9)));
}

export const hueOf = height => height < 0 ? "none" : height <= 3 ? "good" : height <= 5 ? "look" : "fix";

// A few bars as a picture of all comparisons.
export function miniBars(heights, label) {
  return h("div", {class: "minibars", role: "img", "aria-label": label}, heights.map(height =>
    h("span", {style: `height:${height < 0 ? 6 : 10 + height * 10}%;background:var(--${hueOf(height)})`})));
}

function errors(into, chart, table, report) {
  return barcode(into, table, chart.y[0], chart.limit, report.facts?.row ?? null, null);
}

// All comparisons in their order: a bar each, its height the error against what is allowed, steps marked.
// `onpick` is told the row at the cursor when it is clicked or Enter is pressed.
export function barcode(into, table, name, limit, row, onpick) {
  const error = columnOf(table, name), allowed = columnOf(table, limit), operator = columnOf(table, "operator") ?? columnOf(table, "layer");
  const steps = columnOf(table, "step"), count = table.count;
  if (!error || !count) return false;
  const heights = Array.from({length: count}, (_, at) => heightOf(error.values[at], allowed?.values[at]));
  const say = at => `${at}: ${operator ? shown(operator, at) : ""} ${shown(error, at)} ${allowed ? "/ " + shown(allowed, at) : ""}`;
  const canvas = h("canvas", {class: "barcode", tabindex: "0", role: "slider", "aria-label": w("barcode"), "aria-valuemin": 0,
    "aria-valuemax": count - 1});
  const told = h("output", {class: "small readout"});
  into.append(canvas, told, h("p", {class: "legend"}, [["good", w("within")], ["look", w("over")], ["fix", w("far_over")], ["none", w("not_compared")]]
    .map(([hue, text]) => h("span", {}, h("i", {style: `background:var(--${hue})`}), text))));
  const tall = 72;
  let at = row ?? 0, wide = 0;
  const draw = () => {
    wide = canvas.clientWidth || 600;
    const scale = devicePixelRatio || 1, pen = canvas.getContext("2d");
    canvas.width = wide * scale;
    canvas.height = tall * scale;
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    const part = wide / count, hues = {good: colour("good"), look: colour("look"), fix: colour("fix"), none: colour("none")};
    const columns = Math.min(count, Math.ceil(wide));
    for (let column = 0; column < columns; column++) {
      let most = -1;
      for (let one = Math.floor(column * count / columns); one < Math.floor((column + 1) * count / columns); one++) most = Math.max(most, heights[one]);
      const up = most < 0 ? 4 : 6 + most * 5.2;
      pen.fillStyle = hues[hueOf(most)];
      pen.fillRect(column * wide / columns, tall - 12 - up, Math.max(1, wide / columns - (wide / columns > 3 ? 1 : 0)), up);
    }
    pen.fillStyle = colour("soft");
    pen.font = "10px sans-serif";
    let free = -1;
    for (let one = 0; steps && one < count; one++) {
      if (one && steps.values[one] === steps.values[one - 1]) continue;
      pen.fillRect(one * part, 0, 1, tall);
      if (one * part > free) { pen.fillText(w("step", {number: steps.values[one]}), one * part + 3, tall - 2); free = one * part + 46; }
    }
    pen.fillStyle = colour("ink");
    pen.beginPath();
    pen.moveTo((at + 0.5) * part - 5, 0);
    pen.lineTo((at + 0.5) * part + 5, 0);
    pen.lineTo((at + 0.5) * part, 8);
    pen.fill();
  };
  const move = to => {
    at = Math.max(0, Math.min(count - 1, to));
    canvas.setAttribute("aria-valuenow", at);
    canvas.setAttribute("aria-valuetext", say(at));
    told.textContent = say(at);
    draw();
  };
  const worse = by => {
    for (let one = at + by; one >= 0 && one < count; one += by) if (heights[one] > 3) return one;
    return at;
  };
  canvas.addEventListener("keydown", event => {
    const to = {ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: count - 1, PageUp: at - 20, PageDown: at + 20, n: worse(1), p: worse(-1)}[event.key];
    if (to !== undefined) { event.preventDefault(); move(to); }
    if (event.key === "Enter" && onpick) onpick(at);
  });
  const under = event => Math.floor(event.offsetX / wide * count);
  canvas.addEventListener("pointermove", event => { told.textContent = say(Math.max(0, Math.min(count - 1, under(event)))); });
  canvas.addEventListener("click", event => { move(under(event)); if (onpick) onpick(at); });
  new ResizeObserver(() => { if (Math.abs(canvas.clientWidth - wide) > 1) draw(); }).observe(canvas);
  requestAnimationFrame(() => move(at));
  return true;
}

// The operators about one row, as boxes with what flows between them.
export function graph(into, table, edges, row) {
  const error = columnOf(table, "error_out"), allowed = columnOf(table, "allowed"), operator = columnOf(table, "operator"), module = columnOf(table, "module");
  const near = new Set([row]);
  for (const way of [0, 1]) {  // some hops against the flow, and with it
    let last = [row];
    for (let hop = 0; hop < HOPS; hop++) {
      last = edges.filter(edge => last.includes(edge[1 - way])).map(edge => edge[way]).filter(one => !near.has(one));
      for (const one of last) if (near.size < NODES) near.add(one);
    }
  }
  const inside = edges.filter(([from, to]) => near.has(from) && near.has(to));
  if (!inside.length) return false;
  const made = new dagre.graphlib.Graph();
  made.setGraph({nodesep: 18, ranksep: 26, marginx: 8, marginy: 8});
  made.setDefaultEdgeLabel(() => ({}));
  const wide = 196, tall = 42;
  for (const one of near) made.setNode(one, {width: wide, height: tall});
  for (const [from, to] of inside) made.setEdge(from, to);
  dagre.layout(made);
  const size = made.graph();
  const svg = h("svg", {viewBox: `0 0 ${Math.ceil(size.width)} ${Math.ceil(size.height)}`, width: Math.ceil(size.width), height: Math.ceil(size.height), role: "img",
    "aria-label": w("graph_about", {operator: shown(operator, row)})});
  for (const {v, w: to} of made.edges()) {
    const points = made.edge(v, to).points.map(point => `${point.x.toFixed(1)},${point.y.toFixed(1)}`).join(" ");
    svg.append(h("polyline", {points, class: "edge"}));
  }
  for (const one of near) {
    const {x, y} = made.node(one), hue = hueOf(heightOf(error.values[one], allowed.values[one]));
    const name = String(shown(operator, one)).replace(/^(Functional|Tensor|Torch|NPU)\./, "").replace(/\.(forward|backward)$/, (_, way) => way === "forward" ? "" : " ←");
    const under = module && cell(module, one) !== "-" && cell(module, one) ? String(cell(module, one)) : `${shown(error, one)} / ${shown(allowed, one)}`;
    svg.append(h("g", {class: `node ${hue}${one === row ? " chosen" : ""}`},
      h("title", {}, `${shown(operator, one)}: ${shown(error, one)} / ${shown(allowed, one)}`),
      h("rect", {x: x - wide / 2, y: y - tall / 2, width: wide, height: tall, rx: 6}),
      h("text", {x: x - wide / 2 + 8, y: y - 4}, cut(name, 30)), h("text", {x: x - wide / 2 + 8, y: y + 12, class: "under"}, cut(under, 32))));
  }
  into.append(h("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": w("graph")}, svg));
  return true;
}

function cut(text, most) {
  return text.length > most ? text.slice(0, most - 1) + "…" : text;
}

const TREE = {good: "tree.good", look: "tree.look", fix: "tree.fix", none: "tree.none"};

// A module's worst error against what is allowed; infinity and NaN are kept as words.
function ratioOf(module) {
  const ratio = module?.worst_ratio ?? -1;
  return typeof ratio === "number" ? ratio : Infinity;
}

// Modules as a tree; each shows its worst error against what is allowed, in colour and in words.
export function moduleTree(modules, first, onpick) {
  const root = {children: new Map()};
  for (const one of modules) {
    let at = root;
    const names = one.name ? one.name.split(".") : [];
    for (const name of names) {
      if (!at.children.has(name)) at.children.set(name, {name, children: new Map()});
      at = at.children.get(name);
    }
    at.module = one;
  }
  const worst = node => Math.max(ratioOf(node.module), ...[...node.children.values()].map(worst));
  const holds = node => node.module === first || [...node.children.values()].some(holds);
  const line = node => {
    const times = worst(node), hue = hueOf(times < 0 ? -1 : heightOf(times, 1));
    return [h("i", {class: "dot", style: `background:var(--${hue})`}), h("span", {class: "name"}, node.name), h("span", {class: "small"}, node.module?.class ?? ""),
      h("span", {class: "n small"}, w(TREE[hue]), times < 0 ? "" : ` ${Number.isFinite(times) ? number(times, 2) : "∞"}×`)];
  };
  const draw = node => {
    const inner = [...node.children.values()];
    const pick = node.module && onpick && h("button", {type: "button", class: "plain", "aria-label": `${w("show_in_table")}: ${node.module.name}`, onclick: () => onpick(node.module.first_row)}, "→");
    if (!inner.length) return h("li", {class: node.module === first ? "mark" : null}, h("div", {class: "leaf"}, line(node), pick));
    return h("li", {}, h("details", {open: holds(node)}, h("summary", {}, line(node)), h("ul", {}, node.module && pick ? h("li", {}, h("div", {class: "leaf small"}, w("itself"), pick)) : null, inner.map(draw))));
  };
  return h("ul", {class: "tree"}, [...root.children.values()].map(draw));
}
