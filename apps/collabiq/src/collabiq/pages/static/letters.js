// Dead letters by operation: look, mend the payload, replay.

import * as api from "./api.js";
import { acting, ask, badge, byId, keyed, made } from "./dom.js";
import { agoOf, counted, exactOf, operationOf, sentence } from "./words.js";

const OPERATIONS = ["gmail_fetch", "gemini_extract", "notion_write", "infisical_fetch"];
const TONES = { pending: "bad", failed: "bad", replaying: "busy", completed: "good" };
const TEN = 10;
const ALL = 1000;

const shortOf = (id) => (id.length > 20 ? `${id.slice(0, 16)}…` : id);

export class LettersView {
  constructor({ changed }) {
    this.changed = changed;
  }

  // Resolves to whether anything is still going to change.
  async show(wanted, { mayAct }) {
    const found = await api.letters();
    const open = found.filter(({ status }) => status !== "completed");
    const groups = OPERATIONS.map((operation) => ({ operation, entries: open.filter((each) => each.operation_type === operation) })).filter(({ entries }) => entries.length > 0);
    keyed(byId("letter-groups"), groups, {
      key: ({ operation }) => operation,
      make: (group) => this.#group(group, mayAct),
      update: (element, group) => this.#fill(element, group, { wanted, mayAct }),
    });
    byId("letters-empty").hidden = groups.length > 0;
    return open.some(({ status }) => status === "replaying");
  }

  #group({ operation }, mayAct) {
    const line = made("p", { className: "small padded", role: "status" });
    const many = (text, count) => acting(text, "tight", async () => this.#replayMany(operation, count, line));
    const actions = mayAct && operation !== "infisical_fetch" ? [many("Replay the oldest ten", TEN), many("Replay all", ALL)] : [];
    return made("section", { className: "panel flush", "aria-label": operationOf(operation) },
      made("header", {}, made("h2", { text: operationOf(operation) }), made("span", { className: "muted small group-count" }),
        made("div", { className: "actions" }, ...actions.flatMap(({ button, line: wrong }) => [button, wrong]))),
      line,
      made("ul", { className: "rows" }));
  }

  #fill(element, { entries }, { wanted, mayAct }) {
    element.querySelector(".group-count").textContent = counted(entries.length, "entry", "entries");
    keyed(element.querySelector("ul"), entries, {
      key: ({ dlq_id: id }) => id,
      make: (entry) => made("li", { className: "letter", id: `letter-${entry.dlq_id}` }),
      update: (row, entry) => this.#row(row, entry, { isWanted: wanted === entry.dlq_id, mayAct }),
    });
  }

  #row(row, entry, { isWanted, mayAct }) {
    const digest = JSON.stringify([entry, mayAct]);
    // Somebody may be in the middle of mending it.
    if (row.dataset.digest === digest || row.querySelector("form") !== null) return;
    row.dataset.digest = digest;
    const { error_details: error } = entry;
    const details = made("details", { open: isWanted },
      made("summary", { text: "Payload and error" }),
      made("p", { className: "small", text: `${error.error_type}, after ${counted(error.retry_count, "retry", "retries")}` }),
      made("pre", { tabIndex: 0, role: "region", "aria-label": "Payload", text: JSON.stringify(entry.original_payload, null, 2) }));
    const buttons = mayAct && entry.status !== "replaying" ? [
      entry.operation_type === "infisical_fetch" ? null : acting("Replay", "tight main", async () => this.#replay(entry), { label: `Replay ${entry.dlq_id}` }),
      entry.operation_type === "infisical_fetch" ? null : acting("Edit payload", "tight", async () => this.#edit(row, entry, details), { label: `Edit payload of ${entry.dlq_id}` }),
      acting("Close", "tight plain", async () => this.#complete(entry), { label: `Close ${entry.dlq_id}` }),
    ].filter(Boolean) : [];
    row.replaceChildren(
      made("div", { className: "mail-head" },
        /^(inbox|startup)$/.test(entry.email_id) ? made("span", { className: "title", text: entry.email_id === "inbox" ? "The mailbox" : "The start" })
          : made("a", { className: "title", href: `#${new URLSearchParams({ email: entry.email_id })}`, text: shortOf(entry.email_id), title: entry.email_id }),
        badge(entry.status, TONES[entry.status] ?? "over")),
      made("p", { className: "small", text: sentence(error.error_message) }),
      made("p", { className: "facts muted small" }, made("code", { text: entry.dlq_id }), " · ",
        made("time", { dateTime: entry.last_attempt, title: exactOf(entry.last_attempt), text: agoOf(entry.last_attempt) })),
      details,
      made("div", { className: "actions start" }, ...buttons.flatMap(({ button, line }) => [button, line])),
    );
    if (isWanted) row.scrollIntoView({ block: "nearest" });
  }

  async #replay({ dlq_id: id }) {
    const text = "It goes on where it failed, with the payload as it stands here. Nothing is written twice.";
    if (!(await ask({ title: "Replay this dead letter?", text, yes: "Replay" }))) return;
    await api.replayLetter(id);
    this.changed();
  }

  async #replayMany(operation, count, line) {
    const text = count === TEN ? "The oldest ten of this operation go on where they failed." : "All of this operation go on where they failed. Where the cause may not be gone, try ten first.";
    if (!(await ask({ title: count === TEN ? "Replay the oldest ten?" : "Replay all of them?", text, yes: "Replay" }))) return;
    line.textContent = "They are being replayed …";
    try {
      const { success, failed, skipped, refused } = await api.replayMany(operation, count);
      const why = refused.length > 0 ? ` ${refused.map(({ path, why: reason }) => `${path}: ${reason}`).join("; ")}` : "";
      line.textContent = `${success} went well, ${failed} failed, ${skipped} were skipped.${why}`;
    } catch (problem) {
      line.textContent = "";
      throw problem;
    }
    this.changed();
  }

  async #complete({ dlq_id: id }) {
    const text = "It is closed without a replay. Say how it was seen to; that is kept.";
    const reason = await ask({ title: "Close this dead letter?", text, yes: "Close it", field: "How it was seen to" });
    if (!reason) return;
    await api.completeLetter(id, reason);
    this.changed();
  }

  #edit(row, entry, details) {
    const wrong = made("ul", { className: "wrong small plain-list", role: "alert" });
    const text = made("textarea", { className: "code", rows: 14, spellcheck: false, "aria-label": "Payload as JSON", value: JSON.stringify(entry.original_payload, null, 2) });
    const save = made("button", { className: "main tight", text: "Save payload" });
    const leave = made("button", { type: "button", className: "tight", text: "Leave it" });
    const form = made("form", { className: "correct" }, text, wrong, made("div", { className: "actions start" }, save, leave));
    const close = () => {
      form.remove();
      details.hidden = false;
      row.dataset.digest = "";
      this.changed();
    };
    leave.addEventListener("click", close);
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      wrong.replaceChildren();
      let payload;
      try {
        payload = JSON.parse(text.value);
      } catch (error) {
        wrong.append(made("li", { text: `This is no JSON: ${error.message}` }));
        return;
      }
      save.disabled = true;
      try {
        await api.replaceLetter(entry.dlq_id, payload);
        close();
      } catch (problem) {
        const flaws = problem.errors.length > 0 ? problem.errors.map(({ pointer, message }) => `${pointer || "the payload"}: ${message}`) : [problem.message];
        wrong.append(...flaws.map((each) => made("li", { text: each })));
      } finally {
        save.disabled = false;
      }
    });
    details.hidden = true;
    details.after(form);
    text.focus();
  }
}
