// Exchanges the token behind the # of the printed address for a cookie, once. Nothing of it stays in the history.
const token = new URLSearchParams(location.hash.slice(1)).get("token");
history.replaceState(null, "", location.pathname + location.search);
if (token) {
  fetch("/enter", { method: "POST", body: token }).then((answer) => {
    if (answer.ok) location.replace(location.href);
  });
}
