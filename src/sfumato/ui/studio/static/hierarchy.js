// Builders of hierarchies: a tree drawn by hand, cut points on a histogram, an order of values. Each ends in an ordinary form.
"use strict";

// The tree: nodes {label, leaf, records, lost, below}; everything on screen is made from it, and it is sent as {root: [...]}.
function draw(root) {
  const shown = root.querySelector("#drawn"), move = root.querySelector("[data-do=move]"), merge = root.querySelector("[data-do=merge]");
  const wrong = root.querySelector("#builder-problem"), named = root.querySelector("#drawn-name"), said = root.querySelector("#drawn-said");
  let top = read(root), chosen = null, dragged = null;

  function each(node, seen, parent, depth = 0) { seen(node, parent, depth); node.below.forEach((child) => each(child, seen, node, depth + 1)); }
  function parentOf(wanted) { let found = null; each(top, (node, parent) => { if (node === wanted) found = parent; }, null); return found; }
  function holds(node, wanted) { let found = false; each(node, (other) => { if (other === wanted) found = true; }, null); return found; }
  function records(node) { return node.leaf ? node.records : node.below.reduce((sum, child) => sum + records(child), 0); }
  function place(node, group) {
    if (node === top || group.leaf || holds(node, group)) return;
    const before = parentOf(node);
    before.below.splice(before.below.indexOf(node), 1);
    group.below.push(node); node.lost = false;
    prune(); render(true);
  }
  function prune() { let again = true; while (again) { again = false; each(top, (node, parent) => { if (parent && !node.leaf && !node.below.length) { parent.below.splice(parent.below.indexOf(node), 1); if (chosen === node) chosen = parent; again = true; } }, null); } }
  function twice() { const seen = new Set(), found = new Set(); each(top, (node) => { if (seen.has(node.label)) found.add(node.label); seen.add(node.label); }, null); return found; }
  function problem(double) {
    const first = [...double][0];
    wrong.textContent = first === undefined ? "" : `"${first}" stands twice: every name is one node`;
    wrong.classList.toggle("hidden", first === undefined);
    root.querySelector("#drawn-tree").form.querySelector("button").disabled = first !== undefined;
  }
  function tell() {
    let values = 0, levels = 0, largest = 0;
    each(top, (node, parent, depth) => { values += node.leaf; levels = Math.max(levels, depth + 1); if (parent === top) largest = Math.max(largest, records(node)); }, null);
    said.textContent = `${values} values, ${levels} levels, the largest node below the root covers ${largest} records`;
  }
  function tree(node) { return node.below.map((child) => child.leaf ? child.label : { [child.label]: tree(child) }); }
  function item(node, double) {
    const entry = document.createElement("li"), name = document.createElement("button");
    name.type = "button"; name.className = `node${node.leaf ? "" : " group"}${node.lost ? " lost" : ""}${double.has(node.label) ? " twice" : ""}`;
    name.textContent = node.label; name.draggable = node !== top; name.setAttribute("aria-pressed", String(node === chosen));
    name.addEventListener("click", () => { chosen = node; named.value = node.leaf ? "" : node.label; render(true); });
    name.addEventListener("dragstart", (event) => { dragged = node; event.dataTransfer.setData("text/plain", ""); });
    name.addEventListener("dragover", (event) => { if (!node.leaf) { event.preventDefault(); name.classList.add("over"); } });
    name.addEventListener("dragleave", () => name.classList.remove("over"));
    name.addEventListener("drop", (event) => { event.preventDefault(); if (dragged) place(dragged, node); });
    entry.append(name);
    const count = document.createElement("small"); count.textContent = ` ${records(node)}`; entry.append(count);
    if (node.below.length) { const list = document.createElement("ul"); list.append(...node.below.map((child) => item(child, double))); entry.append(list); }
    return entry;
  }
  function render(focus) {
    const double = twice();
    shown.replaceChildren(item(top, double));
    [move, merge].forEach((list) => list.replaceChildren(new Option("…", "")));
    each(top, (node) => { if (node.leaf || node === chosen || (chosen && holds(chosen, node))) return; move.append(new Option(node.label, node.label)); if (node !== top && chosen && !chosen.leaf && chosen !== top && !holds(node, chosen)) merge.append(new Option(node.label, node.label)); }, null);
    root.querySelector("#drawn-tree").value = JSON.stringify({ [top.label]: tree(top) });
    problem(double); tell();
    if (focus && chosen) { const pressed = shown.querySelector(".node[aria-pressed=true]"); if (pressed) pressed.focus(); }
  }
  function group(label) { let found = null; each(top, (node) => { if (!node.leaf && node.label === label) found = node; }, null); return found; }
  function inPlaceOf(node, others) { const above = parentOf(node); above.below.splice(above.below.indexOf(node), 1, ...others); return above; }
  function ask() { const label = named.value.trim(); if (!label) { named.focus(); wrong.textContent = "write a name first"; wrong.classList.remove("hidden"); } return label; }
  const acts = {
    group() { const label = chosen && chosen !== top && ask(); if (!label) return; const made = { label, leaf: false, records: 0, below: [chosen] }; inPlaceOf(chosen, [made]); chosen.lost = false; chosen = made; render(true); },
    rename() { const label = chosen && !chosen.leaf && ask(); if (!label) return; chosen.label = label; render(true); },
    level() {
      if (!chosen || chosen.leaf || chosen.below.length < 3) return;
      const pairs = [];
      for (let at = 0; at < chosen.below.length; at += 2) {
        const two = chosen.below.slice(at, at + 2);
        pairs.push(two.length === 1 ? two[0] : { label: `${first(two[0])} to ${last(two[1])}`, leaf: false, records: 0, below: two });
      }
      chosen.below = pairs; render(true);
    },
    dissolve() { if (!chosen || chosen.leaf || chosen === top) return; chosen = inPlaceOf(chosen, chosen.below); render(true); },
  };
  function first(node) { return node.leaf ? node.label : first(node.below[0]); }
  function last(node) { return node.leaf ? node.label : last(node.below[node.below.length - 1]); }
  Object.entries(acts).forEach(([name, act]) => root.querySelector(`[data-do=${name}]`).addEventListener("click", act));
  move.addEventListener("change", () => { const target = group(move.value); if (chosen && target) place(chosen, target); });
  merge.addEventListener("change", () => { const target = group(merge.value); if (!chosen || !target) return; target.below.push(...chosen.below); inPlaceOf(chosen, []); chosen = target; prune(); render(true); });
  render();
}

