// Where a timeline's events come from: the page itself, or the command that serves it. Both answer the same questions.

export const BINS = 1024;  // of a tile
const SEVERAL = -1;
const numbers = text => text ? Float64Array.from(text.split(" "), Number) : new Float64Array(0);

// The boxes of a tile by row: row -> [first, end) in the columns.
function byRow(boxes, rows) {
  const places = new Map(rows.map(row => [row, [0, 0]]));
  for (let at = 0; at < boxes.row.length;) {
    const row = boxes.row[at], first = at;
    while (at < boxes.row.length && boxes.row[at] === row) at++;
    places.set(row, [first, at]);
  }
  return places;
}

// Asks the command at the page's own address.
export class RemoteSource {
  constructor(side, number) { Object.assign(this, side); this.number = number; this.known = this.names ?? []; this.asking = new Set(); }

  async ask(what, words, binary = false) {
    const query = new URLSearchParams({side: this.number, ...words});
    const answer = await fetch(`${what}?${query}`, {method: "GET", cache: "no-store"});
    if (!answer.ok) throw new Error(`${what}: ${answer.status}`);
    return binary ? answer.arrayBuffer() : answer.json();
  }

  nameOf(number) {
    if (this.known[number] === undefined) this.asking.add(number);
    return this.known[number] ?? "…";
  }

  // Fetches the names that were drawn without being known; true where there were any.
  async learn() {
    const some = [...this.asking].slice(0, 500);
    if (!some.length) return false;
    const texts = await this.ask("names", {numbers: some.join(",")});
    some.forEach((number, at) => { this.known[number] = texts[at]; this.asking.delete(number); });
    return true;
  }

  async tile(z, x, rows) {
    const buffer = await this.ask("tile", {z, x, rows: spans(rows)}, true), many = new Uint32Array(buffer, 0, 1)[0];
    const wide = at => new Float64Array(buffer, 8 + at * 8 * many, many), narrow = at => new Int32Array(buffer, 8 + 24 * many + at * 4 * many, many);
    const boxes = {begin: wide(0), length: wide(1), own: wide(2), row: narrow(0), place: narrow(1), count: narrow(2), name: narrow(3), kind: narrow(4), family: narrow(5)};
    return {boxes, rows: byRow(boxes, rows)};
  }

  find(text) { return this.ask("find", {text}); }
  hit(text, number) { return this.ask("hit", {text, number}); }
  hitOf(name, number) { return this.ask("hit", {name, number}); }
  first(name, after) { return this.ask("first", {name, after: Math.round(after)}); }
  event(place) { return this.ask("event", {place}); }
  sum(from, to, rows, text) { return this.ask("sum", {from: Math.round(from), to: Math.round(to), rows: spans(rows), text}); }
  modules() { return this.ask("modules", {}); }
  async strip(text, from, to, bins) { return new Int32Array(await this.ask("strip", {text, from: Math.round(from), to: Math.round(to), bins}, true)); }
  async curve(number, from, to, bins) { return new Float64Array(await this.ask("curve", {number, from: Math.round(from), to: Math.round(to), bins}, true)); }
}

function spans(rows) {
  const sorted = [...rows].sort((a, b) => a - b), texts = [];
  for (let at = 0; at < sorted.length;) {
    const first = sorted[at];
    while (sorted[at + 1] === sorted[at] + 1) at++;
    texts.push(first === sorted[at] ? `${first}` : `${first}-${sorted[at]}`);
    at++;
  }
  return texts.join(",");
}

// Holds all columns itself.
export class LocalSource {
  constructor(side, number) {
    const {modules, ...rest} = side;
    Object.assign(this, rest);
    this.modules_ = modules;
    this.number = number;
    const box = side.boxes, counts = numbers(side.rows);
    this.bounds = new Int32Array(counts.length + 1);
    counts.forEach((count, row) => { this.bounds[row + 1] = this.bounds[row] + count; });
    const many = this.bounds[counts.length];
    this.begin = numbers(box.begin);
    this.rowOf = new Int32Array(many);
    for (let row = 0; row < counts.length; row++) {
      for (let at = this.bounds[row]; at < this.bounds[row + 1]; at++) {
        this.rowOf[at] = row;
        if (at > this.bounds[row]) this.begin[at] += this.begin[at - 1];
      }
    }
    this.length = numbers(box.length);
    this.name = Int32Array.from(numbers(box.name));
    this.kind = Int8Array.from(numbers(box.kind));
    this.shape = Int32Array.from(numbers(box.shape));
    this.by = Int32Array.from(numbers(box.by)).map((by, at) => by ? at + by : -1);
    this.count = box.count ? Int32Array.from(numbers(box.count)) : null;
    this.own = box.own ? numbers(box.own) : this.length;
    this.families_ = Int8Array.from(numbers(side.name_families));
    this.lower = this.names.map(name => name.toLowerCase());
    this.measured = [this.kinds.indexOf("compute"), this.kinds.indexOf("communication"), this.kinds.indexOf("copy")];
    this.curves_ = (side.points ?? []).map(([at, value]) => ({at: numbers(at).map((sum => step => sum += step)(0)), value: numbers(value)}));
    this.launched = new Map();
    this.by.forEach((by, at) => { if (by >= 0) this.launched.set(by, [...this.launched.get(by) ?? [], at]); });
  }

