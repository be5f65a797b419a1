// The map answers to the pointer and to the keyboard: the links of one cluster stand out, and its numbers are said. Without this script the
// picture is there, every cluster is a link, and the table beside it has the numbers.
const picture = document.querySelector(".wheel svg");
const told = document.querySelector(".told");

function light(n) {
  picture.classList.toggle("lit", n !== null);
  const beside = new Set([n]);
  for (const curve of picture.querySelectorAll(".curves path")) {
    const { a, b } = curve.dataset;
    const ours = n !== null && (a === n || b === n);
    const out = ours && (a === n ? "there" in curve.dataset : "back" in curve.dataset);
    curve.classList.toggle("on", ours);
    curve.classList.toggle("out", out);
    if (ours) beside.add(a).add(b);
  }
  for (const part of document.querySelectorAll("[data-n]")) {
    part.classList.toggle("on", n !== null && part.dataset.n === n);
    part.classList.toggle("beside", n !== null && beside.has(part.dataset.n));
  }
  const cluster = n === null ? null : picture.querySelector(`.cluster[data-n="${n}"]`);
  told.textContent = cluster ? cluster.dataset.told : told.dataset.still;
}

function step(event) {
  const clusters = [...picture.querySelectorAll(".cluster")];
  const at = clusters.indexOf(document.activeElement);
  const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (by) {
    event.preventDefault();
    clusters[(at + by + clusters.length) % clusters.length].focus();
  } else if (event.key === "Home" || event.key === "End") {
    event.preventDefault();
    clusters.at(event.key === "Home" ? 0 : -1).focus();
  }
}

if (picture) {
  const around = picture.closest(".scroll");
  around.scrollLeft = (around.scrollWidth - around.clientWidth) / 2;
  let pinned = null; // what the keyboard stands on
  for (const part of document.querySelectorAll("[data-n]")) {
    part.addEventListener("pointerenter", () => light(part.dataset.n));
    part.addEventListener("pointerleave", () => light(pinned));
    part.addEventListener("focusin", () => light((pinned = part.dataset.n)));
    part.addEventListener("focusout", () => light((pinned = null)));
  }
  picture.addEventListener("keydown", step);
  document.addEventListener("keydown", (event) => {
    const up = document.querySelector(".up");
    if (event.key === "Escape" && up && !event.target.closest("input")) up.click();
  });
}
