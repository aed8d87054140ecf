// The timeline of one or two profiles: lanes on a canvas, searched, zoomed and summed up by mouse and by keys. Boxes come
// in tiles from a source (timeline_source.js); texts of the profile reach the page through fillText and textContent alone.

import {BINS} from "./timeline_source.js";

const GUTTER = 214, ROW = 17, GAP = 7, TOP = 28, LEAST_NS = 20, FOLDED = 8, HEAD = 20, CURVE = 34, TALLEST = 620, KEPT = 1.2e6, SEVERAL = -1;
const HUES = {compute: 212, communication: 28, copy: 145, communication_task: 48, device_other: 265, host_op: 190,
  runtime: 330, python: 90, loading: 5, annotation: 300, step: 230};
const FAMILY_HUES = {collective: 28, copy: 145, optimizer: 300, attention: 340, conv: 250, gemm: 212, softmax: 320, norm: 95, random: 60, index: 170, pooling: 270, layout: 50, reduction: 130, elementwise: 190, other: 0};
const FONT = "11px system-ui, 'PingFang SC', 'Microsoft YaHei', 'Noto Sans CJK SC', sans-serif";

// A time in its unit; `near` is what it is to be told apart from.
function time(ns, near = 0) {
  const size = Math.abs(ns);
  const [by, unit] = size >= 1e9 ? [1e9, "s"] : size >= 1e6 ? [1e6, "ms"] : size >= 1e3 ? [1e3, "us"] : [1, "ns"];
  return (ns / by).toFixed(by === 1 ? 0 : near ? Math.min(9, Math.max(0, Math.ceil(Math.log10(by / near)))) : 3) + " " + unit;
}

function make(tag, into, set = {}) {
  const one = document.createElement(tag);
  for (const [name, value] of Object.entries(set)) {
    if (name === "text") one.textContent = value; else one.setAttribute(name, value);
  }
  if (into) into.append(one);
  return one;
}

