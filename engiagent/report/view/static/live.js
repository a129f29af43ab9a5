// Fetches the page again whenever the server says that something has changed, and puts in place
// what has. Without this file the same pages work; that of a running run then reloads itself.
"use strict";

(() => {
  const watched = document.querySelector("[data-stream]");
  const said = document.getElementById("live-state");
  if (!watched || watched.hasAttribute("data-ended")) return;
  const source = new EventSource(watched.dataset.stream);
  let busy = false;
  let waiting = false;

  const say = (text) => {
    if (said && said.textContent !== text) said.textContent = text;
  };

  const boxes = () => [...document.querySelectorAll("input[type=checkbox]")];

  const put = (fresh) => {
    const ticked = new Set(boxes().filter((box) => box.checked).map((box) => box.value));
    for (const part of document.querySelectorAll("[data-live]")) {
      const next = fresh.getElementById(part.id);
      if (!next || next.innerHTML === part.innerHTML) continue;
      if (part.contains(document.activeElement)) {
        waiting = true; // what somebody is using is left alone until they have done with it
      } else {
        part.replaceWith(document.adoptNode(next));
      }
    }
    for (const box of boxes()) box.checked = ticked.has(box.value);
    document.title = fresh.title;
    if (document.querySelector("[data-stream][data-ended]")) {
      source.close();
      say("The run has ended.");
    }
  };

  const renew = async () => {
    if (busy) {
      waiting = true;
      return;
    }
    busy = true;
    waiting = false;
    try {
      const answer = await fetch(location.href);
      if (answer.ok) put(new DOMParser().parseFromString(await answer.text(), "text/html"));
    } catch {
      say("The viewer does not answer.");
    }
    busy = false;
  };

  source.addEventListener("open", () => say("Live: this page follows what happens."));
  source.addEventListener("changed", renew);
  source.addEventListener("error", () => say("The viewer does not answer; trying again."));
  document.addEventListener("focusout", () => waiting && setTimeout(renew, 100));
  setInterval(() => waiting && renew(), 2000);
})();
