// What a page does beyond being read: it follows what happens, asks in a dialog, hears keys.
// Everything here is a convenience: without it links, forms and pages work as they are.

const base = document.documentElement.dataset.base ?? "";
const EVENTS = [
  "queued", "processing", "advanced", "complete", "retry", "failed", "expired", "cancelled",
  "waiting", "snoozed", "interrupted", "held", "late", "revived",
  "result_removed", "breaker", "queue", "gap", "progress",
];
const SOON_MS = 250;
const SHORTEST_MS = 900;
const BACKSTOP_MS = 15_000;
const LOST_AFTER_MS = 4_000;

// The page follows what happens.

class Follower {
  #source = null;
  #timer = null;
  #busy = false;
  #missed = false;
  #pauseMs = SHORTEST_MS;
  #lastMs = 0;
  #lostTimer = null;
  #paused = false;

  constructor(indicator) {
    this.indicator = indicator;
    indicator?.addEventListener("click", () => this.pause(!this.#paused));
  }

  // While it is paused the page stays as it is; what was missed is shown when it goes on.
  pause(paused) {
    this.#paused = paused;
    this.#say(paused ? "paused" : "live");
    if (!paused) this.soon(0);
  }

  start() {
    if (this.#source || !document.querySelector("[data-live]")) return;
    this.#source = new EventSource(`${base}/api/stream/all`);
    this.#source.addEventListener("open", () => {
      this.#say("live");
      // What happened before the stream was open is not told by it.
      this.soon();
    });
    this.#source.addEventListener("error", () => this.#lost());
    this.#source.addEventListener("bye", () => this.#lost());
    for (const name of EVENTS) this.#source.addEventListener(name, () => this.soon());
  }

  stop() {
    this.#source?.close();
    this.#source = null;
    clearTimeout(this.#timer);
    this.#timer = null;
    this.#say("off");
  }

  soon(waitMs = SOON_MS) {
    if (document.hidden || this.#paused) return;
    if (this.#busy) {
      this.#missed = true;
      return;
    }
    if (this.#timer !== null) return;
    const restMs = this.#lastMs + this.#pauseMs - performance.now();
    this.#timer = setTimeout(() => this.#refresh(), Math.max(waitMs, restMs));
  }

  async #refresh() {
    this.#timer = null;
    this.#busy = true;
    const beganMs = performance.now();
    try {
      const response = await fetch(location.href, { headers: { Accept: "text/html" } });
      if (this.#paused) return;
      if (response.ok) {
        swap(new DOMParser().parseFromString(await response.text(), "text/html"));
      } else if (response.status === 401) {
        location.reload();
      }
    } catch {
      this.#lost();
    } finally {
      this.#lastMs = performance.now();
      // A page that is expensive to make is asked for less often.
      this.#pauseMs = Math.max(SHORTEST_MS, 5 * (this.#lastMs - beganMs));
      this.#busy = false;
      if (this.#missed) {
        this.#missed = false;
        this.soon();
      }
    }
  }

  #lost() {
    clearTimeout(this.#lostTimer);
    this.#lostTimer = setTimeout(() => {
      if (this.#source?.readyState !== EventSource.OPEN) this.#say("lost");
    }, LOST_AFTER_MS);
    if (this.#source?.readyState === EventSource.CLOSED) {
      // The browser has given up, as after a refusal; the page still looks now and then.
      this.#source = null;
    }
  }

  #say(state) {
    if (!this.indicator) return;
    clearTimeout(this.#lostTimer);
    const shown = this.#paused && state !== "off" ? "paused" : state;
    this.indicator.hidden = shown === "off";
    this.indicator.dataset.state = shown;
    this.indicator.setAttribute("aria-pressed", String(this.#paused));
    this.indicator.dataset.verb = this.#paused ? "Go on" : "Pause";
    this.indicator.title = this.#paused ? "Go on with the live refresh" : "Pause the live refresh";
    this.indicator.firstElementChild.textContent = shown === "lost" ? "reconnecting" : shown;
  }
}

function isInUse(element) {
  const active = document.activeElement;
  return active && element.contains(active) && active.matches("input, textarea, select");
}

function isSelecting(element) {
  const selection = document.getSelection();
  return selection && !selection.isCollapsed && element.contains(selection.anchorNode);
}

function swap(fresh) {
  // What has come to be, or is gone, changes the page as a whole.
  const main = document.getElementById("page");
  const freshMain = fresh.getElementById("page");
  // Nothing moves under somebody who reads: what changed is shown when the selection is gone.
  if (main && isSelecting(main)) return;
  if (main && freshMain && ids(main) !== ids(freshMain)) {
    if (!isInUse(main)) main.replaceChildren(...freshMain.childNodes);
    enhance();
    return;
  }
  for (const old of document.querySelectorAll("[data-live][id]")) {
    const next = fresh.getElementById(old.id);
    if (!next || isSame(old, next) || isInUse(old)) continue;
    for (const opened of old.querySelectorAll("details[open][id]")) {
      const twin = next.querySelector(`#${CSS.escape(opened.id)}`);
      if (twin) twin.open = true;
    }
    const focused = old.contains(document.activeElement) ? pathTo(document.activeElement) : null;
    old.replaceWith(document.adoptNode(next));
    if (focused) next.querySelector(focused)?.focus({ preventScroll: true });
  }
  enhance();
}

function isSame(old, next) {
  // Times are said anew all the time, and buttons to copy are shown here; neither is a change.
  const texts = (element) => {
    const copy = element.cloneNode(true);
    for (const time of copy.querySelectorAll("time[data-relative]")) time.textContent = "";
    for (const button of copy.querySelectorAll("button[data-copy]")) button.hidden = true;
    for (const row of copy.querySelectorAll("tr.at")) row.removeAttribute("class");
    return copy;
  };
  return texts(old).isEqualNode(texts(next));
}

function ids(element) {
  return [...element.querySelectorAll("[data-live][id]")].map((each) => each.id).join(" ");
}

function pathTo(element) {
  const href = element.getAttribute("href");
  return href ? `a[href="${CSS.escape(href)}"]` : null;
}

// Times are said as they are now.

const UNITS = [
  [86_400, "d", 3_600, "h"],
  [3_600, "h", 60, "min"],
  [60, "min", 1, "s"],
];

function span(seconds) {
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  for (const [unit, word, below, belowWord] of UNITS) {
    if (seconds >= unit) {
      const rest = Math.floor((seconds % unit) / below);
      return `${Math.floor(seconds / unit)} ${word}${rest ? ` ${rest} ${belowWord}` : ""}`;
    }
  }
  return `${Math.floor(seconds)} s`;
}

function sayTimes() {
  for (const time of document.querySelectorAll("time[data-relative]")) {
    const away = (Date.parse(time.dateTime) - Date.now()) / 1000;
    if (Number.isNaN(away) || time.textContent === "never") continue;
    const text =
      Math.abs(away) < 1 ? "just now" : away > 0 ? `in ${span(away)}` : `${span(-away)} ago`;
    if (time.textContent !== text) time.textContent = text;
  }
}

// Questions are asked in a dialog.

async function askInDialog(link) {
  const dialog = document.getElementById("ask");
  let form = null;
  try {
    const response = await fetch(link.href, { headers: { Accept: "text/html" } });
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    form = response.ok ? page.getElementById("asked") : null;
  } catch {
    form = null;
  }
  if (!form) {
    location.assign(link.href);
    return;
  }
  const adopted = document.adoptNode(form);
  dialog.replaceChildren(adopted);
  dialog.setAttribute("aria-label", adopted.querySelector("h1")?.textContent ?? "Confirm");
  adopted.querySelector("[data-close]")?.addEventListener("click", (event) => {
    event.preventDefault();
    dialog.close();
  });
  adopted.addEventListener("submit", () => {
    // One answer to one question, however often the button is pressed.
    adopted.querySelector("button.main")?.setAttribute("disabled", "");
  });
  dialog.showModal();
  dialog.addEventListener("close", () => link.isConnected && link.focus(), { once: true });
}

document.addEventListener("click", (event) => {
  if (event.defaultPrevented || event.button !== 0) return;
  const plain = !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
  const link = event.target.closest?.("a[data-ask]");
  if (link && plain) {
    event.preventDefault();
    askInDialog(link);
    return;
  }
  const copy = event.target.closest?.("button[data-copy]");
  if (copy) {
    navigator.clipboard?.writeText(copy.dataset.copy).then(() => {
      copy.classList.add("changed");
      setTimeout(() => copy.classList.remove("changed"), 1_200);
    });
  }
});

// Keys.

let afterG = false;
let row = -1;

function rows() {
  return [...document.querySelectorAll("main tbody tr")];
}

function moveRow(step) {
  const all = rows();
  if (!all.length) return;
  all[row]?.classList.remove("at");
  row = Math.min(Math.max(row + step, 0), all.length - 1);
  all[row].classList.add("at");
  const link = all[row].querySelector("a");
  link?.focus({ preventScroll: true });
  all[row].scrollIntoView({ block: "nearest" });
}

document.addEventListener("keydown", (event) => {
  const typing = event.target.matches?.("input, textarea, select");
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" && typing) {
    event.target.blur();
    return;
  }
  if (typing || document.querySelector("dialog[open]")) return;
  if (afterG) {
    afterG = false;
    const link = document.querySelector(`.screens a[data-key="${CSS.escape(event.key)}"]`);
    if (link) {
      event.preventDefault();
      location.assign(link.href);
    }
    return;
  }
  switch (event.key) {
    case "/":
      event.preventDefault();
      document.getElementById("search")?.select();
      document.getElementById("search")?.focus();
      break;
    case "?":
      event.preventDefault();
      document.getElementById("help")?.showModal();
      break;
    case "g":
      afterG = true;
      setTimeout(() => (afterG = false), 1_500);
      break;
    case "p":
      document.getElementById("live")?.click();
      break;
    case "j":
      moveRow(1);
      break;
    case "k":
      moveRow(-1);
      break;
  }
});

function enhance() {
  for (const button of document.querySelectorAll("button[data-copy][hidden]")) {
    button.hidden = !navigator.clipboard;
  }
  sayTimes();
}

enhance();
const follower = new Follower(document.getElementById("live"));
if (!document.hidden) follower.start();
document.addEventListener("visibilitychange", () => {
  if (document.hidden) follower.stop();
  else {
    follower.start();
    follower.soon(0);
  }
});
// A page that the browser keeps for later must not keep a connection as well.
addEventListener("pagehide", () => follower.stop());
addEventListener("pageshow", (event) => event.persisted && follower.start());

setInterval(sayTimes, 1_000);
const everyS = Math.min(
  ...[...document.querySelectorAll("[data-every]")].map((each) => Number(each.dataset.every)),
);
setInterval(
  () => {
    follower.start();
    follower.soon(0);
  },
  Number.isFinite(everyS) ? everyS * 1_000 : BACKSTOP_MS,
);
