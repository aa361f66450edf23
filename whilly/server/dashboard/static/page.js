// Says whether the page is live, and looks again by itself while it is not. Everything else is rendered by the server.
// Loaded first, or it misses the beginning.
"use strict";

const live = document.getElementById("live");

function show(state) {
  live.dataset.state = state;
  live.title = state === "on" ? "Changes appear by themselves" : "Not connected; the page looks again every 5 s";
}

live.addEventListener("htmx:sse:after:connection", () => show("on"));
live.addEventListener("htmx:sse:error", () => show("off"));
live.addEventListener("htmx:sse:close", () => show("off"));
setInterval(() => {
  if (live.dataset.state === "off" && !document.hidden) live.dispatchEvent(new Event("changed"));
}, 5000);
