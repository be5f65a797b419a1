// Replay's service worker. A script that asks for `/data.json` means the site that its page came from; the request is led there,
// inside the archive. All else is left alone: the Content-Security-Policy keeps every request on this origin, with or without us.
const root = new URL("./", self.location).href;

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("fetch", (event) => {
  const url = event.request.url;
  if (!url.startsWith(self.location.origin + "/") || url.startsWith(root)) return;
  event.respondWith(answer(event));
});

async function answer(event) {
  const client = event.clientId ? await self.clients.get(event.clientId) : null;
  const asking = [event.request.referrer, client ? client.url : ""].find((address) => address.startsWith(root));
  const found = asking && /^(\d+)\/(.+)$/.exec(asking.slice(root.length));
  if (!found) return new Response("", { status: 404 });
  const { pathname, search } = new URL(event.request.url);
  return fetch(`${root}${found[1]}/${new URL(pathname + search, found[2]).href}`, { credentials: "omit" });
}