  nameOf(number) { return number < 0 ? "" : this.names[number]; }
  async learn() { return false; }
  countOf(at) { return this.count ? this.count[at] : 1; }

  familyOf(at) {
    const [compute, communication, copy] = this.measured, kind = this.kind[at];
    if (kind === communication) return this.families.indexOf("collective");
    if (kind === copy) return this.families.indexOf("copy");
    return kind === compute && this.name[at] >= 0 ? this.families_[this.name[at]] : this.families.length - 1;
  }

  // The first event of a row that begins at a moment or after it.
  lower_(row, moment) {
    let low = this.bounds[row], high = this.bounds[row + 1];
    while (low < high) { const middle = (low + high) >> 1; if (this.begin[middle] < moment) low = middle + 1; else high = middle; }
    return low;
  }

  tile(z, x, rows) {
    const width = 2 ** z, from = x * BINS * width, to = from + BINS * width, list = [];
    for (const row of [...rows].sort((a, b) => a - b)) {
      let at = this.lower_(row, from);
      for (let back = 0; back < 4 && at > this.bounds[row] && this.begin[at - 1] + Math.max(1, this.length[at - 1]) > from; back++) at--;
      let bin = -1, open = null;
      for (; at < this.bounds[row + 1] && this.begin[at] < to; at++) {
        const box = [row, this.countOf(at) > 1 ? SEVERAL : at, this.begin[at], this.length[at], this.own[at], this.countOf(at), this.name[at], this.kind[at], this.familyOf(at)];
        const own = Math.floor((this.begin[at] - from) / width);
        if (this.length[at] >= width || own < 0) { list.push(box); continue; }
        if (own !== bin) { open = box; open.longest = this.length[at]; list.push(open); bin = own; continue; }
        open[1] = SEVERAL;
        open[3] = Math.max(open[3], this.begin[at] + this.length[at] - open[2]);
        open[4] += this.own[at];
        open[5] += this.countOf(at);
        if (this.length[at] > open.longest) { open.longest = this.length[at]; [open[6], open[7], open[8]] = [this.name[at], this.kind[at], this.familyOf(at)]; }
      }
    }
    const column = at => list.map(box => box[at]);
    const boxes = {row: Int32Array.from(column(0)), place: Int32Array.from(column(1)), begin: Float64Array.from(column(2)), length: Float64Array.from(column(3)),
      own: Float64Array.from(column(4)), count: Int32Array.from(column(5)), name: Int32Array.from(column(6)), kind: Int32Array.from(column(7)), family: Int32Array.from(column(8))};
    return {boxes, rows: byRow(boxes, rows)};
  }

  matching(text) {
    const wanted = text.trim().toLowerCase();
    return new Set(this.lower.flatMap((name, number) => name.includes(wanted) ? [number] : []));
  }

  // The events with one of these names, in order of time; kept for the last that was asked for.
  hits(key, numbers_) {
    if (this.last?.key !== key) {
      const places = [];
      for (let at = 0; at < this.name.length; at++) if (this.name[at] >= 0 && numbers_.has(this.name[at])) places.push(at);
      this.last = {key, places: places.sort((a, b) => this.begin[a] - this.begin[b] || a - b)};
    }
    return this.last.places;
  }

  find(text) {
    const matching = this.matching(text), rows = new Map(), wanted = text.trim().toLowerCase();
    for (const at of this.hits("?" + text, matching)) {
      const row = rows.get(this.name[at]) ?? [this.name[at], this.nameOf(this.name[at]), 0, 0, 0];
      row[2]++;
      row[3] += this.length[at];
      row[4]++;
      rows.set(this.name[at], row);
    }
    let list = [...rows.values()];
    if (this.totals) {  // not every event has a box: what the whole profile has of each name, and how many are drawn
      const drawn = new Map(list.map(row => [row[1], row]));
      list = this.totals.filter(([name]) => name.toLowerCase().includes(wanted)).map(([name, count, ns]) => [drawn.get(name)?.[0] ?? -1, name, count, ns, drawn.get(name)?.[4] ?? 0]);
    }
    list.sort((a, b) => b[3] - a[3]);
    const sum = at => list.reduce((total, row) => total + row[at], 0);
    return {count: sum(2), total_ns: sum(3), drawn: sum(4), names: list.length, numbers: [...matching], rows: list.slice(0, 200)};
  }