function read(root) {
  const nodes = [...root.querySelectorAll("[data-tree] li")].map((entry) => ({ label: entry.dataset.label, parent: entry.dataset.parent, leaf: entry.dataset.leaf === "true", lost: entry.dataset.lost === "true", records: Number(entry.dataset.records), below: [] }));
  const groups = new Map(nodes.filter((node) => !node.leaf).map((node) => [node.label, node]));
  nodes.forEach((node) => { const above = groups.get(node.parent); if (above && above !== node) above.below.push(node); });
  return nodes.find((node) => node.parent === "") || { label: "*", leaf: false, records: 0, below: [] };
}

// Cut points: inner ones are lines that move; the ends are round numbers around the data and move with the field.
function cut(root) {
  const place = root.querySelector("#cutter"), svg = place.querySelector("#cuts"), field = place.querySelector("#cut-points"), said = place.querySelector("#cut-said");
  const bins = JSON.parse(place.dataset.bins), whole = place.dataset.whole === "true", total = Number(place.dataset.records);
  const now = JSON.parse(place.dataset.now), start = (Array.isArray(now[0]) ? now[0] : now).map(Number);
  let low = start.length ? start[0] : Number(place.dataset.low), high = start.length ? start[start.length - 1] : Number(place.dataset.high);
  let inner = start.slice(1, -1);
  const left = 10, wide = 780, floor = 140, most = Math.max(...bins.map((bin) => bin[2]), 1);
  const step = () => whole ? 1 : (high - low) / 200;
  const x = (value) => left + wide * (value - low) / (high - low);
  const value = (at) => { const found = low + (high - low) * (at - left) / wide; return whole ? Math.round(found) : Number(found.toPrecision(4)); };
  const make = (name, given, text) => { const made = document.createElementNS("http://www.w3.org/2000/svg", name); Object.entries(given).forEach(([key, entry]) => made.setAttribute(key, entry)); if (text !== undefined) made.textContent = text; return made; };
  const inside = (each) => each > low && each < high;
  function settle(focus) {
    inner = [...new Set(inner.filter(inside))].sort((a, b) => a - b);
    field.value = [low, ...inner, high].join(", ");
    render(focus); tell();
  }
  function tell() {
    const ends = [low, ...inner, high], counts = ends.slice(1).map(() => 0);
    bins.forEach(([from, to, count]) => ends.slice(1).forEach((end, at) => { const both = Math.max(0, Math.min(to, end) - Math.max(from, ends[at])); counts[at] += to > from ? count * both / (to - from) : 0; }));
    said.textContent = `${counts.length} bin${counts.length === 1 ? "" : "s"}, the largest with about ${Math.round(Math.max(...counts))} of ${total} records`;
  }
  function moveTo(at, wanted) { const next = whole ? Math.round(wanted) : Number(wanted.toPrecision(6)); if (!inside(next) || inner.some((other, place) => place !== at && other === next)) return; inner[at] = next; settle(next); }
  function line(each, at) {
    const group = make("g", { class: "cut", tabindex: "0", role: "slider", "aria-label": `cut point ${at + 1}`, "aria-valuemin": low, "aria-valuemax": high, "aria-valuenow": each, "data-at": at });
    group.append(make("rect", { x: x(each) - 7, y: 4, width: 14, height: floor, class: "grip" }), make("line", { x1: x(each), x2: x(each), y1: 14, y2: floor }), make("text", { x: x(each), y: floor + 16, "text-anchor": "middle" }, String(each)));
    group.addEventListener("keydown", (event) => {
      const moves = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 };
      if (event.key in moves) { event.preventDefault(); moveTo(at, inner[at] + moves[event.key] * step()); }
      if (event.key === "Delete" || event.key === "Backspace") { event.preventDefault(); inner.splice(at, 1); settle(inner[Math.min(at, inner.length - 1)]); }
    });
    group.addEventListener("pointerdown", (event) => { event.stopPropagation(); event.preventDefault(); group.focus(); drag(at, event.pointerId); });
    group.addEventListener("click", (event) => event.stopPropagation());
    return group;
  }
  const where = (event) => { const box = svg.getBoundingClientRect(); return (event.clientX - box.left) * 800 / box.width; };
  function drag(at, pointer) {
    let last = inner[at];
    svg.setPointerCapture(pointer);
    const moving = (event) => { const index = inner.indexOf(last); moveTo(index, value(where(event))); last = inner.reduce((best, each) => Math.abs(each - value(where(event))) < Math.abs(best - value(where(event))) ? each : best, last); };
    const over = () => { svg.removeEventListener("pointermove", moving); svg.removeEventListener("pointerup", over); svg.dataset.dragged = "1"; setTimeout(() => delete svg.dataset.dragged, 0); };
    svg.addEventListener("pointermove", moving); svg.addEventListener("pointerup", over);
  }
  function render(focus) {
    svg.replaceChildren(...bins.map(([from, to, count]) => { const bar = make("rect", { x: x(from), y: floor - (floor - 20) * count / most, width: Math.max(x(to) - x(from) - 1, 1), height: (floor - 20) * count / most, class: "bar" }); bar.append(make("title", {}, `${from} to ${to}: ${count}`)); return bar; }),
      make("text", { x: left, y: 166, class: "end" }, String(low)), make("text", { x: left + wide, y: 166, "text-anchor": "end", class: "end" }, String(high)), ...inner.map(line));
    if (focus !== undefined) { const at = svg.querySelector(`.cut[aria-valuenow="${CSS.escape(String(focus))}"]`); if (at) at.focus(); }
  }
  svg.addEventListener("click", (event) => { if (svg.dataset.dragged) return; const each = value(where(event)); if (inside(each)) { inner.push(each); settle(each); } });
  place.querySelector("#cut-add").addEventListener("click", () => { const ends = [low, ...inner, high]; let at = 0; ends.slice(1).forEach((end, index) => { if (end - ends[index] > ends[at + 1] - ends[at]) at = index; }); const middle = value(x((ends[at] + ends[at + 1]) / 2)); if (inside(middle)) { inner.push(middle); settle(middle); } });
  field.addEventListener("change", () => { const given = field.value.split(",").map((part) => Number(part.trim())).filter((each) => !Number.isNaN(each)).sort((a, b) => a - b); if (given.length > 1) { low = given[0]; high = given[given.length - 1]; inner = given.slice(1, -1); } settle(); });
  settle();
}

