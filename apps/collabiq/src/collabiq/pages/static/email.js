// One mail: its text beside what was found in it, and what can be done about it.

import * as api from "./api.js";
import { Correction } from "./correct.js";
import { subjectOf } from "./inbox.js";
import { acting, ask, badge, byId, made, noticeOf, outside } from "./dom.js";
import { CONFIDENCE_OF, FIELDS, agoOf, counted, eventOf, exactOf, languageOf, percentOf, plain, reviewOf, sentence, sizeOf, stageOf, statusOf, sureOf, usdOf } from "./words.js";

const UNDER_WAY = new Set(["pending", "processing"]);
const QUIET = new Set(["processing", "snoozed"]);
const WRITTEN = new Set(["processed", "needs_review"]);
const RULES = "The offline extractor read this mail. Its rules are no model, so everything it writes is for review.";

export class EmailView {
  #digest = "";
  #source = null;
  #id = null;

  constructor({ changed }) {
    this.changed = changed;
    this.threshold = undefined;
    this.correction = new Correction({ changed: () => this.#again() });
  }

  forget() {
    this.#digest = "";
    this.#follow(null);
    this.correction.close();
  }

  // Resolves to whether anything is still going to change.
  async show(id, { threshold, mayAct }) {
    const found = await api.email(id);
    this.threshold = threshold;
    const isOpen = UNDER_WAY.has(found.status) || isCorrecting(found);
    this.#follow(UNDER_WAY.has(found.status) ? id : null);
    const digest = JSON.stringify([found, mayAct]);
    if (digest !== this.#digest) {
      this.#digest = digest;
      this.#fill(found, mayAct);
    }
    return isOpen;
  }

  #again() {
    this.#digest = "";
    this.changed();
  }

  #follow(id) {
    if (id === this.#id) return;
    this.#source?.close();
    this.#id = id;
    if (id === null) return;
    this.#source = new EventSource(api.eventsAddress(id));
    for (const name of ["email.changed", "email.ended"]) {
      this.#source.addEventListener(name, () => {
        if (name === "email.ended") this.#follow(null);
        this.changed();
      });
    }
  }

  #fill(found, mayAct) {
    byId("email-title").textContent = subjectOf(found);
    byId("email-facts").replaceChildren(...factsOf(found));
    byId("email-state").replaceChildren(...this.#state(found, mayAct));
    byId("email-text").replaceChildren(...textOf(found));
    // Somebody may be in the middle of correcting it.
    if (!this.correction.isOpen) byId("email-extraction").replaceChildren(...this.#extraction(found, mayAct));
    byId("matches-panel").hidden = found.matches === null;
    byId("email-matches").replaceChildren(...matchesOf(found, this.threshold));
    byId("errors-panel").hidden = found.errors.length === 0;
    byId("email-errors").replaceChildren(...found.errors.map(errorLine));
    byId("email-history").replaceChildren(...found.history.filter(({ event }) => !QUIET.has(event)).map(historyLine));
  }

  #state(found, mayAct) {
    const { word, tone } = statusOf(found.status);
    const parts = [];
    const buttons = [];
    const row = outside(found.page_url, "Open the row in Notion", "button main");
    if (row) buttons.push(row);
    if (found.dlq_id && mayAct) buttons.push(this.#button("Replay", "main", () => this.#replay(found)));
    if (found.dlq_id) buttons.push(made("a", { className: "button", href: `#${new URLSearchParams({ letters: found.dlq_id })}`, text: "Dead letter" }));
    if (!UNDER_WAY.has(found.status) && mayAct) buttons.push(this.#button("Process again", "", () => this.#process(found)));
    const line = found.status === "failed" ? `failed while ${stageOf(found.stage)}: ${found.reason ?? ""}` : found.reason ?? (UNDER_WAY.has(found.status) ? stageOf(found.stage) : "");
    parts.push(made("section", { className: "panel standing", "aria-label": "How it stands" },
      made("div", { className: "head" }, badge(word, tone), made("span", { text: sentence(line) || outcomeOf(found) })),
      made("div", { className: "actions start" }, ...buttons.flatMap((each) => (each.button ? [each.button, each.line] : [each])))));
    if (found.review.length > 0) {
      parts.push(made("section", { className: "panel review-why", "aria-label": "Why it needs review" },
        made("h2", { text: "Why somebody should look at it" }),
        made("ul", { className: "plain-list" }, ...reviewOf(found.review).map((text) => made("li", { text })))));
    }
    if (isCorrecting(found)) parts.push(noticeOf(`${found.correction.by} corrected it; the row is being updated.`, "busy"));
    if (found.correction?.state === "failed") parts.push(noticeOf(`The correction could not be written: ${found.correction.error ?? "see the dead letters"}`, "bad"));
    return parts;
  }

  #extraction(found, mayAct) {
    const { extraction } = found;
    if (extraction === null) return [made("p", { className: "muted", text: UNDER_WAY.has(found.status) ? "Nothing yet." : "Nothing was looked for in it." })];
    const parts = [];
    if (extraction.extractor === "rules") parts.push(noticeOf(RULES, "warn"));
    parts.push(made("dl", { className: "fields" }, ...Object.entries(FIELDS).map(([name, title]) => fieldOf(name, title, extraction, this.threshold))));
    const { usage } = extraction;
    const by = extraction.extractor === "rules" ? "by the offline extractor" : `by ${extraction.model || "Gemini"}`;
    const took = usage?.input_tokens ? `, ${counted(usage.input_tokens + usage.output_tokens, "token", "tokens")}, ${usdOf(usage.usd)}` : "";
    const who = found.correction?.state === "complete" ? `, corrected by ${found.correction.by} ${agoOf(found.correction.at)}` : "";
    parts.push(made("p", { className: "muted small", text: `Found ${by}${took}${who}.` }));
    if (mayAct && WRITTEN.has(found.status) && !isCorrecting(found)) {
      const correct = made("button", { type: "button", text: "Correct" });
      correct.addEventListener("click", () => this.correction.open(found, byId("email-extraction")));
      parts.push(made("div", { className: "actions start" }, correct));
    }
    return parts;
  }

  #button(text, className, act) {
    return acting(text, className, async () => {
      await act();
      this.#again();
    });
  }

  async #process({ email_id: id, status }) {
    const text = status === "failed"
      ? "It is read, extracted and matched anew. Its dead letter is closed."
      : "It is read, extracted and matched anew. The row that it has stays the only one.";
    if (await ask({ title: "Process it again?", text, yes: "Process again" })) await api.process(id);
  }

  async #replay({ dlq_id: id }) {
    const text = "It goes on where it failed. Nothing is written twice.";
    if (await ask({ title: "Replay it?", text, yes: "Replay" })) await api.replayLetter(id);
  }
}