  hit(text, number) { const place = this.hits("?" + text, this.matching(text))[number - 1]; return place === undefined ? null : {...this.event(place), number}; }
  hitOf(name, number) { const place = this.hits("=" + name, new Set([Number(name)]))[number - 1]; return place === undefined ? null : {...this.event(place), number}; }

  first(name, after) {
    const number = this.names.indexOf(name), place = this.hits("=" + number, new Set([number])).find(at => this.begin[at] >= after);
    return place === undefined ? null : this.event(place);
  }

  locate(place) { return [place, this.rowOf[place], this.begin[place], this.length[place], this.nameOf(this.name[place])]; }

  event(place) {
    const row = this.rowOf[place], number = this.name[place], begin = this.begin[place], end = begin + Math.max(1, this.length[place]);
    const lane = this.lanes.find(one => row >= one[3] && row < one[3] + one[4]), launched = [];
    for (let inner = row; inner < lane[3] + lane[4] && launched.length < 400; inner++) {
      for (let at = this.lower_(inner, begin); at < this.bounds[inner + 1] && this.begin[at] < end; at++) launched.push(...this.launched.get(at) ?? []);
    }
    let same = 0, total = 0;
    for (let at = 0; at < this.name.length; at++) if (this.name[at] === number) { same++; total += this.length[at]; }
    return {place, row, begin_ns: begin, length_ns: this.length[place], name: this.nameOf(number), name_number: number, kind: this.kind[place], family: this.familyOf(place),
      shape: this.shapes[this.shape[place]] ?? "", same: [same, total], by: this.by[place] >= 0 ? this.locate(this.by[place]) : null,
      launched: launched.sort((a, b) => a - b).slice(0, 400).map(at => this.locate(at))};
  }

  sum(from, to, rows, text) {
    const matching = text ? this.matching(text) : null, sums = new Map(), families = {}, step = this.kinds.indexOf("step");
    let count = 0, total_ns = 0;
    for (const row of rows) {
      let at = this.lower_(row, from);
      for (let back = 0; back < 4 && at > this.bounds[row] && this.begin[at - 1] + this.length[at - 1] >= from; back++) at--;
      for (; at < this.bounds[row + 1] && this.begin[at] < to; at++) {
        const inside = Math.min(this.begin[at] + this.length[at], to) - Math.max(this.begin[at], from), number = this.name[at];
        if (inside < 0 || this.kind[at] === step || matching && !matching.has(number)) continue;
        const part = this.length[at] ? this.own[at] * inside / this.length[at] : 0, one = sums.get(number) ?? [number < 0 ? "…" : this.nameOf(number), 0, 0, 0];
        one[1] += this.countOf(at);
        one[2] += part;
        one[3] = Math.max(one[3], this.countOf(at) > 1 ? 0 : this.length[at]);
        sums.set(number, one);
        count += this.countOf(at);
        total_ns += part;
        const family = this.families[this.familyOf(at)];
        if (family) families[family] = (families[family] ?? 0) + part;
      }
    }
    return {count, total_ns, rows: [...sums.values()].sort((a, b) => b[2] - a[2]).slice(0, 200), families};
  }

  modules() { return this.modules_ ?? []; }

  strip(text, from, to, bins) {
    const counts = new Int32Array(bins);
    for (const at of this.hits("?" + text, this.matching(text))) {
      const bin = Math.floor((this.begin[at] - from) / (to - from) * bins);
      if (bin >= 0 && bin < bins) counts[bin]++;
    }
    return counts;
  }

  curve(number, from, to, bins) {
    const {at, value} = this.curves_[number], held = new Float64Array(bins), width = (to - from) / bins;
    let low = 0, high = at.length;
    while (low < high) { const middle = (low + high) >> 1; if (at[middle] < from) low = middle + 1; else high = middle; }
    let before = low ? value[low - 1] : 0;
    for (let bin = 0; bin < bins; bin++) {
      held[bin] = before;
      for (; low < at.length && at[low] < from + (bin + 1) * width; low++) { held[bin] = Math.max(held[bin], value[low]); before = value[low]; }
    }
    return held;
  }
}
