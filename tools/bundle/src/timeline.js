// The timeline of a profile: lanes on a canvas, searched, zoomed and summed up by mouse and by keys.
// Texts of the profile reach the page through fillText and textContent alone.

const GUTTER = 214, ROW = 17, GAP = 7, TOP = 24, LEAST_NS = 50, FOLDED = 8;
const HUES = {compute: 212, communication: 28, copy: 145, communication_task: 48, device_other: 265, host_op: 190,
  runtime: 330, python: 90, loading: 5, annotation: 300, step: 230};
const numbers = text => text ? Float64Array.from(text.split(" "), Number) : new Float64Array(0);

function time(ns) {
  const size = Math.abs(ns);
  const [by, unit] = size >= 1e9 ? [1e9, "s"] : size >= 1e6 ? [1e6, "ms"] : size >= 1e3 ? [1e3, "us"] : [1, "ns"];
  return (ns / by).toFixed(by === 1 ? 0 : 3) + " " + unit;
}

function make(tag, into, set = {}) {
  const one = document.createElement(tag);
  for (const [name, value] of Object.entries(set)) {
    if (name === "text") one.textContent = value; else one.setAttribute(name, value);
  }
  if (into) into.append(one);
  return one;
}

// Draws the timeline into the element; `isDark` tells whether the page is dark now.
export function mountTimeline(root, data, words, isDark) {
  const box = {};
  for (const [name, text] of Object.entries(data.boxes)) box[name] = numbers(text);
  for (let at = 1; at < box.begin.length; at++) box.begin[at] += box.begin[at - 1];
  const many = box.begin.length, whole = Math.max(1, data.length_ns);
  const nameOf = at => box.name[at] < 0 ? many_(at) : data.names[box.name[at]];
  const many_ = at => box.count[at] + " " + words.several;
  const countOf = at => box.count.length ? box.count[at] : 1;
  const ownOf = at => box.own.length ? box.own[at] : box.length[at];
  const levels = data.lanes.map(() => 1);
  for (let at = 0; at < many; at++) levels[box.lane[at]] = Math.max(levels[box.lane[at]], box.level[at] + 1);
  const folded = data.lanes.map((lane, at) => lane[0] === "python" && levels[at] > FOLDED);
  const children = new Map();  // box that launches -> boxes
  for (let at = 0; at < many; at++) {
    if (box.by[at] < 0) continue;
    if (!children.has(box.by[at])) children.set(box.by[at], []);
    children.get(box.by[at]).push(at);
  }

  const view = {from: 0, to: whole}, state = {find: "", hit: -1, hits: [], hover: -1, chosen: null, focus: -1};
  const bar = make("div", root, {class: "bar"});
  const find = make("input", bar, {type: "search", placeholder: words.find, "aria-label": words.find});
  const next = make("button", bar, {type: "button", text: words.next});
  const hits = make("output", bar, {class: "hits"});
  const buttons = [["+", words.zoom_in], ["−", words.zoom_out], [words.whole, words.whole]].map(
    ([text, label]) => make("button", bar, {type: "button", text, "aria-label": label, title: label}));
  const label = make("label", bar), mode = make("input", label, {type: "checkbox"});
  label.append(" " + words.mode);
  const shown = make("output", bar, {class: "shown", "aria-live": "polite"});
  const stage = make("div", root, {class: "stage"});
  const canvas = make("canvas", stage, {tabindex: "0", role: "application", "aria-label": words.help});
  const tip = make("div", stage, {class: "tip", hidden: ""});
  const legend = make("p", root, {class: "legend"});
  const selected = make("div", root, {class: "selected", "aria-live": "polite"});
  make("p", root, {class: "note", text: words.overview});
  const strip = make("canvas", root, {class: "strip", role: "img", "aria-label": words.overview});
  make("p", root, {class: "note", text: words.help});
  let width = 900, height = 100, tops = [], colours = new Map();

  const colour = (kind, name) => {
    const key = kind * 1e6 + name;
    if (!colours.has(key)) {
      const hue = (HUES[data.kinds[kind]] ?? 0) + (name * 37 % 23) - 11, turn = name * 53 % 11;
      colours.set(key, isDark() ? `hsl(${hue} 42% ${34 + turn}%)` : `hsl(${hue} 58% ${70 + turn}%)`);
    }
    return colours.get(key);
  };
  const x = ns => GUTTER + (ns - view.from) / (view.to - view.from) * (width - GUTTER);
  const ns = px => view.from + (px - GUTTER) / (width - GUTTER) * (view.to - view.from);
  const rows = lane => folded[lane] ? 1 : levels[lane];
  const y = at => tops[box.lane[at]] + (folded[box.lane[at]] ? 0 : box.level[at]) * ROW;
  const hidden = at => folded[box.lane[at]] && box.level[at] > 0;

  function layout() {
    let at = TOP;
    tops = data.lanes.map((lane, number) => {
      const top = at;
      at += rows(number) * ROW + GAP;
      return top;
    });
    width = Math.max(420, stage.clientWidth || 900);
    height = Math.min(at + 4, 12000);
    fit(canvas, height);
    fit(strip, 22 + 13 * data.overview.lanes.length);
    draw();
  }

  function fit(one, tall) {
    const scale = Math.min(window.devicePixelRatio || 1, 2);
    one.width = width * scale;
    one.height = tall * scale;
    one.style.width = width + "px";
    one.style.height = tall + "px";
    one.getContext("2d").setTransform(scale, 0, 0, scale, 0, 0);
  }

  const theme = () => isDark()
    ? {ink: "#e6edf3", soft: "#9aa4af", line: "#ffffff22", paper: "#0d1117", mark: "#ff7b72", band: "#ffffff0a"}
    : {ink: "#1f2328", soft: "#59636e", line: "#00000018", paper: "#ffffff", mark: "#cf222e", band: "#00000007"};

  function draw() {
    const pen = canvas.getContext("2d"), look = theme();
    pen.fillStyle = look.paper;
    pen.fillRect(0, 0, width, height);
    axis(pen, look);
    pen.save();
    pen.beginPath();
    pen.rect(GUTTER, TOP - 4, width - GUTTER, height);
    pen.clip();
    boxes(pen, look);
    arrows(pen, look);
    if (state.chosen) frame(pen, look, state.chosen);
    pen.restore();
    gutter(pen, look);
    drawStrip();
    told();
  }

  function axis(pen, look) {
    const rough = (view.to - view.from) / Math.max(3, (width - GUTTER) / 120), power = 10 ** Math.floor(Math.log10(rough));
    const tick = [1, 2, 5, 10].map(one => one * power).find(one => one >= rough);
    pen.font = "11px system-ui, sans-serif";
    pen.textBaseline = "middle";
    pen.strokeStyle = look.line;
    pen.fillStyle = look.soft;
    for (let at = Math.ceil(view.from / tick) * tick; at <= view.to; at += tick) {
      pen.beginPath();
      pen.moveTo(x(at), TOP - 5);
      pen.lineTo(x(at), height);
      pen.stroke();
      const text = time(at).replace(/\.0+ |(\.\d*[1-9])0+ /, "$1 ");
      if (x(at) + pen.measureText(text).width < width - 2) pen.fillText(text, x(at) + 2, 10);
    }
  }

  function boxes(pen, look) {
    const last = new Map();
    pen.textBaseline = "middle";
    for (let at = 0; at < many; at++) {
      const end = box.begin[at] + box.length[at];
      if (hidden(at) || end < view.from || box.begin[at] > view.to) continue;
      const left = Math.max(GUTTER - 2, x(box.begin[at])), right = Math.min(width + 2, x(end));
      const wide = Math.max(1, right - left - (right - left > 3 ? 0.6 : 0)), top = y(at);
      const key = top * 8 + (matches(at) ? 1 : 0);
      if (right - left < 1 && last.get(key) === Math.round(left)) continue;
      last.set(key, Math.round(left));
      pen.globalAlpha = state.find && !matches(at) ? 0.18 : 1;
      pen.fillStyle = colour(box.kind[at], Math.max(0, box.name[at]));
      pen.fillRect(left, top, wide, ROW - 2);
      if (box.name[at] < 0) hatch(pen, look, left, top, wide);
      if (at === state.focus || at === state.hover) outline(pen, look, left, top, wide);
      if (wide > 26) write(pen, look, nameOf(at), left + 3, top + ROW / 2 - 0.5, wide - 6);
    }
    pen.globalAlpha = 1;
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
    pen.font = "11px system-ui, 'PingFang SC', 'Microsoft YaHei', 'Noto Sans CJK SC', sans-serif";
    pen.fillStyle = look.ink;
    pen.fillText(cut(pen, text, room), left, middle);
  }

  function cut(pen, text, room) {
    if (pen.measureText(text).width <= room) return text;
    let low = 0, high = Math.min(text.length, 200);
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (pen.measureText(text.slice(0, middle) + "…").width <= room) low = middle; else high = middle - 1;
    }
    return low ? text.slice(0, low) + "…" : "";
  }

  function gutter(pen, look) {
    pen.fillStyle = look.paper;
    pen.fillRect(0, TOP - 4, GUTTER - 4, height);
    let before = "";
    data.lanes.forEach(([group, name], lane) => {
      const top = tops[lane];
      if (group !== before) {
        pen.strokeStyle = look.soft;
        pen.beginPath();
        pen.moveTo(0, top - 3.5);
        pen.lineTo(width, top - 3.5);
        pen.stroke();
      }
      const deep = levels[lane] > 1 ? (folded[lane] ? "▸ " : "▾ ") : "  ";
      pen.font = "600 11px system-ui, 'PingFang SC', 'Microsoft YaHei', 'Noto Sans CJK SC', sans-serif";
      pen.fillStyle = look.ink;
      const title = group === before ? "" : words.groups[group] + " ";
      pen.fillText(deep + cut(pen, title, 118), 2, top + ROW / 2);
      const used = pen.measureText(deep + title).width + 4;
      pen.font = "11px system-ui, sans-serif";
      pen.fillStyle = look.soft;
      pen.fillText(cut(pen, name, GUTTER - used - 8), used, top + ROW / 2);
      before = group;
    });
  }

  function arrows(pen, look) {
    const at = state.hover >= 0 ? state.hover : state.focus;
    if (at < 0) return;
    const pairs = box.by[at] >= 0 ? [[box.by[at], at]] : launchedIn(at).map(one => [box.by[one], one]);
    pen.strokeStyle = look.mark;
    for (const [from, to] of pairs.slice(0, 400)) {
      if (hidden(from) || hidden(to)) continue;
      const left = x(box.begin[from]), right = x(box.begin[to]), up = y(from) + ROW - 2, down = y(to);
      pen.beginPath();
      pen.moveTo(left, up);
      pen.bezierCurveTo(left, (up + down) / 2, right, (up + down) / 2, right, down);
      pen.stroke();
    }
  }

  function launchedIn(at) {  // by it, and by what runs inside it
    const end = box.begin[at] + box.length[at], found = [];
    for (const [from, to] of children) {
      if (box.lane[from] === box.lane[at] && box.begin[from] >= box.begin[at] && box.begin[from] <= end
        && box.level[from] >= box.level[at]) found.push(...to);
    }
    return found;
  }

  function frame(pen, look, one) {
    const left = x(one.from), right = x(one.to);
    pen.fillStyle = look.mark + "18";
    pen.strokeStyle = look.mark;
    pen.fillRect(left, one.top, right - left, one.bottom - one.top);
    pen.strokeRect(left, one.top, right - left, one.bottom - one.top);
  }

  function drawStrip() {
    const pen = strip.getContext("2d"), look = theme(), all = data.overview, wide = width - GUTTER;
    const [from, to] = numbers(all.window), place = at => GUTTER + at / all.length_ns * wide;
    const tall = 22 + 13 * all.lanes.length;
    pen.fillStyle = look.paper;
    pen.fillRect(0, 0, width, tall);
    pen.font = "10px system-ui, sans-serif";
    pen.textBaseline = "middle";
    let free = 0;
    for (const step of all.steps) {
      const [number, begin] = numbers(step);
      if (place(begin) < free) continue;
      pen.fillStyle = look.line;
      pen.fillRect(place(begin), 0, 1, tall);
      pen.fillStyle = look.soft;
      pen.fillText(number, place(begin) + 2, 7);
      free = place(begin) + 34;
    }
    let before = "";
    all.lanes.forEach(([group, name], lane) => {
      const top = 16 + lane * 13, busy = all.busy[lane], part = wide / busy.length;
      pen.fillStyle = look.soft;
      pen.fillText(cut(pen, (group === before ? "" : words.groups[group] + " ") + name, GUTTER - 8), 2, top + 6);
      before = group;
      const hue = HUES[{host: "host_op", launch: "runtime", streams: "compute"}[group] ?? group] ?? 0;
      for (let at = 0; at < busy.length; at++) {
        if (busy[at] === "0") continue;
        pen.fillStyle = `hsl(${hue} 60% ${isDark() ? 62 : 42}% / ${0.1 + busy[at] / 10})`;
        pen.fillRect(GUTTER + at * part, top, part + 0.3, 11);
      }
    });
    pen.strokeStyle = look.mark;
    pen.lineWidth = 1.5;
    pen.strokeRect(place(from), 13, Math.max(2, place(to) - place(from)), tall - 14);
  }

  const matches = at => !state.find || (box.name[at] >= 0 && data.names[box.name[at]].toLowerCase().includes(state.find));

  function told() {
    shown.textContent = `${words.shown}: ${time(view.from)} – ${time(view.to)} (${time(view.to - view.from)})`;
    hits.textContent = state.find ? `${state.hits.length} ${words.hits}` : "";
  }

  function look(from, to) {
    const wide = Math.min(whole, Math.max(LEAST_NS, to - from));
    view.from = Math.min(Math.max(0, from + (to - from - wide) / 2), whole - wide);
    view.to = view.from + wide;
    draw();
  }

  const zoom = (by, at = (view.from + view.to) / 2) => look(at - (at - view.from) * by, at + (view.to - at) * by);
  const pan = by => look(view.from + by, view.to + by);

  function search(text) {
    state.find = text.trim().toLowerCase();
    state.hits = [];
    state.hit = -1;
    for (let at = 0; at < many && state.find; at++) if (matches(at)) state.hits.push(at);
    state.focus = -1;
    draw();
  }

  function goNext() {
    if (!state.hits.length) return;
    state.hit = (state.hit + 1) % state.hits.length;
    focus(state.hits[state.hit], true);
  }

  function focus(at, centre) {
    state.focus = at;
    state.chosen = null;
    const wide = Math.min(view.to - view.from, Math.max(box.length[at] * 12, whole / 200));
    const middle = box.begin[at] + box.length[at] / 2;
    if (folded[box.lane[at]] && box.level[at] > 0) { folded[box.lane[at]] = false; layout(); }
    if (centre) look(middle - wide / 2, middle + wide / 2); else draw();
    describe(at);
  }

  function describe(at) {
    const same = [];
    for (let one = 0; one < many; one++) if (box.name[one] === box.name[at] && box.name[at] >= 0) same.push(one);
    selected.replaceChildren();
    for (const line of lines(at)) make("div", selected, {text: line});
    if (same.length > 1) table([summed(same, whole, 0)[0]]);
  }

  function lines(at) {
    const told = [nameOf(at), `${words.kinds[data.kinds[box.kind[at]]]}, ${time(ownOf(at))} @ ${time(box.begin[at])}`];
    if (box.shape[at] >= 0 && data.shapes[box.shape[at]]) told.push(`${words.shape}: ${data.shapes[box.shape[at]]}`);
    if (box.by[at] >= 0) told.push(`${words.launched}: ${nameOf(box.by[at])}`);
    return told;
  }

  function summed(some, to, from) {
    const sums = new Map();
    for (const at of some) {
      const inside = Math.min(to, box.begin[at] + box.length[at]) - Math.max(from, box.begin[at]);
      const part = box.length[at] > 0 ? Math.max(0, inside) / box.length[at] : 1;
      const name = box.name[at] < 0 ? words.several : nameOf(at);
      const one = sums.get(name) ?? {name, count: 0, ns: 0, longest: 0};
      one.count += countOf(at);
      one.ns += ownOf(at) * part;
      one.longest = Math.max(one.longest, box.name[at] < 0 ? 0 : box.length[at]);
      sums.set(name, one);
    }
    return [...sums.values()].sort((a, b) => b.ns - a.ns);
  }

  function table(sums) {
    const made = make("table", selected), head = make("tr", make("thead", made)), body = make("tbody", made);
    for (const text of [words.name, words.count, words.sum, words.longest]) make("th", head, {text});
    for (const one of sums.slice(0, 60)) {
      const row = make("tr", body);
      for (const text of [one.name, one.count, time(one.ns), one.longest ? time(one.longest) : "-"]) make("td", row, {text});
    }
  }

  function choose(one) {
    state.chosen = one;
    state.focus = -1;
    const some = [];
    for (let at = 0; at < many; at++) {
      const top = y(at);
      if (!hidden(at) && matches(at) && data.kinds[box.kind[at]] !== "step" && box.begin[at] <= one.to && box.begin[at] + box.length[at] >= one.from
        && top + ROW - 2 > one.top && top < one.bottom) some.push(at);
    }
    const sums = summed(some, one.to, one.from);
    selected.replaceChildren();
    const count = sums.reduce((sum, each) => sum + each.count, 0), total = sums.reduce((sum, each) => sum + each.ns, 0);
    make("div", selected, {class: "total", text:
      `${words.selected}: ${time(one.to - one.from)}, ${words.count} ${count}, ${words.sum} ${time(total)} (${words.nested})`});
    table(sums);
    draw();
  }

  function under(px, py) {
    for (let at = many - 1; at >= 0; at--) {
      if (hidden(at)) continue;
      const top = y(at), left = x(box.begin[at]), right = x(box.begin[at] + box.length[at]);
      if (py >= top && py < top + ROW - 1 && px >= left - 1 && px <= Math.max(right, left + 2)) return at;
    }
    return -1;
  }

  function clear() {
    state.chosen = null;
    state.focus = -1;
    find.value = "";
    selected.replaceChildren();
    search("");
  }

  function neighbour(by) {
    const lane = state.focus >= 0 ? box.lane[state.focus] : 0, level = state.focus >= 0 ? box.level[state.focus] : 0;
    for (let at = state.focus < 0 ? 0 : state.focus + by; at >= 0 && at < many; at += by) {
      if (box.lane[at] === lane && box.level[at] === level) return focus(at, true);
    }
  }

  const keys = {
    "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), "0": () => look(0, whole), "Escape": clear,
    "ArrowLeft": () => pan((view.from - view.to) / 5), "ArrowRight": () => pan((view.to - view.from) / 5),
    "/": () => find.focus(), "Enter": goNext, ".": () => neighbour(1), ",": () => neighbour(-1),
    "s": () => choose({from: view.from, to: view.to, top: 0, bottom: height}),
  };
  canvas.addEventListener("keydown", event => {
    const act = event.ctrlKey || event.metaKey || event.altKey ? null : keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  find.addEventListener("input", () => search(find.value));
  find.addEventListener("keydown", event => {
    if (event.key === "Enter") goNext();
    if (event.key === "Escape") { clear(); canvas.focus(); }
  });
  next.addEventListener("click", goNext);
  buttons[0].addEventListener("click", () => zoom(0.5));
  buttons[1].addEventListener("click", () => zoom(2));
  buttons[2].addEventListener("click", () => look(0, whole));
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
    drag = {x: event.offsetX, y: event.offsetY, from: view.from, to: view.to, moved: false,
      select: (event.shiftKey || mode.checked) && event.offsetX >= GUTTER};
  });
  canvas.addEventListener("pointermove", event => {
    if (!drag) return hover(event);
    drag.moved = drag.moved || Math.abs(event.offsetX - drag.x) + Math.abs(event.offsetY - drag.y) > 3;
    if (!drag.moved) return;
    tip.hidden = true;
    if (drag.select) {
      const across = [drag.x, event.offsetX].sort((a, b) => a - b), down = [drag.y, event.offsetY].sort((a, b) => a - b);
      choose({from: Math.max(0, ns(Math.max(GUTTER, across[0]))), to: Math.min(whole, ns(across[1])),
        top: down[0], bottom: down[1]});
    } else {
      const by = (drag.x - event.offsetX) / (width - GUTTER) * (drag.to - drag.from);
      look(drag.from + by, drag.to + by);
    }
  });
  canvas.addEventListener("pointerup", event => {
    const was = drag;
    drag = null;
    if (!was || was.moved) return;
    canvas.focus({preventScroll: true});
    const lane = tops.findIndex((top, at) => event.offsetY >= top && event.offsetY < top + rows(at) * ROW);
    if (event.offsetX < GUTTER && lane >= 0) { folded[lane] = !folded[lane]; return layout(); }
    const at = under(event.offsetX, event.offsetY);
    if (at >= 0) focus(at, false);
  });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; if (state.hover >= 0) { state.hover = -1; draw(); } });

  function hover(event) {
    const at = event.offsetX < GUTTER ? -1 : under(event.offsetX, event.offsetY);
    if (at !== state.hover) { state.hover = at; draw(); }
    tip.hidden = at < 0;
    if (at < 0) return;
    tip.replaceChildren(...lines(at).map(text => make("div", null, {text})));
    const right = event.offsetX > width * 0.6;
    tip.style.left = right ? "auto" : event.offsetX + 14 + "px";
    tip.style.right = right ? width - event.offsetX + 14 + "px" : "auto";
    tip.style.top = event.offsetY + 14 + "px";
  }

  for (const kind of new Set(box.kind)) {
    const one = make("span", legend), chip = make("i", one);
    chip.style.background = `hsl(${HUES[data.kinds[kind]]} 55% ${isDark() ? 40 : 70}%)`;
    one.append(words.kinds[data.kinds[kind]]);
  }
  function fragment() {  // #perf?find=conv&from=1.5&to=3&select=1&next=1 (times in milliseconds): a link to what is seen
    const asked = new URLSearchParams(location.hash.split("?")[1] ?? "");
    if (asked.has("find")) { find.value = asked.get("find"); search(find.value); }
    if (asked.has("from") || asked.has("to")) look(1e6 * (asked.get("from") ?? 0), 1e6 * (asked.get("to") ?? whole / 1e6));
    for (let left = Number(asked.get("next") ?? 0); left > 0; left--) goNext();
    if (asked.has("select")) keys.s();
  }
  new ResizeObserver(() => { if (Math.abs(stage.clientWidth - width) > 1) layout(); }).observe(stage);
  window.addEventListener("hashchange", fragment);
  layout();
  fragment();
}
