// Files on their way to the server: a few at once, each with its progress and what became of it.

import { upload } from "./api.js";
import { counted, sizeOf, tooLargeLine } from "./words.js";

const AT_ONCE = 3;
const TWIN_LINE = "You sent this file before; it is in the list below.";

export class Uploads {
  #waiting = [];
  #sending = 0;

  // `refresh` has conversions shown as they are now; `say` is for those who do not see the list.
  constructor({ section, list, clear, template, refresh, highlight, say }) {
    Object.assign(this, { section, list, clear, template, refresh, highlight, say });
    this.maxBytes = Infinity;
    clear.addEventListener("click", () => this.#clear());
  }

  add(files, mapping) {
    for (const file of files) {
      const item = new Item(file, mapping, this.template);
      item.onAgain = () => this.#enqueue(item);
      item.onGone = () => this.#remove(item);
      this.list.append(item.element);
      if (file.size > this.maxBytes) {
        this.#refuse(item, tooLargeLine(this.maxBytes), false);
      } else {
        this.#enqueue(item);
      }
    }
    this.#tidy();
  }

  #enqueue(item) {
    item.showWaiting();
    this.#waiting.push(item);
    this.#next();
    this.#tidy();
  }

  #next() {
    while (this.#sending < AT_ONCE && this.#waiting.length > 0) this.#send(this.#waiting.shift());
  }

  async #send(item) {
    this.#sending += 1;
    try {
      this.#show(item, await upload(item.file, item.begin()));
    } catch (error) {
      if (error.name !== "AbortError") this.#refuse(item, error.message, error.mayPass);
      // A file that is refused may be listed too, as a conversion that failed.
      this.refresh();
    } finally {
      this.#sending -= 1;
      this.#next();
      this.#tidy();
    }
  }

  async #show(item, { conversion, created }) {
    // A new file leaves this list once it is in the other.
    await this.refresh();
    if (created) {
      this.say(`${item.file.name} is sent.`);
      this.#remove(item);
      return;
    }
    this.say(`${item.file.name}: ${TWIN_LINE}`);
    item.showEnd(TWIN_LINE, { tone: "busy" });
    this.#tidy();
    this.highlight(conversion.id);
  }

  #refuse(item, line, again) {
    item.showEnd(line, { tone: "bad", again });
    this.say(`${item.file.name}: ${line}`);
  }

  #remove(item) {
    item.stop();
    this.#waiting = this.#waiting.filter((each) => each !== item);
    const hadFocus = item.element.contains(document.activeElement);
    item.element.remove();
    this.#tidy();
    if (hadFocus) this.#keepFocus();
  }

  #clear() {
    for (const each of this.list.querySelectorAll("[data-ended]")) each.remove();
    this.#tidy();
    this.#keepFocus();
  }

  #keepFocus() {
    const next = this.section.hidden ? "files" : "uploads-title";
    document.getElementById(next).focus({ preventScroll: true });
  }

  #tidy() {
    const all = this.list.children.length;
    const ended = this.list.querySelectorAll("[data-ended]").length;
    this.section.hidden = all === 0;
    this.clear.hidden = ended < 2;
    this.section.querySelector("h2").textContent =
      ended < all ? `Sending ${counted(all - ended, "file", "files")}` : "Uploads";
  }
}

class Item {
  #abort = new AbortController();

  constructor(file, mapping, template) {
    this.file = file;
    this.mapping = mapping;
    this.element = template.content.firstElementChild.cloneNode(true);
    const part = (selector) => this.element.querySelector(selector);
    this.bar = part("progress");
    this.line = part(".line");
    this.again = part(".again");
    this.away = part(".away");
    part(".name").textContent = file.name;
    part(".size").textContent = sizeOf(file.size);
    this.bar.setAttribute("aria-label", `Upload of ${file.name}`);
    this.again.setAttribute("aria-label", `Send again ${file.name}`);
    this.again.addEventListener("click", () => this.onAgain());
    this.away.addEventListener("click", () => this.onGone());
  }

  showWaiting() {
    delete this.element.dataset.ended;
    this.#show("Waiting", { word: "Cancel", tone: "", again: false });
    this.bar.hidden = false;
    this.bar.value = 0;
  }

  showEnd(line, { tone, again = false }) {
    this.element.dataset.ended = "";
    this.#show(line, { word: "Dismiss", tone, again });
    this.bar.hidden = true;
  }

  begin() {
    this.#abort = new AbortController();
    return {
      mapping: this.mapping,
      signal: this.#abort.signal,
      onProgress: (share) => this.#showProgress(share),
    };
  }

  stop() {
    this.#abort.abort();
  }

  #showProgress(share) {
    const percent = Math.floor(share * 100);
    this.bar.value = percent;
    // All of it is on its way; the server is still reading and checking.
    this.line.textContent = share < 1 ? `${percent} %` : "Checking…";
  }

  #show(line, { word, tone, again }) {
    const hadFocus = document.activeElement === this.again;
    this.line.textContent = line;
    this.line.className = `line small ${tone}`;
    this.again.hidden = !again;
    this.away.textContent = word;
    this.away.setAttribute("aria-label", `${word} ${this.file.name}`);
    if (hadFocus && !again) this.away.focus();
  }
}
