// What a page needs beyond links and forms: dropped files, and points that are compared.
"use strict";

function whenReady(root) {
  points(root); filtering(document); sides(root);
  const drop = root.querySelector("#drop");
  if (drop && !drop.dataset.ready) { drop.dataset.ready = "1"; receive(drop, root.querySelector("#pick"), root.querySelector("#dropped")); }
}

// Points of the pictures are buttons: choosing one marks its row for comparison, and the other way round.
function points(root) {
  const box = (number) => root.querySelector(`[data-compare="${CSS.escape(number)}"]`);
  const dots = [...root.querySelectorAll("svg [data-point]")].filter((dot) => box(dot.dataset.point));
  const show = () => dots.forEach((dot) => dot.setAttribute("aria-pressed", String(box(dot.dataset.point).checked)));
  dots.filter((dot) => !dot.dataset.ready).forEach((dot) => {
    dot.dataset.ready = "1";
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
  const send = async (file, replace) => {
    said.textContent = `Taking ${file.name} …`;
    const answer = await fetch(drop.dataset.put + encodeURIComponent(file.name) + (replace ? "?replace=1" : ""), { method: "PUT", body: file });
    if (answer.ok) {
      const form = drop.dataset.then && document.getElementById(drop.dataset.then), name = (await answer.json()).name;
      if (!form && drop.dataset.go && !/\.(yaml|yml|ledger|pem|pub|zip|json)$/i.test(name)) { location.href = drop.dataset.go + encodeURIComponent(name); return; }
      if (!form) { location.reload(); return; }
      if (form.dataset.field) { const field = document.createElement("input"); field.type = "hidden"; field.name = form.dataset.field; field.value = name; form.append(field); form.requestSubmit(); return; }
      form.elements.file.append(new Option(name, name, true, true));
      form.requestSubmit();
      return;
    }
    let told = "it was refused";
    try { const error = (await answer.json()).error; told = `${error.what}: ${error.hint}`; } catch { /* no words */ }
    said.textContent = told;
    if (/is there already/.test(told)) {
      const again = document.createElement("button");
      again.type = "button"; again.className = "quiet"; again.textContent = `Replace ${file.name}`;
      again.addEventListener("click", () => send(file, true));
      said.append(" ", again);
    }
  };
  drop.addEventListener("dragover", (event) => { event.preventDefault(); drop.classList.add("over"); });
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => { event.preventDefault(); drop.classList.remove("over"); if (event.dataTransfer.files[0]) send(event.dataTransfer.files[0]); });
  pick.addEventListener("change", () => { if (pick.files[0]) send(pick.files[0]); });
}

// Rows whose column does not hold what is typed are hidden; nothing is sent.
function filtering(root) {
  const field = root.querySelector("#filter");
  if (!field || field.dataset.ready) return;
  field.dataset.ready = "1";
  const show = () => { const wanted = field.value.toLowerCase(); document.querySelectorAll("tr[data-row]").forEach((row) => { row.hidden = !row.textContent.toLowerCase().includes(wanted); }); };
  field.addEventListener("input", show);
  field.form.addEventListener("keydown", (event) => { if (event.target === field && event.key === "Enter") event.preventDefault(); });
}

// Every form of a page says which text of the policy it was filled in for: after a swap all of them say the new one.
let known = "";
function refresh() {
  const now = document.querySelector("#undo input[name=seen]");
  if (!now || now.value === known) return;  // that form came with the answer, or nothing changed
  known = now.value;
  document.querySelectorAll("input[name=seen]").forEach((field) => { field.value = now.value; });
}

function sides(root) {
  root.querySelectorAll("[data-sides] input").forEach((input) => { if (input.dataset.ready) return; input.dataset.ready = "1"; input.addEventListener("change", () => { const place = document.getElementById(input.closest("[data-sides]").dataset.sides); place.className = input.value; }); });
}

document.addEventListener("DOMContentLoaded", () => { whenReady(document); refresh(); });
document.addEventListener("htmx:afterSettle", refresh);
document.addEventListener("htmx:afterSwap", (event) => {
  refresh();  // before the next change in the queue is sent, which is before the answer has settled
  whenReady(event.detail.target && event.detail.target.isConnected ? event.detail.target : document);
});
