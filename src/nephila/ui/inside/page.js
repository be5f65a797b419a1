// In front of every replayed page: what its scripts ask for is asked of the archive, at the time of the page.
// This is for pages that mean well. What gets around it is stopped by the Content-Security-Policy.
(() => {
  if (location.protocol !== "http:") return; // a page in an attribute
  const [, token, at] = location.pathname.split("/");
  const root = `${location.origin}/${token}/`;
  const lead = `${root}${at}/`;
  const original = location.href.startsWith(lead) ? location.href.slice(lead.length) : "";

  function into(address) {
    let url;
    try {
      url = new URL(address, document.baseURI);
    } catch {
      return address;
    }
    if (!/^(?:https?|ftp):$/.test(url.protocol) || url.href.startsWith(root)) return address;
    if (url.origin !== location.origin) return lead + url.href;
    return lead + new URL(url.pathname + url.search + url.hash, original).href;
  }

  const sets = (value) => String(value).replace(/(^|,\s+)(\S+)/g, (_, before, url) => before + into(url));
  const how = { src: into, href: into, poster: into, data: into, srcset: sets };

  // Addresses that scripts set: as properties, as attributes, and in markup that is put in.
  const typed = {
    src: [HTMLImageElement, HTMLScriptElement, HTMLIFrameElement, HTMLMediaElement, HTMLSourceElement, HTMLEmbedElement, HTMLInputElement],
    srcset: [HTMLImageElement, HTMLSourceElement],
    href: [HTMLLinkElement],
    poster: [HTMLVideoElement],
    data: [HTMLObjectElement],
  };
  for (const [name, types] of Object.entries(typed)) {
    for (const type of types) {
      const found = Object.getOwnPropertyDescriptor(type.prototype, name);
      Object.defineProperty(type.prototype, name, { ...found, set(value) { found.set.call(this, how[name](value)); } });
    }
  }
  const clickable = (element) => element instanceof HTMLAnchorElement || element instanceof HTMLAreaElement;
  const setAttribute = Element.prototype.setAttribute;
  Element.prototype.setAttribute = function (name, value) {
    const to = how[String(name).toLowerCase()];
    return setAttribute.call(this, name, to && this instanceof HTMLElement && !clickable(this) ? to(value) : value);
  };
  const redo = (element) => {
    for (const [name, to] of Object.entries(how)) {
      const value = element.getAttribute(name);
      if (!value || clickable(element) || !(element instanceof HTMLElement)) continue;
      const wanted = to(value);
      if (wanted !== value) setAttribute.call(element, name, wanted);
    }
  };
  new MutationObserver((changes) => {
    for (const change of changes) {
      for (const node of change.addedNodes) {
        if (node.nodeType !== Node.ELEMENT_NODE) continue;
        redo(node);
        node.querySelectorAll("[src],[srcset],[href],[poster],[data]").forEach(redo);
      }
    }
  }).observe(document, { childList: true, subtree: true });

  // Requests of scripts.
  const { fetch } = window;
  window.fetch = (input, init) =>
    fetch(input instanceof Request ? new Request(into(input.url), input) : into(String(input)), init);
  const { open } = XMLHttpRequest.prototype;
  XMLHttpRequest.prototype.open = function (method, url, ...more) {
    return open.call(this, method, into(String(url)), ...more);
  };
  for (const name of ["Worker", "SharedWorker", "EventSource"]) {
    const Made = window[name];
    if (Made) window[name] = class extends Made { constructor(url, ...more) { super(into(String(url)), ...more); } };
  }
  navigator.sendBeacon = () => true;

  // Ways on: everything opens in this frame.
  for (const name of ["pushState", "replaceState"]) {
    const call = history[name];
    history[name] = function (state, title, url) {
      return call.call(this, state, title, url === undefined || url === null ? url : into(String(url)));
    };
  }
  window.open = (url) => {
    if (url) location.href = into(String(url));
    return null;
  };
  addEventListener("click", (event) => {
    const link = event.composedPath().find((node) => node instanceof Element && clickable(node) && node.href);
    if (!link) return;
    const wanted = into(link.href);
    if (wanted !== link.href) setAttribute.call(link, "href", wanted);
    setAttribute.call(link, "target", "_self");
  }, true);
  addEventListener("submit", (event) => {
    const form = event.target;
    setAttribute.call(form, "action", into(form.getAttribute("action") || location.href));
    setAttribute.call(form, "target", "_self");
  }, true);

  // Nothing is remembered for a site, and it gets no worker of its own.
  Object.defineProperty(Document.prototype, "cookie", { get: () => "", set() {}, configurable: true });
  const never = { register: () => Promise.reject(new DOMException("not in an archive", "NotSupportedError")), ready: new Promise(() => {}), getRegistrations: async () => [], getRegistration: async () => undefined, addEventListener() {}, removeEventListener() {}, controller: null };
  Object.defineProperty(Navigator.prototype, "serviceWorker", { get: () => never, configurable: true });
})();
