// Promises: lines of claims between columns, the sentence of a chosen model, and numbers beside the lines of the policy.
"use strict";

const INKS = ["#3f6ea8", "#b5654a", "#3f8a5f", "#8a5fa8", "#a88a2e", "#2f8a98", "#a04668", "#6b6455"];

function sentences() {
  const model = document.querySelector("#model");
  if (!model || model.dataset.ready) return;
  model.dataset.ready = "1";
  const show = () => document.querySelectorAll("fieldset.sentence").forEach((each) => { const mine = each.dataset.model === model.value; each.hidden = !mine; each.disabled = !mine; });
  model.addEventListener("change", show); show();
}

function picture() {
  const place = document.querySelector(".columns-map"), svg = document.querySelector("#claim-lines");
  if (!place || !svg) return;
  const claims = JSON.parse(place.dataset.claims), [left, right] = place.querySelectorAll("fieldset");
  const row = (side, name) => [...side.querySelectorAll("label")].find((label) => label.dataset.column === name);
  const draw = () => {
    const box = svg.getBoundingClientRect();
    if (!box.height) return;
    svg.setAttribute("viewBox", `0 0 ${box.width} ${box.height}`);
    const y = (label) => { const at = label.getBoundingClientRect(); return at.top + at.height / 2 - box.top; };
    const line = (from, to, ink, dashes, words) => {
      const path = document.createElementNS("http://www.w3.org/2000/svg", "path"), title = document.createElementNS("http://www.w3.org/2000/svg", "title"), w = box.width;
      path.setAttribute("d", `M0 ${from} C${w / 2} ${from} ${w / 2} ${to} ${w} ${to}`); path.setAttribute("fill", "none"); path.setAttribute("stroke", ink); path.setAttribute("stroke-width", "2");
      if (dashes) path.setAttribute("stroke-dasharray", "5 4");
      title.textContent = words; path.append(title); return path;
    };
    const between = (given, hide, ink, dashes, words) => given.flatMap((one) => hide.map((two) => [row(left, one), row(right, two)])).filter(([one, two]) => one && two).map(([one, two]) => line(y(one), y(two), ink, dashes, words));
    const marked = (side) => [...side.querySelectorAll("input:checked")].map((input) => input.value);
    svg.replaceChildren(...claims.flatMap((claim, at) => between(claim.given, claim.hide, INKS[at % INKS.length], false, claim.sentence)), ...between(marked(left), marked(right), "#c2491d", true, "marked"));
  };
  place.addEventListener("change", draw);
  new ResizeObserver(draw).observe(place);
  draw();
}

function editor() {
  const yaml = document.querySelector("#yaml"), gutter = document.querySelector("#gutter");
  if (!yaml || !gutter) return;
  const number = () => {
    const wrong = Number((document.querySelector("#wrong-line") || { dataset: {} }).dataset.line || 0), count = yaml.value.split("\n").length;
    gutter.replaceChildren(...Array.from({ length: count }, (_, at) => { const each = document.createElement("div"); each.textContent = String(at + 1); if (at + 1 === wrong) each.className = "wrong"; return each; }));
    gutter.scrollTop = yaml.scrollTop;
  };
  if (!yaml.dataset.ready) {
    yaml.dataset.ready = "1";
    yaml.addEventListener("input", number);
    yaml.addEventListener("scroll", () => { gutter.scrollTop = yaml.scrollTop; });
  }
  number();
}

document.addEventListener("click", (event) => {
  const link = event.target.closest && event.target.closest("[data-line].line-link"), yaml = document.querySelector("#yaml");
  if (!link || !yaml) return;
  event.preventDefault();
  const folded = yaml.closest("details"); if (folded) folded.open = true;
  const lines = yaml.value.split("\n"), before = lines.slice(0, Number(link.dataset.line) - 1).reduce((sum, line) => sum + line.length + 1, 0);
  yaml.focus(); yaml.setSelectionRange(before, before + (lines[Number(link.dataset.line) - 1] || "").length);
});
function promises() { sentences(); picture(); editor(); }
document.addEventListener("DOMContentLoaded", promises);
document.addEventListener("htmx:afterSettle", promises);