const isCorrecting = ({ correction }) => ["queued", "processing", "waiting"].includes(correction?.state);

function outcomeOf({ page, status }) {
  const outcomes = { created: "Its row was made.", adopted: "Its row was there already and was taken over.", updated: "Its row was updated.", skipped: "Its row was there already." };
  return outcomes[page.outcome] ?? (WRITTEN.has(status) ? "It has its row." : "");
}

function factsOf({ mail, from, received_at: receivedAt, noticed_at: noticedAt, source, version, email_id: id }) {
  const sender = mail?.from ? [mail.from.name, mail.from.address && `<${mail.from.address}>`].filter(Boolean).join(" ") : from;
  const when = receivedAt ?? noticedAt;
  const proven = { pass: ["sender proven", "good"], fail: ["sender not proven", "bad"] }[mail?.authentication];
  return [
    `From ${sender || "an unknown sender"} · `,
    made("time", { dateTime: when, text: exactOf(when) }),
    source === "upload" ? " · sent in as a file" : "",
    version > 1 ? ` · version ${version}` : "",
    " ",
    proven ? badge(...proven) : "",
    made("br"),
    made("code", { className: "small", text: id }),
  ].filter(Boolean);
}

function textOf({ cleaned, mail }) {
  if (cleaned === null) return [made("p", { className: "muted", text: "It was not read yet." })];
  const parts = [
    cleaned.text ? made("div", { className: "mail-text", text: cleaned.text, tabIndex: 0, role: "region", "aria-label": "Text of the mail" })
      : made("p", { className: "muted", text: "Nothing is left of it once signatures and quotes are cut away." }),
  ];
  if (cleaned.language) parts.push(made("p", { className: "muted small", text: languageOf(cleaned.language) }));
  if (cleaned.removed?.length > 0) {
    parts.push(made("details", { className: "removed" },
      made("summary", { text: `Cut away: ${counted(cleaned.removed.length, "part", "parts")}` }),
      ...cleaned.removed.map(({ kind, text }) => made("figure", {}, made("figcaption", { className: "muted small", text: plain(kind) }), made("div", { className: "mail-text", text })))));
  }
  if (mail?.attachments?.length > 0) {
    parts.push(made("details", {},
      made("summary", { text: counted(mail.attachments.length, "attachment, not read", "attachments, not read") }),
      made("ul", { className: "plain-list small" }, ...mail.attachments.map((each) => made("li", { text: `${each.name || "unnamed"} · ${each.media_type} · ${sizeOf(each.size_bytes)}` })))));
  }
  if (mail?.limits_met?.length > 0) parts.push(noticeOf(`Not all of it was read: ${mail.limits_met.join(", ")}.`, "warn"));
  return parts;
}

