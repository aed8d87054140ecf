// The operator that parts two runs: its line, its errors, and both sides' tensors over each other.

import {card, findFile, h, number, once, onceOrAbove, place, prose, t, w} from "./dom.js";
import {cell, columnOf, shown} from "./table.js";
import {excerpt, half} from "./code.js";
import {legend} from "./charts.js";

const NUMBERS = ["error_in", "error_out", "own_error", "allowed", "judgement"];

// What it is, and where it stands in the model, in the script and in the table.
export function culpritCard(culprit, table, row, verdict, pick) {
  const told = name => { const column = columnOf(table, name); return column && cell(column, row) !== null && cell(column, row) !== "-" ? shown(column, row) : ""; };
  const where = h("div", {class: "where"}), spot = culprit.place || told("place"), module = culprit.module || told("module");
  const made = h("section", {class: "card first fix culprit", "aria-labelledby": "culprit"},
    h("div", {class: "what"}, h("h2", {id: "culprit"}, h("code", {}, told("operator")), " ", h("button", {type: "button", class: "small", onclick: () => pick(row)}, w("show_in_table"))),
      once(verdict) ? h("p", {class: "small"}, prose(t(verdict))) : null,
      module ? h("p", {class: "crumbs"}, h("span", {class: "small"}, w("in_module") + " "), module.split(".").map((name, at) => [at ? h("span", {"aria-hidden": "true"}, " › ") : null, h("code", {}, name)])) : null,
      culprit.named?.length && !culprit.named.includes(told("operator")) ? h("p", {}, w("blamed", {names: culprit.named.join(", ")})) : null,
      h("dl", {class: "numbers"}, NUMBERS.map(name => told(name) && h("div", {}, h("dt", {}, t(columnOf(table, name).title)), h("dd", {}, told(name)))))), where);
  const path = /^(.*?):(\d+)/.exec(spot);
  if (path && findFile(path[1])) excerpt(where, spot);
  else if (culprit.source) where.append(h("p", {}, place(spot)), lines(culprit.source, spot));
  else if (spot) where.append(h("p", {}, place(spot)), h("p", {class: "small"}, w("no_source")));
  else where.append(h("p", {class: "small"}, w("no_place")));
  return made;
}

function lines({first, line, lines: all}, label) {
  return h("div", {class: "lines single excerpt", tabindex: "0", role: "region", "aria-label": label},
    all.map((tokens, at) => h("div", {class: `row${first + at === line ? " target" : ""}`}, half(first + at, tokens, ""))));
}

// Each tensor of the operator, outputs before inputs: its error, and how its values are spread on both sides.
export function histogramCard(culprit) {
  const sides = ["output", "input"], rank = one => { const at = sides.indexOf(one.slot.split(".")[0]); return at < 0 ? sides.length : at; };
  const tensors = [...culprit.tensors].sort((a, b) => rank(a) - rank(b));
  return card(w("tensors"), legend([[w("baseline"), "s1"], [w("target"), "s2"]]),
    h("div", {class: "low figures", tabindex: "0", role: "region", "aria-label": w("tensors")}, tensors.map(figure)),
    culprit.left_out ? h("p", {class: "small"}, w("tensors_left_out", {count: culprit.left_out})) : null);
}

const WHY = {unsaved: "histogram_unsaved", unpaired: "histogram_unpaired", unreadable: "histogram_unreadable", nothing: "histogram_nothing"};

function figure(tensor) {
  const {slot, dtype, shape, error, problem, histogram, figures} = tensor;
  const off = error !== 0 && error !== null && error !== undefined;
  const made = h("figure", {}, h("figcaption", {}, h("b", {}, slot), ` ${dtype} ${shape.join("×")} `,
    h("span", {class: off ? "off" : "even"}, error === null || error === undefined ? w("error_unknown") : w("error_is", {error: number(error)})), problem ? h("span", {}, " ", t(problem)) : null));
  if (histogram) made.append(...spread(histogram, slot));
  else made.append(h("p", {class: "small"}, onceOrAbove(w(WHY[tensor.why] ?? WHY.unreadable))));
  if (!histogram && figures) made.append(figureTable(figures));
  return made;
}

const FIGURE = {minimum: "figure_minimum", maximum: "figure_maximum", mean: "figure_mean", norm: "figure_norm"};

// Where no values were saved: what was.
function figureTable(figures) {
  const sides = ["baseline", "target"].filter(side => figures[side]);
  const kinds = Object.keys(FIGURE).filter(kind => sides.some(side => figures[side][kind] !== undefined));
  return h("table", {}, h("thead", {}, h("tr", {}, h("td", {}), kinds.map(kind => h("th", {scope: "col", class: "n"}, w(FIGURE[kind]))))),
    h("tbody", {}, sides.map(side => h("tr", {}, h("th", {scope: "row"}, w(side)), kinds.map(kind => h("td", {class: "n"}, number(figures[side][kind], 7)))))));
}

const WIDE = 320, TALL = 72;

// Counts of both sides in the same bins, their heights logarithmic; what is not finite, and how far elements are apart, in words.
function spread({low, high, baseline, target, odd_baseline: oddBaseline, odd_target: oddTarget, apart, equal, read, size}, slot) {
  const most = Math.max(...baseline, ...target, 1), up = count => TALL - (TALL - 4) * Math.log1p(count) / Math.log1p(most), part = WIDE / baseline.length;
  const steps = counts => counts.map((count, at) => `L${(at * part).toFixed(1)} ${up(count).toFixed(1)}L${((at + 1) * part).toFixed(1)} ${up(count).toFixed(1)}`).join("");
  const label = w("histogram_label", {slot, low: number(low), high: number(high)});
  const svg = h("svg", {viewBox: `0 0 ${WIDE} ${TALL + 2}`, preserveAspectRatio: "none", class: "histogram", role: "img", "aria-label": label},
    h("path", {class: "filling", d: `M0 ${TALL}${steps(baseline)}L${WIDE} ${TALL}Z`}), h("path", {class: "outline", d: `M0 ${TALL}${steps(target)}L${WIDE} ${TALL}`}));
  const odd = [[w("baseline"), oddBaseline], [w("target"), oddTarget]].filter(([, counts]) => counts.some(count => count > 0))
    .map(([side, [nan, above, below]]) => w("not_finite", {side, nan, above, below}));
  const words = [apartWords(apart, equal), ...odd, read < size ? w("share_read", {read, size}) : ""].filter(Boolean);
  return [svg, h("p", {class: "ends small"}, h("span", {}, number(low)), h("span", {}, number(high))), words.map(text => h("p", {class: "small"}, text))].flat();
}

const LEAST = -12;

// How many elements differ, and the decades in which the middle eight of ten of those lie.
function apartWords(apart, equal) {
  const differ = apart.reduce((sum, count) => sum + count, 0), all = differ + equal;
  if (!all) return "";
  if (!differ) return w("apart_none");
  let before = 0, from = null, to = null;
  apart.forEach((count, at) => {
    before += count;
    if (from === null && before >= 0.1 * differ) from = at;
    if (to === null && before >= 0.9 * differ) to = at;
  });
  const share = 100 * differ / all;
  return w("apart_most", {share: share < 0.01 ? "< 0.01" : number(share, 3), count: differ, low: `1e${from + LEAST}`, high: `1e${to + 1 + LEAST}`});
}
