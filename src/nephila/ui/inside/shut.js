// The first script of every page on the archive's host: there is no WebRTC in it, nor in any frame that it makes. Browsers have no
// policy that forbids WebRTC, and an empty frame has one of its own. So each frame is looked at before anybody else can: when markup
// or elements are put in, when its window is asked for, when the parser has made it, and when it has loaded.
(() => {
  const { apply, defineProperty, getOwnPropertyDescriptor } = Reflect;
  const lead = `<script src="${document.currentScript.src}"></script>`;
  const met = new WeakSet();

  const windows = ["HTMLIFrameElement", "HTMLFrameElement", "HTMLObjectElement", "HTMLEmbedElement"];
  const sinks = {
    Node: ["appendChild", "insertBefore", "replaceChild"],
    Element: ["append", "prepend", "before", "after", "replaceWith", "replaceChildren", "moveBefore", "insertAdjacentElement", "insertAdjacentHTML", "innerHTML", "outerHTML", "setHTMLUnsafe"],
    CharacterData: ["before", "after", "replaceWith"],
    Document: ["append", "prepend", "replaceChildren", "moveBefore", "write", "writeln", "execCommand"],
    DocumentFragment: ["append", "prepend", "replaceChildren", "moveBefore"],
    ShadowRoot: ["innerHTML", "setHTMLUnsafe"],
    Range: ["insertNode", "surroundContents"],
  };

  function around(found, then) {
    const wrapped = (call) => function (...given) {
      const answer = apply(call, this, given);
      then(answer);
      return answer;
    };
    for (const part of ["value", "get", "set"]) if (found[part]) found[part] = wrapped(found[part]);
    return found;
  }

  function replace(owner, name, then) {
    const found = owner && getOwnPropertyDescriptor(owner, name);
    if (found && found.configurable) defineProperty(owner, name, around(found, then));
  }

  function shut(realm) {
    try {
      if (!met.has(realm.Node)) close(realm);
      if (!met.has(realm.document)) watch(realm, realm.document); // a window may outlive its first document
    } catch {
      // of another origin: nobody here reaches into it
    }
  }

  function close(realm) {
    met.add(realm.Node);
    for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection"]) defineProperty(realm, name, { value: undefined });
    for (const name of windows) {
      const owner = realm[name] && realm[name].prototype;
      replace(owner, "contentWindow", (frame) => frame && shut(frame));
      for (const way of ["contentDocument", "getSVGDocument"]) replace(owner, way, (inside) => inside && inside.defaultView && shut(inside.defaultView));
    }
    for (const [owner, names] of Object.entries(sinks)) for (const name of names) replace(realm[owner] && realm[owner].prototype, name, all);
    replace(realm.Element.prototype, "attachShadow", (root) => watch(realm, root));
    realm.addEventListener("load", all, true);
  }

  // All frames there are, at any depth.
  function all() {
    within(self);
  }
  function within(realm) {
    for (let n = 0, count = realm.length; n < count; n++) {
      shut(realm[n]);
      try {
        if (met.has(realm[n].Node)) within(realm[n]);
      } catch {
        // of another origin
      }
    }
  }

  // What the parser makes; and pages that are given as a text (`srcdoc`) begin with this script, too.
  function watch(realm, root) {
    met.add(root);
    new realm.MutationObserver((changes) => {
      for (const change of changes) {
        if (change.type === "attributes") inline(change.target);
        for (const node of change.addedNodes) {
          if (node.nodeType !== 1) continue;
          inline(node);
          for (const frame of node.querySelectorAll("iframe")) inline(frame);
        }
      }
      all();
    }).observe(root, { childList: true, subtree: true, attributes: true, attributeFilter: ["srcdoc"] });
  }
  function inline(frame) {
    if (frame.localName !== "iframe") return;
    frame.contentWindow;
    const text = frame.getAttribute("srcdoc");
    if (text !== null && !text.startsWith(lead)) frame.setAttribute("srcdoc", lead + text);
  }

  shut(self);
})();
