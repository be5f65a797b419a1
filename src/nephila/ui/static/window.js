// What moves by itself: the parts of a page come as they are rendered, and take the place of the old ones. All works without this, too.
const parts = new Map([...document.querySelectorAll("[data-part]")].map((part) => [part.dataset.part, part]));
const parser = new DOMParser();

function replace(name, text) {
  const part = parts.get(name);
  if (part) part.replaceChildren(...parser.parseFromString(text, "text/html").body.childNodes);
}

function follow(address) {
  const stream = new EventSource(address);
  stream.onmessage = (event) => {
    document.body.classList.remove("stale");
    for (const [name, text] of Object.entries(JSON.parse(event.data))) replace(name, text);
  };
  stream.onerror = () => document.body.classList.add("stale");
  stream.addEventListener("over", () => {
    stream.close();
    document.querySelector(".over").hidden = false;
    document.body.classList.add("ended");
  });
}

// A printed address that is opened a second time: its token stays in no history.
if (location.hash.startsWith("#token=")) history.replaceState(null, "", location.pathname + location.search);
if (document.body.dataset.live) follow(document.body.dataset.live);
