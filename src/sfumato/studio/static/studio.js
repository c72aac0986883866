// What a page needs beyond links and forms: dropped files, the meaning of a chosen model, compared points, a tree drawn by hand.
"use strict";

function whenReady(root) {
  const model = root.querySelector("#model");
  if (model) {
    const told = () => {
      const chosen = model.selectedOptions[0];
      root.querySelector("#levels").value = chosen.dataset.levels;
      root.querySelector("#meaning").textContent = chosen.dataset.meaning;
    };
    model.addEventListener("change", told);
    told();
  }
  points(root);
  const drop = root.querySelector("#drop");
  if (drop) receive(drop, root.querySelector("#pick"), root.querySelector("#dropped"));
  if (root.querySelector("#builder")) draw(root);
}

// Points of the pictures are buttons: choosing one marks its row for comparison, and the other way round.
function points(root) {
  const box = (number) => root.querySelector(`[data-compare="${CSS.escape(number)}"]`);
  const dots = [...root.querySelectorAll("svg [data-point]")].filter((dot) => box(dot.dataset.point));
  const show = () => dots.forEach((dot) => dot.setAttribute("aria-pressed", String(box(dot.dataset.point).checked)));
  dots.forEach((dot) => {
    dot.setAttribute("tabindex", "0"); dot.setAttribute("role", "button");
    dot.setAttribute("aria-label", `compare ${dot.querySelector("title").textContent}`);
    const toggle = () => { box(dot.dataset.point).click(); };
    dot.addEventListener("click", toggle);
    dot.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); toggle(); } });
    dot.closest("svg").removeAttribute("role");
  });
  root.querySelectorAll("[data-compare]").forEach((each) => each.addEventListener("change", show));
  show();
}

function receive(drop, pick, said) {
  const send = async (file) => {
    said.textContent = `Taking ${file.name} …`;
    const answer = await fetch(drop.dataset.put + encodeURIComponent(file.name), { method: "PUT", body: file });
    if (answer.ok) { location.reload(); return; }
    let told = "it was refused";
    try { const error = (await answer.json()).error; told = `${error.what}: ${error.hint}`; } catch { /* no words */ }
    said.textContent = told;
  };
  drop.addEventListener("dragover", (event) => { event.preventDefault(); drop.classList.add("over"); });
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => { event.preventDefault(); drop.classList.remove("over"); if (event.dataTransfer.files[0]) send(event.dataTransfer.files[0]); });
  pick.addEventListener("change", () => { if (pick.files[0]) send(pick.files[0]); });
}

// The tree: nodes {label, leaf, below}; everything on screen is made from it, and it is sent as {root: {group: [value]}}.
function draw(root) {
  const shown = root.querySelector("#drawn"), move = root.querySelector("[data-do=move]"), wrong = root.querySelector("#builder-problem");
  let top = read(root), chosen = null, dragged = null;

  function each(node, seen, parent) { seen(node, parent); node.below.forEach((child) => each(child, seen, node)); }
  function parentOf(wanted) { let found = null; each(top, (node, parent) => { if (node === wanted) found = parent; }, null); return found; }
  function holds(node, wanted) { let found = false; each(node, (other) => { if (other === wanted) found = true; }, null); return found; }
  function place(node, group) {
    if (node === top || group.leaf || holds(node, group)) return;
    const before = parentOf(node);
    before.below.splice(before.below.indexOf(node), 1);
    group.below.push(node);
    prune();
    render();
  }
  function prune() { let again = true; while (again) { again = false; each(top, (node, parent) => { if (parent && !node.leaf && !node.below.length) { parent.below.splice(parent.below.indexOf(node), 1); again = true; } }, null); } }
  function problem() {
    const seen = new Set(); let said = "";
    each(top, (node) => { if (seen.has(node.label)) said = `"${node.label}" stands twice: every name is one node`; seen.add(node.label); }, null);
    wrong.textContent = said; wrong.classList.toggle("hidden", !said);
    return said;
  }
  function tree(node) { return node.below.map((child) => child.leaf ? child.label : { [child.label]: tree(child) }); }
  function item(node) {
    const entry = document.createElement("li"), name = document.createElement("span");
    name.className = node.leaf ? "node" : "node group"; name.textContent = node.label; name.tabIndex = 0; name.draggable = node !== top;
    name.setAttribute("role", "button"); name.setAttribute("aria-pressed", String(node === chosen));
    name.addEventListener("click", () => { chosen = node; render(); });
    name.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); chosen = node; render(true); } });
    name.addEventListener("dragstart", (event) => { dragged = node; event.dataTransfer.setData("text/plain", ""); });
    name.addEventListener("dragover", (event) => { if (!node.leaf) { event.preventDefault(); name.classList.add("over"); } });
    name.addEventListener("dragleave", () => name.classList.remove("over"));
    name.addEventListener("drop", (event) => { event.preventDefault(); if (dragged) place(dragged, node); });
    entry.append(name);
    if (node.below.length) { const list = document.createElement("ul"); list.append(...node.below.map(item)); entry.append(list); }
    return entry;
  }
  function render(focus) {
    shown.replaceChildren(item(top));
    move.replaceChildren(new Option("…", ""));
    each(top, (node) => { if (!node.leaf && node !== chosen) move.append(new Option(node.label, node.label)); }, null);
    root.querySelector("#drawn-tree").value = JSON.stringify({ [top.label]: tree(top) });
    problem();
    if (focus) shown.querySelector(".node[aria-pressed=true]").focus();
  }
  move.addEventListener("change", () => { let group = null; each(top, (node) => { if (!node.leaf && node.label === move.value) group = node; }, null); if (chosen && group) place(chosen, group); });
  root.querySelector("[data-do=group]").addEventListener("click", () => {
    if (!chosen || chosen === top) return;
    const label = prompt("Name of the new group"); if (!label) return;
    const above = parentOf(chosen), group = { label, leaf: false, below: [chosen] };
    above.below.splice(above.below.indexOf(chosen), 1, group); chosen = group; render();
  });
  root.querySelector("[data-do=rename]").addEventListener("click", () => { if (!chosen || chosen.leaf) return; const label = prompt("New name", chosen.label); if (label) { chosen.label = label; render(); } });
  root.querySelector("[data-do=merge]").addEventListener("click", () => {
    if (!chosen || chosen.leaf || chosen === top) return;
    const above = parentOf(chosen); above.below.splice(above.below.indexOf(chosen), 1, ...chosen.below); chosen = above; render();
  });
  render();
}

function read(root) {
  const nodes = [...root.querySelectorAll("[data-tree] li")].map((entry) => ({ label: entry.dataset.label, parent: entry.dataset.parent, leaf: entry.dataset.leaf === "true", below: [] }));
  const groups = new Map(nodes.filter((node) => !node.leaf).map((node) => [node.label, node]));
  nodes.forEach((node) => { const above = groups.get(node.parent); if (above && above !== node) above.below.push(node); });
  return nodes.find((node) => node.parent === "") || { label: "*", leaf: false, below: [] };
}

document.addEventListener("DOMContentLoaded", () => whenReady(document));
document.addEventListener("htmx:afterSwap", () => whenReady(document));
