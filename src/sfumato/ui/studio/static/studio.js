// What a page needs beyond links and forms: dropped files, and points that are compared.
"use strict";

function whenReady(root) {
  points(root);
  const drop = root.querySelector("#drop");
  if (drop) receive(drop, root.querySelector("#pick"), root.querySelector("#dropped"));
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
    if (answer.ok) {
      const form = drop.dataset.then && document.getElementById(drop.dataset.then), name = (await answer.json()).name;
      if (!form) { location.reload(); return; }
      form.elements.file.append(new Option(name, name, true, true));
      form.requestSubmit();
      return;
    }
    let told = "it was refused";
    try { const error = (await answer.json()).error; told = `${error.what}: ${error.hint}`; } catch { /* no words */ }
    said.textContent = told;
  };
  drop.addEventListener("dragover", (event) => { event.preventDefault(); drop.classList.add("over"); });
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => { event.preventDefault(); drop.classList.remove("over"); if (event.dataTransfer.files[0]) send(event.dataTransfer.files[0]); });
  pick.addEventListener("change", () => { if (pick.files[0]) send(pick.files[0]); });
}

document.addEventListener("DOMContentLoaded", () => whenReady(document));
document.addEventListener("htmx:afterSwap", () => whenReady(document));
