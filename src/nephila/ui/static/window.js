// What moves by itself: the parts of a page come as they are rendered, and take the place of the old ones. All works without this, too.
const parts = new Map([...document.querySelectorAll("[data-part]")].map((part) => [part.dataset.part, part]));
const late = new Map();
const parser = new DOMParser();

// What was chosen in a part stays chosen, and whoever is writing or pressing there is not disturbed.
function replace(name, text) {
  const part = parts.get(name);
  if (!part) return;
  if (part.querySelector(":active, input:not([type=checkbox]):focus")) {
    late.set(name, text);
    return;
  }
  const chosen = new Set([...part.querySelectorAll("input:checked")].map((box) => box.value));
  part.replaceChildren(...parser.parseFromString(text, "text/html").body.childNodes);
  for (const box of part.querySelectorAll("input[type=checkbox]")) box.checked = chosen.has(box.value);
}

function follow(address) {
  const stream = new EventSource(address);
  stream.onmessage = (event) => {
    document.body.classList.remove("stale");
    const came = [...late, ...Object.entries(JSON.parse(event.data))];
    late.clear();
    for (const [name, text] of came) replace(name, text);
  };
  stream.onerror = () => document.body.classList.add("stale");
  stream.addEventListener("over", () => {
    stream.close();
    document.querySelector(".over").hidden = false;
    document.body.classList.add("ended");
  });
}

// What cannot be undone is asked about.
document.addEventListener("click", (event) => {
  const question = event.target.closest("[data-sure]")?.dataset.sure;
  if (question && !confirm(question)) event.preventDefault();
});

// A printed address that is opened a second time: its token stays in no history.
if (location.hash.startsWith("#token=")) history.replaceState(null, "", location.pathname + location.search);
if (document.body.dataset.live) follow(document.body.dataset.live);
