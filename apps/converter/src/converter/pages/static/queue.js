// The list of conversions. Rows are kept and changed in place, so that focus and selection stay.

import { downloadAddress } from "./api.js";
import { ago, exact, lasted, sizeOf, stateOf } from "./words.js";

const GONE = "The PDF is no longer here; send it again.";
const MOST_SAID = 3;

export class Queue {
  #rows = new Map();

  // `retry` and `remove` are told of a conversion; whatever they throw is shown in its row.
  constructor({ table, body, template, retry, remove, say }) {
    Object.assign(this, { table, body, template, retry, remove, say });
  }

  get size() {
    return this.#rows.size;
  }

  show(items, nowMs) {
    const changes = [];
    this.#drop(new Set(items.map((each) => each.id)));
    items.forEach((item, index) => {
      const known = this.#rows.get(item.id);
      const row = known ?? this.#add(item.id);
      const was = row.item?.state;
      row.show(item, nowMs);
      if (was !== undefined && was !== item.state) changes.push(item);
      const there = this.body.children[index];
      // To move a row takes its focus, so only those are moved that are in the wrong place.
      if (there !== row.element) this.body.insertBefore(row.element, there ?? null);
    });
    this.table.hidden = items.length === 0;
    this.#tell(changes);
  }

  tick(nowMs) {
    for (const row of this.#rows.values()) row.showTime(nowMs);
  }

  highlight(id) {
    const row = this.#rows.get(id)?.element;
    row?.classList.remove("changed");
    // Reading a size makes the browser forget the animation that is over.
    void row?.offsetWidth;
    row?.classList.add("changed");
  }

  #add(id) {
    const row = new Row(this.template, { retry: this.retry, remove: this.remove });
    this.#rows.set(id, row);
    return row;
  }

  #drop(present) {
    for (const [id, row] of this.#rows) {
      if (present.has(id)) continue;
      const hadFocus = row.element.contains(document.activeElement);
      const next = row.element.nextElementSibling ?? row.element.previousElementSibling;
      row.element.remove();
      this.#rows.delete(id);
      if (hadFocus) {
        const button = next?.querySelector(".remove:not([hidden])");
        (button ?? document.getElementById("queue-title")).focus();
      }
    }
  }

  #tell(changes) {
    if (changes.length === 0) return;
    const each = ({ filename, state, error_message: error }) =>
      `${filename}: ${stateOf(state).word}.${state === "failed" && error ? ` ${error}` : ""}`;
    const said = changes.length > MOST_SAID ? [`${changes.length} files have changed.`] : changes.map(each);
    this.say(said.join(" "));
  }
}

class Row {
  #trouble = null;
  // By action: a retry shows before its answer is here, and must not swallow what is pressed next.
  #underWay = new Set();

  constructor(template, { retry, remove }) {
    this.item = null;
    this.element = template.content.firstElementChild.cloneNode(true);
    this.retryButton = this.#part(".retry");
    this.removeButton = this.#part(".remove");
    this.retryButton.addEventListener("click", () => this.#do(retry));
    this.removeButton.addEventListener("click", () => this.#do(remove));
  }

  show(item, nowMs) {
    // What went wrong with a button is old news once the conversion has moved on.
    if (this.item?.state !== item.state) this.#trouble = null;
    this.item = item;
    this.#part(".name").textContent = item.filename;
    this.#part(".mapping-name").textContent = item.mapping;
    // Of a file that was refused on its way nobody knows how large it is.
    this.#part(".size").textContent = item.size > 0 ? sizeOf(item.size) : "–";
    this.#part(".attempt").textContent = item.attempt > 0 ? `${item.attempt} of ${item.attempts}` : "";
    this.#showState();
    this.#showActions();
    this.showTime(nowMs);
  }

  showTime(nowMs) {
    const { created_at: created, finished_at: finished } = this.item;
    const began = new Date(created);
    const shown = finished === null ? began : new Date(finished);
    const time = this.#part("time");
    time.dateTime = finished ?? created;
    time.textContent = ago(shown, nowMs);
    time.title = `Sent ${exact(began)}${finished === null ? "" : `, finished ${exact(shown)}`}`;
    this.#part(".took").textContent =
      finished === null ? "" : `after ${lasted(began.getTime(), shown.getTime())}`;
  }

  #showState() {
    const { state, says, error_message: error } = this.item;
    const { word, tone } = stateOf(state);
    const badge = this.#part(".badge");
    badge.textContent = word;
    badge.className = `badge ${tone}`;
    const line = this.#part(".line");
    const isBad = this.#trouble !== null || (state === "failed" && error);
    // A sentence that says no more than the badge is left out.
    line.textContent = this.#trouble ?? error ?? (says === `${word}.` ? "" : says);
    line.className = `line small ${isBad ? "bad" : error ? "warn" : ""}`;
  }

  #showActions() {
    const { id, filename, retryable, removable, can_retry: canRetry, download } = this.item;
    const link = this.#part(".download");
    link.hidden = download === null;
    link.href = downloadAddress(id);
    link.download = "";
    link.setAttribute("aria-label", `Download the XML of ${filename}`);
    this.#offer(this.removeButton, removable);
    this.#offer(this.retryButton, retryable, canRetry);
    this.retryButton.title = canRetry ? "" : GONE;
    this.retryButton.setAttribute("aria-label", `Retry ${filename}`);
    this.removeButton.setAttribute("aria-label", `Remove ${filename}`);
  }

  #offer(button, isShown, isEnabled = true) {
    // What is hidden or disabled loses its focus, and with it a keyboard its place.
    const wasInUse = document.activeElement === button;
    button.hidden = !isShown;
    button.disabled = !isEnabled;
    if (wasInUse && !(isShown && isEnabled)) {
      (this.removeButton.hidden ? document.getElementById("queue-title") : this.removeButton).focus();
    }
  }

  async #do(action) {
    if (this.#underWay.has(action)) return;
    this.#underWay.add(action);
    this.#trouble = null;
    try {
      await action(this.item);
    } catch (error) {
      this.#trouble = error.message;
    } finally {
      this.#underWay.delete(action);
      this.#showState();
    }
  }

  #part(selector) {
    return this.element.querySelector(selector);
  }
}