// Draws the timeline of the sources' sides into the element; `isDark` tells whether the page is dark now, `start` is the
// window that is seen first.
export function mountTimeline(root, sources, words, isDark, start = null) {
  const two = sources.length > 1, offsets = sources.map(() => 0);
  const extent = () => sources.map((source, at) => [offsets[at], offsets[at] + Math.max(1, source.length_ns)]);
  let whole = [0, 1];
  const measure = () => { whole = [Math.min(...extent().map(one => one[0])), Math.max(...extent().map(one => one[1]))]; };
  measure();
  const first = start ?? whole, view = {from: first[0], to: first[1]};
  const state = {find: "", finds: [], hit: 0, hover: null, chosen: null, focus: null, scroll: 0, families: two, strip: null, curves: new Map()};
  const curveNames = {queue: words.queue, allocated: words.allocated, reserved: words.reserved};
  const tiles = new Map(), folded = sources.map(source => source.lanes.map(lane => lane[1] === "python" && lane[4] > FOLDED));
  const times = [];  // milliseconds that redraws took, for who measures

  const bar = make("div", root, {class: "bar"});
  const find = make("input", bar, {type: "search", placeholder: words.find, "aria-label": words.find});
  const next = make("button", bar, {type: "button", text: words.next});
  const hits = make("output", bar, {class: "hits"});
  const buttons = [["+", words.zoom_in], ["−", words.zoom_out], [words.whole, words.whole]].map(
    ([text, label]) => make("button", bar, {type: "button", text, "aria-label": label, title: label}));
  const stepChoice = selector(words.to_step, stepNumbers().map(number => [number, number]), word => goStep(Number(word)));
  const alignChoice = two ? selector(words.align, [["begin", words.align_begin], ["step", words.align_step]], align) : null;
  const check = (text, on, act) => {
    const label = make("label", bar), box = make("input", label, {type: "checkbox"});
    box.checked = on;
    label.append(" " + text);
    box.addEventListener("change", () => act(box.checked));
    return box;
  };
  const mode = check(words.mode, false, () => {});
  check(words.by_family, state.families, on => { state.families = on; legend_(); draw(); });
  const shown = make("output", bar, {class: "shown", "aria-live": "polite"});
  const stage = make("div", root, {class: "stage"}), spacer = make("div", stage, {class: "spacer"});
  const canvas = make("canvas", spacer, {tabindex: "0", role: "application", "aria-label": words.help});
  const tip = make("div", root, {class: "tip", hidden: ""});
  const legend = make("p", root, {class: "legend"});
  const found = make("div", root, {class: "found"});
  const selected = make("div", root, {class: "selected", "aria-live": "polite", tabindex: "0", role: "region", "aria-label": words.selection});
  make("p", root, {class: "note", text: words.overview});
  const strip = make("canvas", root, {class: "strip", role: "img", "aria-label": words.overview});
  const modulesBox = make("details", root, {class: "modules"});
  make("summary", modulesBox, {text: words.modules});
  make("p", root, {class: "note", text: words.help});
  let width = 900, height = 100, total = 100, items = [], colours = new Map(), stripRows = [], waiting = false, running = 0;

  function selector(label, options, act) {
    if (!options.length) return null;
    const holder = make("label", bar, {class: "small"});
    holder.append(label + " ");
    const made = make("select", holder);
    made.append(make("option", null, {value: "", text: "–"}));
    for (const [value, text] of options.slice(0, 3000)) make("option", made, {value: String(value), text: String(text)});
    made.addEventListener("change", () => { if (made.value !== "") act(made.value); });
    return made;
  }

  function stepNumbers() { return [...new Set(sources.flatMap(source => source.steps.map(step => step[1])))].sort((a, b) => a - b); }

  // ---- what stands where

  function layout() {
    items = [];
    let at = TOP;
    sources.forEach((source, side) => {
      let rank = null;
      const several = new Set(source.lanes.map(lane => lane[0])).size > 1;
      const head = text => { items.push({type: "head", side, top: at, height: HEAD, text}); at += HEAD + 2; };
      if (two && !several) head(source.label + "  " + (source.source ?? "").split("/").pop());
      source.lanes.forEach((lane, number) => {
        if (several && lane[0] !== rank) { rank = lane[0]; head((two ? source.label + " · " : "") + words.rank + " " + rank); }
        const rows = folded[side][number] ? 1 : lane[4];
        items.push({type: "lane", side, number, lane, top: at, height: rows * ROW, rows});
        at += rows * ROW + GAP;
      });
      source.curves.forEach((curve, number) => { items.push({type: "curve", side, number, curve, top: at, height: CURVE}); at += CURVE + GAP; });
    });
    total = at + 4;
    width = Math.max(420, stage.clientWidth || 900);
    height = Math.min(total, TALLEST);
    stage.style.height = height + "px";
    spacer.style.height = total + "px";
    fit(canvas, height);
    stripRows = sources.flatMap((source, side) => source.busy.map(row => [side, ...row]));
    fit(strip, 22 + stripHeight() * stripRows.length);
    draw();
  }

  const stripHeight = () => stripRows.length > 24 ? 6 : 13;

  function fit(one, tall) {
    const scale = Math.min(window.devicePixelRatio || 1, 2);
    one.width = width * scale;
    one.height = tall * scale;
    one.style.width = width + "px";
    one.style.height = tall + "px";
    one.getContext("2d").setTransform(scale, 0, 0, scale, 0, 0);
  }

  const theme = () => isDark()
    ? {ink: "#e6edf3", soft: "#9aa4af", line: "#ffffff22", paper: "#0d1117", mark: "#ff7b72", band: "#ffffff14"}
    : {ink: "#1f2328", soft: "#59636e", line: "#00000018", paper: "#ffffff", mark: "#cf222e", band: "#0000000d"};

  const x = ns => GUTTER + (ns - view.from) / (view.to - view.from) * (width - GUTTER);
  const ns = px => view.from + (px - GUTTER) / (width - GUTTER) * (view.to - view.from);
  const visible = item => item.top + item.height > state.scroll + TOP - 6 && item.top < state.scroll + height;
  const topOf = (side, row) => {
    for (const item of items) {
      if (item.type !== "lane" || item.side !== side || row < item.lane[3] || row >= item.lane[3] + item.lane[4]) continue;
      return item.rows === 1 && row > item.lane[3] ? null : item.top + (row - item.lane[3]) * ROW - state.scroll;
    }
    return null;
  };

  function colour(source, kind, family, name) {
    const key = state.families ? 1e9 + family : kind * 1e6 + name % 1e6;
    if (!colours.has(key)) {
      const other = state.families && FAMILY_HUES[source.families[family]] === undefined;
      const hue = state.families ? FAMILY_HUES[source.families[family]] ?? 0 : (HUES[source.kinds[kind]] ?? 0) + (name * 37 % 23) - 11, turn = state.families ? 3 : name * 53 % 11;
      const full = other || source.families[family] === "other" && state.families ? 8 : isDark() ? 42 : 58;
      colours.set(key, isDark() ? `hsl(${hue} ${full}% ${34 + turn}%)` : `hsl(${hue} ${full}% ${70 + turn}%)`);
    }
    return colours.get(key);
  }

  // ---- tiles

  const scale = () => Math.max(0, Math.ceil(Math.log2((view.to - view.from) / (width - GUTTER))));

  // The tiles of one side that the window needs at a scale.
  function needed(side, z) {
    const span = BINS * 2 ** z, from = Math.max(0, view.from - offsets[side]), to = Math.min(sources[side].length_ns + 1, view.to - offsets[side]), list = [];
    for (let at = Math.floor(from / span); at * span < to && list.length < 5; at++) list.push(at);
    return list;
  }

  const key = (side, z, at) => `${side}/${z}/${at}`;

  function rowsOf(side) {
    const rows = [];
    for (const item of items) {
      if (item.type !== "lane" || item.side !== side || !visible(item)) continue;
      const from = Math.max(0, Math.floor((state.scroll + TOP - item.top) / ROW) - 1), to = Math.min(item.rows, Math.ceil((state.scroll + height - item.top) / ROW) + 1);
      for (let row = from; row < to; row++) rows.push(item.lane[3] + row);
    }
    return rows;
  }

  // The boxes of a row as they are known best: of the scale itself, else of a coarser one, else of finer ones.
  function* boxesOf(side, row, z, wanted) {
    const seen = new Set();
    for (const at of wanted) {
      let one = tiles.get(key(side, z, at));
      if (one?.rows.has(row)) { one.used = performance.now(); yield [one, ...one.rows.get(row)]; continue; }
      let done = false;
      for (let up = 1; up <= 14 && !done; up++) {
        const name = key(side, z + up, Math.floor(at / 2 ** up));
        one = tiles.get(name);
        if (!one?.rows.has(row)) continue;
        done = true;
        if (!seen.has(name)) yield [one, ...one.rows.get(row)];
        seen.add(name);
      }
      for (let down = 1; down <= 3 && !done; down++) {
        for (let part = 0; part < 2 ** down; part++) {
          one = tiles.get(key(side, z - down, at * 2 ** down + part));
          if (one?.rows.has(row)) { done = true; yield [one, ...one.rows.get(row)]; }
        }
      }
    }
  }

  // Fetches what the window lacks; what has come is drawn, and the next window asked for.
  async function pump() {
    if (running >= 2) return;
    const z = scale(), wants = [];
    sources.forEach((source, side) => {
      const rows = rowsOf(side);
      for (const at of needed(side, z)) {
        const one = tiles.get(key(side, z, at)), lacking = rows.filter(row => !one?.rows.has(row) && !one?.asked.has(row));
        if (lacking.length) wants.push([side, z, at, lacking]);
      }
    });
    if (!wants.length) { if (!running) extras(); return; }
    const [side, scale_, at, rows] = wants[0], name = key(side, scale_, at);
    const one = tiles.get(name) ?? {rows: new Map(), asked: new Set(), used: performance.now(), side};
    tiles.set(name, one);
    rows.forEach(row => one.asked.add(row));
    running++;
    if (wants.length > 1) pump();
    try {
      const made = await sources[side].tile(scale_, at, rows);
      for (const [row, [from, to]] of made.rows) one.rows.set(row, [from, to, made.boxes]);
      one.weight = (one.weight ?? 0) + made.boxes.row.length;
      evict(name);
    } catch (error) {
      rows.forEach(row => one.asked.delete(row));
      failed(error);
      return;
    } finally { running--; }
    soon();
  }

  function failed(error) {
    state.failed = true;
    shown.textContent = `${words.lost} (${error.message})`;
  }

  function evict(kept) {
    let weight = 0;
    for (const one of tiles.values()) weight += (one.weight ?? 0) + 200;
    for (const [name] of [...tiles].sort((a, b) => a[1].used - b[1].used)) {
      if (weight < KEPT) return;
      if (name === kept) continue;
      weight -= (tiles.get(name).weight ?? 0) + 200;
      tiles.delete(name);
    }
  }

  // Names, hits and curves of the window, when its boxes are there.
  async function extras() {
    const window_ = `${view.from}/${view.to}/${width}`;
    try {
      for (const source of sources) if (await source.learn()) soon();
      if (state.find && state.strip?.key !== window_ + state.find) {
        const own = {key: window_ + state.find, from: view.from, to: view.to, counts: null}, wanted = state.find;
        state.strip = own;
        const counts = await Promise.all(sources.map((source, side) => source.strip(wanted, view.from - offsets[side], view.to - offsets[side], 400)));
        own.counts = counts[0].map((count, at) => counts.reduce((sum, one) => sum + one[at], 0));
        soon();
      }
      for (const item of items) {
        if (item.type !== "curve" || !visible(item)) continue;
        const name = `${item.side}/${item.number}`, known = state.curves.get(name);
        if (known?.key === window_) continue;
        const own = {key: window_, from: view.from, to: view.to, values: known?.values, drawn: known};
        state.curves.set(name, {...known, key: window_});
        const values = await sources[item.side].curve(item.number, own.from - offsets[item.side], own.to - offsets[item.side], 500);
        state.curves.set(name, {key: window_, from: own.from, to: own.to, values});
        soon();
      }
    } catch (error) { failed(error); }
  }

  function soon() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  }

  // ---- drawing

  function draw() {
    const began = performance.now(), pen = canvas.getContext("2d"), look = theme();
    pen.fillStyle = look.paper;
    pen.fillRect(0, 0, width, height);
    pen.save();
    pen.beginPath();
    pen.rect(GUTTER, TOP - 4, width - GUTTER, height);
    pen.clip();
    lines(pen, look);
    for (const item of items) if (visible(item) && item.type === "lane") lane(pen, look, item);
    for (const item of items) if (visible(item) && item.type === "curve") curve(pen, look, item);
    arrows(pen, look);
    if (state.chosen) frame(pen, look, state.chosen);
    pen.restore();
    axis(pen, look);
    gutter(pen, look);
    drawStrip();
    told();
    times.push(performance.now() - began);
    if (times.length > 500) times.shift();
    pump();
  }

  function ticks() {
    const rough = (view.to - view.from) / Math.max(3, (width - GUTTER) / 120), power = 10 ** Math.floor(Math.log10(rough));
    const tick = [1, 2, 5, 10].map(one => one * power).find(one => one >= rough), list = [];
    for (let at = Math.ceil(view.from / tick) * tick; at <= view.to; at += tick) list.push(at);
    return Object.assign(list, {tick});
  }

  function lines(pen, look) {
    pen.strokeStyle = look.line;
    pen.beginPath();
    for (const at of ticks()) { pen.moveTo(x(at), TOP - 5); pen.lineTo(x(at), height); }
    pen.stroke();
  }

  function axis(pen, look) {
    pen.fillStyle = look.paper;
    pen.fillRect(0, 0, width, TOP - 5);
    pen.font = "11px system-ui, sans-serif";
    pen.textBaseline = "middle";
    pen.fillStyle = look.soft;
    const list = ticks();
    for (const at of list) {
      const text = time(at, list.tick);
      if (x(at) >= GUTTER && x(at) + pen.measureText(text).width < width - 2) pen.fillText(text, x(at) + 2, 9);
    }
    const {strip: hits_} = state;
    if (!state.find || !hits_?.counts) return;
    pen.fillStyle = look.mark;
    hits_.counts.forEach((count, at) => {
      const left = x(hits_.from + (hits_.to - hits_.from) * at / hits_.counts.length);
      if (count && left >= GUTTER - 2) pen.fillRect(left, TOP - 11, Math.max(2, (width - GUTTER) / hits_.counts.length * (hits_.to - hits_.from) / (view.to - view.from)), 5);
    });
  }

  function lane(pen, look, item) {
    const {side, lane: [, , , row0]} = item, source = sources[side], z = scale(), wanted = needed(side, z), offset = offsets[side];
    const finds = state.find ? state.finds[side]?.set : null;
    pen.textBaseline = "middle";
    pen.font = FONT;
    for (let row = 0; row < item.rows; row++) {
      const top = item.top + row * ROW - state.scroll;
      if (top + ROW < TOP - 6 || top > height) continue;
      for (const [one, from, to, boxes] of boxesOf(side, row0 + row, z, wanted)) {
        let last = -1e9, style = "";
        for (let at = from; at < to; at++) {
          const begin = boxes.begin[at] + offset, end = begin + boxes.length[at];
          if (end < view.from || begin > view.to) continue;
          const left = Math.max(GUTTER - 2, x(begin)), right = Math.min(width + 2, x(end));
          const wide = Math.max(1, right - left - (right - left > 3 ? 0.6 : 0)), hit = !finds || finds.has(boxes.name[at]);
          if (left + wide <= last && !(finds && hit)) continue;
          last = left + wide;
          if (finds) pen.globalAlpha = hit ? 1 : 0.18;
          const own = colour(source, boxes.kind[at], boxes.family[at], Math.max(0, boxes.name[at]));
          if (own !== style) pen.fillStyle = style = own;
          pen.fillRect(left, top, wide, ROW - 2);
          if (boxes.place[at] === SEVERAL && wide > 3) { hatch(pen, look, left, top, wide); style = ""; }
          if (wide > 26) { write(pen, look, boxes.place[at] === SEVERAL ? `${boxes.count[at]} ${words.several}` : source.nameOf(boxes.name[at]), left + 3, top + ROW / 2 - 0.5, wide - 6); style = ""; }
        }
      }
    }
    pen.globalAlpha = 1;
    for (const one of [state.focus, state.hover]) {
      if (!one || one.side !== side || one.row < row0 || one.row >= row0 + item.rows) continue;
      const left = Math.max(GUTTER - 4, x(one.begin + offset)), right = Math.min(width + 4, x(one.begin + one.length + offset));
      if (right > GUTTER && left < width) outline(pen, look, left, item.top + (one.row - row0) * ROW - state.scroll, Math.max(2, right - left));
    }
  }

  function curve(pen, look, item) {
    const own = state.curves.get(`${item.side}/${item.number}`), top = item.top - state.scroll, most = item.curve[2] || 1;
    pen.strokeStyle = look.line;
    pen.strokeRect(GUTTER, top, width - GUTTER, CURVE);
    if (!own?.values) return;
    const many = own.values.length, place = at => x(own.from + (own.to - own.from) * at / many);
    pen.fillStyle = isDark() ? "hsl(212 42% 42%)" : "hsl(212 58% 62%)";
    pen.beginPath();
    pen.moveTo(place(0), top + CURVE);
    own.values.forEach((value, at) => { const level = top + CURVE - Math.max(0, value) / most * (CURVE - 2); pen.lineTo(place(at), level); pen.lineTo(place(at + 1), level); });
    pen.lineTo(place(many), top + CURVE);
    pen.fill();
  }

  function hatch(pen, look, left, top, wide) {
    pen.fillStyle = look.line;
    for (let at = left; at < left + wide; at += 4) pen.fillRect(at, top, Math.min(1.5, left + wide - at), ROW - 2);
  }

  function outline(pen, look, left, top, wide) {
    pen.strokeStyle = look.mark;
    pen.lineWidth = 1.6;
    pen.strokeRect(left + 0.5, top + 0.5, Math.max(1, wide - 1), ROW - 3);
    pen.lineWidth = 1;
  }

  function write(pen, look, text, left, middle, room) {
    pen.fillStyle = look.ink;
    pen.fillText(cut(pen, text, room), left, middle);
  }

  function cut(pen, text, room) {
    if (text.length * 3 < room && pen.measureText(text).width <= room) return text;
    let low = 0, high = Math.min(text.length, 200);
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (pen.measureText(text.slice(0, middle) + (middle < text.length ? "…" : "")).width <= room) low = middle; else high = middle - 1;
    }
    return low === text.length ? text : low ? text.slice(0, low) + "…" : "";
  }

  function gutter(pen, look) {
    pen.fillStyle = look.paper;
    pen.fillRect(0, TOP - 5, GUTTER - 4, height);
    pen.save();
    pen.beginPath();
    pen.rect(0, TOP - 5, width, height);
    pen.clip();
    let before = "";
    for (const item of items) {
      const top = item.top - state.scroll;
      if (item.type === "head") {
        before = "";
        if (!visible(item)) continue;
        pen.fillStyle = look.band;
        pen.fillRect(0, top, width, HEAD);
        pen.font = "600 12px system-ui, sans-serif";
        pen.fillStyle = look.ink;
        pen.fillText(cut(pen, item.text, width - 8), 4, top + HEAD / 2);
      } else if (item.type === "curve") {
        if (!visible(item)) continue;
        pen.font = FONT;
        pen.fillStyle = look.ink;
        pen.fillText(cut(pen, curveNames[item.curve[0]] ?? item.curve[0], GUTTER - 10), 2, top + 9);
        pen.fillStyle = look.soft;
        pen.fillText(`≤ ${Number(item.curve[2].toPrecision(4))} ${item.curve[1]}`, 2, top + 24);
      } else {
        const [, group, name, , levels] = item.lane;
        if (visible(item)) {
          if (group !== before) {
            pen.strokeStyle = look.soft;
            pen.beginPath();
            pen.moveTo(0, top - 3.5);
            pen.lineTo(width, top - 3.5);
            pen.stroke();
          }
          const deep = levels > 1 ? (folded[item.side][item.number] ? "▸ " : "▾ ") : "  ";
          pen.font = "600 " + FONT;
          pen.fillStyle = look.ink;
          const title = group === before ? "" : words.groups[group] + " ";
          pen.fillText(deep + cut(pen, title, 118), 2, top + ROW / 2);
          const used = pen.measureText(deep + title).width + 4;
          pen.font = "11px system-ui, sans-serif";
          pen.fillStyle = look.soft;
          pen.fillText(cut(pen, name, GUTTER - used - 8), used, top + ROW / 2);
        }
        before = group;
      }
    }
    pen.restore();
  }

  function arrows(pen, look) {
    const one = state.focus;
    if (!one?.told) return;
    const offset = offsets[one.side], own = [one.place, one.row, one.begin, one.length];
    const pairs = one.told.by ? [[one.told.by, own]] : one.told.launched.map(each => [own, each]);
    pen.strokeStyle = look.mark;
    for (const [from, to] of pairs.slice(0, 400)) {
      const up = topOf(one.side, from[1]), down = topOf(one.side, to[1]);
      if (up === null || down === null) continue;
      const left = x(from[2] + offset), right = x(to[2] + offset), begin = up + ROW - 2;
      pen.beginPath();
      pen.moveTo(left, begin);
      pen.bezierCurveTo(left, (begin + down) / 2, right, (begin + down) / 2, right, down);
      pen.stroke();
    }
  }

  function frame(pen, look, one) {
    const left = x(one.from), right = x(one.to), top = one.top - state.scroll;
    pen.fillStyle = look.mark + "18";
    pen.strokeStyle = look.mark;
    pen.fillRect(left, top, right - left, one.bottom - one.top);
    pen.strokeRect(left, top, right - left, one.bottom - one.top);
  }

  function drawStrip() {
    const pen = strip.getContext("2d"), look = theme(), wide = width - GUTTER, one = stripHeight(), tall = 22 + one * stripRows.length;
    const place = at => GUTTER + (at - whole[0]) / (whole[1] - whole[0]) * wide;
    pen.fillStyle = look.paper;
    pen.fillRect(0, 0, width, tall);
    pen.font = "10px system-ui, sans-serif";
    pen.textBaseline = "middle";
    let free = 0;
    for (const [, number, begin] of sources[0].steps) {
      if (place(begin) < free) continue;
      pen.fillStyle = look.line;
      pen.fillRect(place(begin), 0, 1, tall);
      pen.fillStyle = look.soft;
      pen.fillText(number, place(begin) + 2, 7);
      free = place(begin) + 34;
    }
    let before = "";
    stripRows.forEach(([side, rank, group, busy], at) => {
      const top = 16 + at * one, from = place(offsets[side]), part = (place(offsets[side] + sources[side].length_ns) - from) / busy.length;
      const name = (two ? sources[side].label + " " : "") + words.rank + " " + rank;
      pen.fillStyle = look.soft;
      if (one > 8) pen.fillText(cut(pen, words.groups[group] + (two || new Set(stripRows.map(row => row[1])).size > 1 ? " · " + name : ""), GUTTER - 8), 2, top + 6);
      else if (name !== before) pen.fillText(cut(pen, name, GUTTER - 8), 2, top + 4);
      before = name;
      const hue = HUES[{host: "host_op", launch: "runtime", streams: "compute"}[group] ?? group] ?? 0;
      for (let bin = 0; bin < busy.length;) {
        const begin = bin;
        while (busy[bin] === busy[begin]) bin++;
        if (busy[begin] === "0") continue;
        pen.fillStyle = `hsl(${hue} 60% ${isDark() ? 62 : 42}% / ${0.1 + busy[begin] / 10})`;
        pen.fillRect(from + begin * part, top, (bin - begin) * part, one - 2);
      }
    });
    pen.strokeStyle = look.mark;
    pen.lineWidth = 1.5;
    pen.strokeRect(place(view.from), 13, Math.max(2, place(view.to) - place(view.from)), tall - 14);
  }

  // What two moments of the window are told apart by: a thousandth of their unit, or of the window where that is short.
  const fine = () => { const wide = view.to - view.from, size = Math.max(Math.abs(view.to), 1), by = size >= 1e9 ? 1e9 : size >= 1e6 ? 1e6 : size >= 1e3 ? 1e3 : 1; return Math.min(by / 1000, wide / 100); };

  function told() {
    if (!state.failed) shown.textContent = `${words.shown}: ${time(view.from, fine())} – ${time(view.to, fine())} (${time(view.to - view.from)})`;
    if (!state.find) { hits.textContent = ""; return; }
    const known = state.finds.filter(Boolean), count = known.reduce((sum, one) => sum + one.count, 0);
    if (known.length === sources.length) hits.textContent = `${count} ${words.hits}, ${time(known.reduce((sum, one) => sum + one.total_ns, 0))}` + (state.hit ? ` (${state.hit}/${count})` : "");
  }

  // ---- moving

  function look(from, to, now = false) {
    const most = whole[1] - whole[0], wide = Math.min(most, Math.max(LEAST_NS, to - from));
    view.from = Math.min(Math.max(whole[0], from + (to - from - wide) / 2), whole[1] - wide);
    view.to = view.from + wide;
    if (now) draw(); else soon();
    if (!now) told();
  }

  const zoom = (by, at = (view.from + view.to) / 2) => look(at - (at - view.from) * by, at + (view.to - at) * by);
  const pan = by => look(view.from + by, view.to + by);

  function goStep(number) {
    const marks = sources.map(source => source.steps.find(step => step[1] === number));
    if (two && alignChoice.value === "step" && marks.every(Boolean)) { offsets[1] = marks[0][2] - marks[1][2]; measure(); }
    const known = marks.flatMap((mark, side) => mark ? [[mark[2] + offsets[side], mark[3] + offsets[side]]] : []);
    if (!known.length) return;
    const from = Math.min(...known.map(one => one[0])), to = Math.max(...known.map(one => one[1]));
    if (stepChoice) stepChoice.value = String(number);
    look(from - (to - from) * 0.01, to + (to - from) * 0.01);
  }

  function moveStep(by) {
    const all = stepNumbers(), middle = (view.from + view.to) / 2, own = stepChoice?.value ? Number(stepChoice.value) : sources[0].steps.find(step => step[3] > middle)?.[1];
    const at = all.indexOf(own) + by;
    if (own !== undefined && at >= 0 && at < all.length) goStep(all[at]);
  }

  // Lays the second profile over the first: begins together, or a step, or a module in the step that is seen.
  async function align(how) {
    if (how === "begin") offsets[1] = 0;
    if (how === "step") {
      const common = stepNumbers().filter(number => sources.every(source => source.steps.some(step => step[1] === number)));
      const chosen = stepChoice?.value ? Number(stepChoice.value) : common[Math.min(1, common.length - 1)];
      const marks = sources.map((source, side) => source.steps.find(step => step[1] === chosen) ?? source.steps[Math.min(side ? 0 : 0, source.steps.length - 1)]);
      if (marks.every(Boolean)) { offsets[1] = marks[0][2] - marks[1][2]; measure(); state.strip = null; const mark = marks[0]; return look(mark[2], Math.max(mark[3], marks[1][3] + offsets[1])); }
    }
    measure();
    state.strip = null;
    look(whole[0], whole[1]);
  }

  // Lays the first call of a module after the begin of the window's step over each other.
  async function alignAt(names, firsts) {
    const number = stepChoice?.value ? Number(stepChoice.value) : null, marks = sources.map(source => source.steps.find(step => step[1] === number));
    const calls = await Promise.all(sources.map((source, side) => source.first(names[side], marks[side]?.[2] ?? firsts[side])));
    if (!calls.every(Boolean)) return;
    offsets[1] = calls[0].begin_ns - calls[1].begin_ns;
    measure();
    state.strip = null;
    const long = Math.max(calls[0].length_ns, calls[1].length_ns, 100);
    look(calls[0].begin_ns - long * 0.05, calls[0].begin_ns + long * 1.05);
  }

  // ---- search

  let typed = 0;
  async function search(text) {
    const own = ++typed, wanted = text.trim().toLowerCase();
    Object.assign(state, {find: wanted, finds: [], hit: 0, strip: null});
    found.replaceChildren();
    if (!wanted) { state.focus = null; return soon(); }
    try {
      const finds = await Promise.all(sources.map(source => source.find(wanted)));
      if (own !== typed) return;
      state.finds = finds.map(one => ({...one, set: new Set(one.numbers)}));
      listFound();
      soon();
    } catch (error) { failed(error); }
  }

  function listFound() {
    const holder = make("details", found, {open: ""}), some = state.finds.flatMap((one, side) => one.rows.map(([number, name, count, ns, drawn = count]) => [side, number, name, count, ns, drawn])).sort((a, b) => b[4] - a[4]);
    make("summary", holder, {text: `${words.names_found}: ${state.finds.reduce((sum, one) => sum + one.names, 0)}`});
    if (!some.length) return;
    const rows = some.slice(0, 100).map(([side, number, name, count, ns, drawn]) => {
      let at = 0;
      const jump = drawn ? make("button", null, {type: "button", class: "plain", text: `→ 1/${drawn}`, "aria-label": `→ 1/${drawn} ${name}`}) : null;
      jump?.addEventListener("click", async () => {
        at = at % drawn + 1;
        jump.textContent = `→ ${at % drawn + 1}/${drawn}`;
        jump.setAttribute("aria-label", `${jump.textContent} ${name}`);
        const hit = await sources[side].hitOf(number, at);
        if (hit) focus(side, hit, true);
      });
      return [two ? `${sources[side].label}: ${name}` : name, count, time(ns), jump ?? words.not_drawn];
    });
    table(holder, [words.name, words.count, words.sum, words.jump], rows);
  }

  async function goNext(by = 1) {
    const counts = state.finds.map(one => one.drawn ?? one.count), all = counts.reduce((sum, count) => sum + count, 0);
    if (!all) return;
    const wanted = (state.hit - 1 + by + all) % all;
    state.hit = wanted + 1;
    let side = 0, left = wanted;
    while (left >= counts[side]) left -= counts[side++];
    const hit = await sources[side].hit(state.find, left + 1);
    if (hit) focus(side, hit, true);
    told();
  }

  // ---- one event

  function focus(side, event, centre) {
    state.focus = {side, place: event.place, row: event.row, begin: event.begin_ns, length: event.length_ns, told: event};
    state.chosen = null;
    const number = sources[side].lanes.findIndex(lane => event.row >= lane[3] && event.row < lane[3] + lane[4]);
    if (folded[side][number] && event.row > sources[side].lanes[number][3]) { folded[side][number] = false; layout(); }
    if (centre) {
      const wide = Math.min(view.to - view.from, Math.max(event.length_ns * 12, LEAST_NS * 10)), middle = event.begin_ns + event.length_ns / 2 + offsets[side];
      const item = items.find(one => one.type === "lane" && one.side === side && one.number === number), top = item.top + (event.row - item.lane[3]) * ROW;
      if (top < state.scroll + TOP || top + ROW > state.scroll + height) { stage.scrollTop = top - height / 2; state.scroll = stage.scrollTop; }
      look(middle - wide / 2, middle + wide / 2);
    } else soon();
    describe(side, event);
  }

  function describe(side, event) {
    const source = sources[side], told_ = [event.name, `${words.kinds[source.kinds[event.kind]]}${familyWord(source, event.family)}, ${time(event.length_ns)} @ ${time(event.begin_ns)}`];
    if (event.shape) told_.push(`${words.shape}: ${event.shape}`);
    if (event.by) told_.push(`${words.launched}: ${event.by[4]} @ ${time(event.by[2])}`);
    if (event.launched.length) told_.push(`${words.launches}: ${event.launched.length}${event.launched.length >= 400 ? "+" : ""}`);
    told_.push(`${words.same}: ${event.same[0]}, ${time(event.same[1])}`);
    selected.replaceChildren(...told_.map(text => make("div", null, {text})));
    if (event.by) {
      const jump = make("button", selected, {type: "button", class: "plain", text: "→ " + words.launched});
      jump.addEventListener("click", async () => focus(side, await source.event(event.by[0]), true));
    }
  }

  const familyWord = (source, family) => source.families[family] ? ` (${words.familys[source.families[family]]})` : "";

  function table(into, heads, rows) {
    const holder = make("div", into, {class: "scroll", tabindex: "0", role: "region", "aria-label": heads[0]}), made = make("table", holder), head = make("tr", make("thead", made)), body = make("tbody", made);
    for (const text of heads) make("th", head, {text, scope: "col"});
    for (const one of rows) {
      const row = make("tr", body);
      for (const each of one) { const place = make("td", row); if (each instanceof Node) place.append(each); else place.textContent = each; }
    }
  }

  // ---- a window's sums

  let choosing = 0;
  async function choose(one) {
    const own = ++choosing;
    state.chosen = one;
    state.focus = null;
    soon();
    const rows = sources.map(() => []);
    for (const item of items) {
      if (item.type !== "lane") continue;
      for (let row = 0; row < item.rows; row++) {
        const top = item.top + row * ROW;
        if (top + ROW - 2 > one.top && top < one.bottom) rows[item.side].push(item.lane[3] + row);
      }
    }
    const sums = await Promise.all(sources.map((source, side) => source.sum(Math.max(0, one.from - offsets[side]), Math.max(1, one.to - offsets[side]), rows[side], state.find)));
    if (own !== choosing) return;
    selected.replaceChildren();
    sums.forEach((sum, side) => {
      make("div", selected, {class: "total", text: `${two ? sources[side].label + ": " : ""}${words.selected}: ${time(one.to - one.from)}, ${words.count} ${sum.count}, ${words.sum} ${time(sum.total_ns)} (${words.nested})`});
    });
    const all = new Set(sums.flatMap(sum => Object.keys(sum.families)));
    if (all.size) {
      const rows_ = [...all].map(name => [name, sums.map(sum => sum.families[name] ?? 0)]).sort((a, b) => Math.max(...b[1]) - Math.max(...a[1]));
      table(selected, [words.family, ...(two ? [...sources.map(source => source.label), words.difference] : [words.sum])],
        rows_.map(([name, spent]) => [words.familys[name], ...spent.map(ns_ => time(ns_)), ...(two ? [(spent[0] - spent[1] >= 0 ? "+" : "") + time(spent[0] - spent[1])] : [])]));
    }
    sums.forEach((sum, side) => { if (sum.rows.length) table(selected, [two ? sources[side].label : words.name, words.count, words.sum, words.longest], sum.rows.slice(0, 60).map(row => [row[0], row[1], time(row[2]), row[3] ? time(row[3]) : "-"])); });
  }

  // ---- modules

  async function listModules() {
    if (modulesBox.dataset.drawn) return;
    modulesBox.dataset.drawn = "1";
    const lists = await Promise.all(sources.map(source => source.modules())), merged = new Map();
    lists.forEach((list, side) => {
      const paths = [];
      list.forEach(([parent, name, calls, host, device, first, whole_], at) => {
        paths[at] = (parent >= 0 ? paths[parent] : "") + "/" + name;
        const one = merged.get(paths[at]) ?? {path: paths[at], above: parent >= 0 ? paths[parent] : "", name, sides: sources.map(() => null)};
        one.sides[side] = {calls, host, device, first, whole: whole_};
        merged.set(paths[at], one);
      });
    });
    if (!merged.size) { make("p", modulesBox, {text: words.no_modules}); return; }
    const inside = new Map();
    for (const one of merged.values()) inside.set(one.above, [...inside.get(one.above) ?? [], one]);
    const cost = one => Math.max(...one.sides.map(side => side ? side.device || side.host : 0));
    make("p", modulesBox, {class: "small", text: words.module_times});
    branch(modulesBox, "", 0);

    function branch(into, above, depth) {
      const list = make("ul", into, {class: "tree"});
      for (const one of (inside.get(above) ?? []).sort((a, b) => cost(b) - cost(a)).slice(0, 200)) {
        const item = make("li", list), more = inside.has(one.path), row = more ? make("summary", make("details", item)) : make("div", item, {class: "leaf"});
        make("span", row, {class: "name", text: one.name});
        make("span", row, {class: "n", text: one.sides.map((side, at) => side ? `${two ? sources[at].label + " " : ""}${side.calls} × ${time((side.device || side.host) / side.calls)} = ${time(side.device || side.host)}${side.device ? "" : " " + words.host_time}` : "–").join("  |  ")});
        const jump = make("button", row, {type: "button", class: "plain", text: "→", "aria-label": `→ ${words.jump} ${one.name}`});
        jump.addEventListener("click", async event => {
          event.preventDefault();
          if (one.sides.every(Boolean) && two) return alignAt(one.sides.map(side => side.whole), one.sides.map(side => side.first));
          const side = one.sides.findIndex(Boolean), hit = await sources[side].first(one.sides[side].whole, one.sides[side].first);
          if (hit) focus(side, hit, true);
        });
        if (more) row.parentNode.addEventListener("toggle", () => { if (!row.dataset.drawn) { row.dataset.drawn = "1"; branch(row.parentNode, one.path, depth + 1); } });
      }
    }
  }
  modulesBox.addEventListener("toggle", listModules);

  // ---- hands

  function under(px, py) {
    for (const item of items) {
      const row = Math.floor((py + state.scroll - item.top) / ROW);
      if (item.type !== "lane" || row < 0 || row >= item.rows || px < GUTTER) continue;
      const z = scale(), offset = offsets[item.side];
      let best = null;
      for (const [one, from, to, boxes] of boxesOf(item.side, item.lane[3] + row, z, needed(item.side, z))) {
        for (let at = from; at < to; at++) {
          const left = x(boxes.begin[at] + offset), right = x(boxes.begin[at] + boxes.length[at] + offset);
          if (px >= left - 1 && px <= Math.max(right, left + 2)) best = {side: item.side, row: boxes.row[at], place: boxes.place[at], begin: boxes.begin[at], length: boxes.length[at], own: boxes.own[at], count: boxes.count[at], name: boxes.name[at], kind: boxes.kind[at], family: boxes.family[at]};
        }
      }
      return best;
    }
    return null;
  }

  function clear() {
    state.chosen = state.focus = null;
    find.value = "";
    selected.replaceChildren();
    search("");
  }

  async function neighbour(by) {
    const side = state.focus?.side ?? 0, source = sources[side];
    if (!state.focus) { const box = under(GUTTER + 4, items.find(item => item.type === "lane").top - state.scroll + 4); if (box && box.place !== SEVERAL) focus(0, await source.event(box.place), true); return; }
    const place = state.focus.place + by;
    if (place < 0 || place >= source.events) return;
    const event = await source.event(place);
    if (event.row === state.focus.row) focus(side, event, true);
  }

  const scrollBy = by => { stage.scrollTop += by; };
  const keys = {
    "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), "0": () => look(whole[0], whole[1]), "Escape": clear,
    "ArrowLeft": () => pan((view.from - view.to) / 5), "ArrowRight": () => pan((view.to - view.from) / 5),
    "ArrowUp": () => scrollBy(-3 * ROW), "ArrowDown": () => scrollBy(3 * ROW), "PageUp": () => scrollBy(-height), "PageDown": () => scrollBy(height),
    "[": () => moveStep(-1), "]": () => moveStep(1),
    "/": () => find.focus(), "Enter": () => goNext(1), ".": () => neighbour(1), ",": () => neighbour(-1),
    "s": () => choose({from: view.from, to: view.to, top: 0, bottom: total}),
  };
  canvas.addEventListener("keydown", event => {
    const act = event.ctrlKey || event.metaKey || event.altKey ? null : event.key === "Enter" && event.shiftKey ? () => goNext(-1) : keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  let later = 0;
  find.addEventListener("input", () => { clearTimeout(later); later = setTimeout(() => search(find.value), sources[0].boxes ? 0 : 150); });
  find.addEventListener("keydown", async event => {
    if (event.key === "Enter") { if (find.value.trim().toLowerCase() !== state.find) await search(find.value); goNext(event.shiftKey ? -1 : 1); }
    if (event.key === "Escape") { clear(); canvas.focus(); }
  });
  next.addEventListener("click", () => goNext(1));
  buttons[0].addEventListener("click", () => zoom(0.5));
  buttons[1].addEventListener("click", () => zoom(2));
  buttons[2].addEventListener("click", () => look(whole[0], whole[1]));
  stage.addEventListener("scroll", () => { state.scroll = stage.scrollTop; soon(); });
  canvas.addEventListener("wheel", event => {
    if (event.offsetX < GUTTER) return;
    event.preventDefault();
    const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    const by = event.shiftKey && !event.deltaX ? event.deltaY : event.deltaX;
    if (sideways) pan(by / (width - GUTTER) * (view.to - view.from));
    else zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) / 200), ns(event.offsetX));
  }, {passive: false});

  let drag = null;
  canvas.addEventListener("pointerdown", event => {
    if (event.button) return;
    canvas.setPointerCapture(event.pointerId);
    drag = {x: event.offsetX, y: event.offsetY, from: view.from, to: view.to, scroll: state.scroll, moved: false,
      select: (event.shiftKey || mode.checked) && event.offsetX >= GUTTER};
  });
  canvas.addEventListener("pointermove", event => {
    if (!drag) return hover(event);
    drag.moved = drag.moved || Math.abs(event.offsetX - drag.x) + Math.abs(event.offsetY - drag.y) > 3;
    if (!drag.moved) return;
    tip.hidden = true;
    if (drag.select) {
      const across = [drag.x, event.offsetX].sort((a, b) => a - b), down = [drag.y, event.offsetY].sort((a, b) => a - b);
      state.chosen = {from: Math.max(whole[0], ns(Math.max(GUTTER, across[0]))), to: Math.min(whole[1], ns(across[1])),
        top: down[0] + state.scroll, bottom: down[1] + state.scroll};
      soon();
    } else {
      const by = (drag.x - event.offsetX) / (width - GUTTER) * (drag.to - drag.from);
      stage.scrollTop = drag.scroll + drag.y - event.offsetY;
      look(drag.from + by, drag.to + by);
    }
  });
  canvas.addEventListener("pointerup", async event => {
    const was = drag;
    drag = null;
    if (was?.moved && was.select && state.chosen) return choose(state.chosen);
    if (!was || was.moved) return;
    canvas.focus({preventScroll: true});
    const item = items.find(one => one.type === "lane" && event.offsetY + state.scroll >= one.top && event.offsetY + state.scroll < one.top + one.height);
    if (event.offsetX < GUTTER && item) { folded[item.side][item.number] = !folded[item.side][item.number]; return layout(); }
    const box = under(event.offsetX, event.offsetY);
    if (!box) return;
    if (box.place !== SEVERAL) return focus(box.side, await sources[box.side].event(box.place), false);
    const from = box.begin + offsets[box.side], top = topOf(box.side, box.row) + state.scroll;  // what it is made of
    choose({from, to: from + Math.max(1, box.length), top: top + 1, bottom: top + ROW - 3});
  });
  canvas.addEventListener("dblclick", event => {
    const box = under(event.offsetX, event.offsetY);
    if (box) look(box.begin + offsets[box.side] - box.length * 0.1, box.begin + offsets[box.side] + box.length * 1.1);
  });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; if (state.hover) { state.hover = null; soon(); } });

  function hover(event) {
    const box = event.offsetX < GUTTER ? null : under(event.offsetX, event.offsetY);
    if (box?.begin !== state.hover?.begin || box?.row !== state.hover?.row) { state.hover = box; soon(); }
    tip.hidden = !box;
    if (!box) return;
    const source = sources[box.side], name = source.nameOf(box.name), several = box.count > 1;
    const lines_ = several ? [`${box.count} ${words.several}`, `${words.sum} ${time(box.own)}`, ...(box.name >= 0 ? [`${words.longest}: ${name}`] : [])]
      : [name, `${words.kinds[source.kinds[box.kind]]}${familyWord(source, box.family)}, ${time(box.length)} @ ${time(box.begin)}`];
    tip.replaceChildren(...lines_.map(text => make("div", null, {text})));
    const right = event.offsetX > width * 0.6, top = stage.offsetTop + event.offsetY + 14;
    tip.style.left = right ? "auto" : event.offsetX + 14 + "px";
    tip.style.right = right ? Math.max(0, width - event.offsetX + 14) + "px" : "auto";
    tip.style.top = top + "px";
  }

  const onStrip = event => {
    const at = whole[0] + (event.offsetX - GUTTER) / (width - GUTTER) * (whole[1] - whole[0]), half = (view.to - view.from) / 2;
    if (event.offsetX >= GUTTER) look(at - half, at + half);
  };
  strip.addEventListener("pointerdown", event => { strip.setPointerCapture(event.pointerId); onStrip(event); });
  strip.addEventListener("pointermove", event => { if (event.buttons) onStrip(event); });

  function legend_() {
    colours = new Map();
    legend.replaceChildren();
    const chip = (hue, text, full = 55) => {
      const one = make("span", legend), dot = make("i", one);
      dot.style.background = `hsl(${hue} ${full}% ${isDark() ? 40 : 70}%)`;
      one.append(text);
    };
    if (state.families) for (const [name, hue] of Object.entries(FAMILY_HUES)) chip(hue, words.familys[name], name === "other" ? 8 : 55);
    else for (const kind of sources[0].kinds) chip(HUES[kind], words.kinds[kind]);
  }

  async function fragment() {  // #perf?find=conv&from=1.5&to=3&step=51&select=1&next=1 (times in milliseconds): a link to what is seen
    const asked = new URLSearchParams(location.hash.split("?")[1] ?? "");
    if (asked.has("step")) goStep(Number(asked.get("step")));
    if (asked.has("from") || asked.has("to")) look(1e6 * (asked.get("from") ?? 0), asked.has("to") ? 1e6 * asked.get("to") : whole[1]);
    if (asked.has("find")) { find.value = asked.get("find"); await search(find.value); }
    for (let left = Number(asked.get("next") ?? 0); left > 0; left--) await goNext();
    if (asked.has("select")) keys.s();
    if (asked.has("find") || asked.has("step")) setTimeout(() => root.scrollIntoView({block: "start"}), 50);
  }
  new ResizeObserver(() => { if (Math.abs(stage.clientWidth - width) > 1) layout(); }).observe(stage);
  window.addEventListener("hashchange", () => { if (root.isConnected) fragment(); });
  root.timeline = {sources, times, tiles, look, whole: () => whole, view, busy: () => running + Number(waiting)};
  legend_();
  layout();
  if (alignChoice && sources.every(source => source.steps.length)) { alignChoice.value = "step"; align("step"); }
  fragment();
}
