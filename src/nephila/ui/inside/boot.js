// The first page in the frame: waits until the service worker is there, then opens the address behind the #.
const target = () => location.replace(new URL(location.hash.slice(1), location.href));
const late = new Promise((resolve) => setTimeout(resolve, 3000));

async function ready() {
  await navigator.serviceWorker.register("worker.js");
  await navigator.serviceWorker.ready;
}

// Without one (some private windows) pages replay all the same, but for requests of scripts that begin with a slash.
Promise.race([ready().catch(() => {}), late]).then(target);