// An order: entries move by dragging or with Up and Down.
function order(root) {
  const form = root.querySelector("#ordering"), list = form.querySelector("ol");
  let chosen = null, dragged = null;
  const choose = (entry) => { list.querySelectorAll(".node").forEach((name) => name.setAttribute("aria-pressed", String(name.parentElement === entry))); chosen = entry; };
  list.querySelectorAll("li").forEach((entry) => {
    const name = entry.querySelector(".node");
    name.addEventListener("click", () => choose(entry));
    name.addEventListener("dragstart", (event) => { dragged = entry; event.dataTransfer.setData("text/plain", ""); });
    name.addEventListener("dragover", (event) => event.preventDefault());
    name.addEventListener("drop", (event) => { event.preventDefault(); if (dragged && dragged !== entry) { const after = [...list.children].indexOf(dragged) < [...list.children].indexOf(entry); entry[after ? "after" : "before"](dragged); choose(dragged); } });
  });
  form.querySelectorAll("[data-move]").forEach((button) => button.addEventListener("click", () => {
    if (!chosen) return;
    if (button.dataset.move === "-1" && chosen.previousElementSibling) chosen.previousElementSibling.before(chosen);
    if (button.dataset.move === "1" && chosen.nextElementSibling) chosen.nextElementSibling.after(chosen);
  }));
}

function builders() {
  if (document.querySelector("#builder")) draw(document);
  if (document.querySelector("#cutter")) cut(document);
  if (document.querySelector("#ordering")) order(document);
}
document.addEventListener("DOMContentLoaded", builders);
document.addEventListener("htmx:afterSwap", builders);