function fieldOf(name, title, extraction, threshold) {
  const value = extraction[name];
  const confidence = extraction.confidence?.[CONFIDENCE_OF[name]];
  const { word, tone } = sureOf(confidence, threshold);
  return made("div", {},
    made("dt", { className: "small muted", text: title }),
    made("dd", {},
      value ? made("span", { className: "value", text: value }) : made("span", { className: "muted", text: "not found" }),
      CONFIDENCE_OF[name] ? made("span", { className: `sure small ${tone}`, title: percentOf(confidence), text: `${word} · ${percentOf(confidence)}` }) : null));
}

function matchesOf({ matches }, threshold) {
  if (matches === null) return [];
  const rows = [["Start-up", matches.startup], ["Partner", matches.partner], ["Person", matches.person]].filter(([, each]) => each);
  return [
    made("dl", { className: "fields" }, ...rows.map(([title, each]) => matchOf(title, each, threshold)),
      matches.type ? made("div", {}, made("dt", { className: "small muted", text: "Type" }), made("dd", {}, made("span", { className: "value", text: matches.type }))) : null),
    matches.similar?.length > 0 ? made("p", { className: "small" }, "The same two companies within a week: ",
      ...matches.similar.flatMap((id, index) => [index > 0 ? ", " : "", made("a", { href: `#${new URLSearchParams({ email: id })}`, text: id.slice(0, 16) })])) : null,
    matches.lost_columns?.length > 0 ? noticeOf(`Notion has no column for: ${matches.lost_columns.join(", ")}. The rest was written.`, "warn") : null,
  ].filter(Boolean);
}

function matchOf(title, match) {
  const others = (match.alternatives ?? []).filter(({ id }) => id !== match.found?.id);
  return made("div", {},
    made("dt", { className: "small muted", text: title }),
    made("dd", {},
      match.found ? made("span", { className: "value", text: `${match.found.name} (${percentOf(match.found.score)})` })
        : made("span", { className: "muted", text: nothingOf(match) }),
      match.ambiguous ? badge("ambiguous", "warn") : match.found && !match.sure ? badge("not sure", "warn") : null,
      others.length > 0 ? made("ul", { className: "plain-list small muted" }, ...others.map((each) => made("li", { text: `${each.name} (${percentOf(each.score)})` }))) : null));
}

function nothingOf({ name, ambiguous }) {
  if (!name) return "no name in the mail";
  return ambiguous ? `several fit “${name}”` : `nothing fits “${name}”`;
}

function historyLine({ at, event, stage, run, meta }) {
  const by = meta?.by ? ` By ${meta.by}.` : "";
  const what = run === "correction" ? `correction: ${stageOf(stage)}` : stageOf(stage);
  const line = event === "advanced" ? [`Done: ${what}.`] : [eventOf(event), by, " ", made("span", { className: "muted small", text: what })];
  return made("li", {},
    made("time", { dateTime: at, title: exactOf(at), className: "muted small", text: agoOf(at) }),
    made("span", {}, ...line));
}

export function errorLine({ timestamp, severity, message, error_type: type, context }) {
  const tone = severity === "CRITICAL" || severity === "ERROR" ? "bad" : "warn";
  return made("li", {},
    made("time", { dateTime: timestamp, title: exactOf(timestamp), className: "muted small", text: agoOf(timestamp) }),
    made("span", {}, badge(severity, tone), " ", sentence(message), " ",
      made("span", { className: "muted small", text: [type, context?.operation].filter(Boolean).join(" · ") })));
}
