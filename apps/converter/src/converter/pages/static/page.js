// Puts the page together: what the server says is shown, what people do is sent.

import * as api from "./api.js";
import { Follower } from "./follow.js";
import { takeFiles } from "./intake.js";
import { Queue } from "./queue.js";
import { Uploads } from "./uploads.js";
import { UNDER_WAY, counted, limitLine, mappingHint } from "./words.js";

const BUSY_LINE = "Converter busy — jobs will resume automatically.";
const MOST_SHOWN = 100;
const MOST_SAID = 20;
const TIMES_MS = 5_000;

const byId = (id) => document.getElementById(id);
const mapping = byId("mapping");

// Each is a line of its own: one that took the place of another would keep it from being read out.
function say(text) {
  const line = document.createElement("p");
  line.textContent = text;
  byId("said").append(line);
  while (byId("said").children.length > MOST_SAID) byId("said").firstElementChild.remove();
}

function notice(place, line, tone) {
  // What is there already would be read out anew.
  if (place.textContent === line) return;
  place.replaceChildren();
  if (line === "") return;
  const made = byId("notice").content.firstElementChild.cloneNode(true);
  made.classList.add(tone);
  made.querySelector("p").textContent = line;
  place.append(made);
}

let mappingsAreKnown;
const whenMappingsAreKnown = new Promise((resolve) => {
  mappingsAreKnown = resolve;
});

function offerMappings(names) {
  const offered = [...mapping.options].map((each) => each.value);
  if (names.join() === offered.join()) return;
  const chosen = mapping.value;
  mapping.replaceChildren(...names.map((name) => new Option(name, name)));
  if (names.includes(chosen)) mapping.value = chosen;
  showHint();
  mappingsAreKnown();
}

function showHint() {
  byId("mapping-hint").textContent = mappingHint(mapping.value);
}

function summaryOf(items) {
  const underWay = items.filter((each) => UNDER_WAY.has(each.state)).length;
  const ready = items.filter((each) => each.download !== null).length;
  const parts = [];
  if (underWay > 0) parts.push(`${underWay} under way`);
  if (ready > 0) parts.push(`${ready} ready`);
  return parts.join(", ");
}

function show({ items, paused, mappings, max_bytes: maxBytes }) {
  byId("sign-in").hidden = true;
  notice(byId("trouble"), "", "bad");
  notice(byId("paused"), paused ? BUSY_LINE : "", "warn");
  offerMappings(mappings);
  uploads.maxBytes = maxBytes;
  byId("limit").textContent = limitLine(maxBytes);
  queue.show(items, Date.now());
  byId("empty").hidden = items.length > 0;
  byId("summary").textContent = summaryOf(items);
  byId("more").hidden = items.length < MOST_SHOWN;
  byId("more").textContent = `The newest ${counted(items.length, "file is", "files are")} shown.`;
  byId("send").hidden = false;
  byId("queue").hidden = false;
}

// Resolves to whether anything is still going to change by itself.
async function look() {
  try {
    const answer = await api.conversions();
    show(answer);
    return answer.paused || answer.items.some((each) => UNDER_WAY.has(each.state));
  } catch (error) {
    const isStranger = error.status === 401;
    byId("sign-in").hidden = !isStranger;
    notice(byId("trouble"), isStranger ? "" : error.message, "bad");
    return true;
  }
}

function ask(title, text) {
  const dialog = byId("ask");
  byId("ask-title").textContent = title;
  byId("ask-text").textContent = text;
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}

async function retry(item) {
  await api.retry(item.id);
  say(`${item.filename} is tried again.`);
  await follower.again();
}

async function remove(item) {
  const text = UNDER_WAY.has(item.state)
    ? "Its conversion ends, and the PDF is deleted."
    : "The PDF and its XML are deleted. This cannot be undone.";
  if (!(await ask(`Remove ${item.filename}?`, text))) return;
  await api.remove(item.id);
  say(`${item.filename} is removed.`);
  await follower.again();
}

const queue = new Queue({
  table: byId("conversions"),
  body: byId("rows"),
  template: byId("row"),
  retry,
  remove,
  say,
});
const uploads = new Uploads({
  section: byId("uploads"),
  list: byId("upload-rows"),
  clear: byId("clear"),
  template: byId("upload"),
  refresh: () => follower.again(),
  highlight: (id) => queue.highlight(id),
  say,
});
const follower = new Follower({ address: api.streamAddress(), look, indicator: byId("live") });

mapping.addEventListener("change", showHint);
byId("send").addEventListener("submit", (event) => event.preventDefault());
takeFiles({
  input: byId("files"),
  zone: byId("drop"),
  // Files may be dropped before there is anything to choose from.
  take: (files) => whenMappingsAreKnown.then(() => uploads.add(files, mapping.value)),
});
setInterval(() => queue.tick(Date.now()), TIMES_MS);
follower.start();
