// How the services are, and the rules of the mapping.

import * as api from "./api.js";
import { badge, byId, made } from "./dom.js";
import { errorLine } from "./email.js";
import { agoOf, circuitTone, columnOf, counted, exactOf, lastingOf, percentOf, plain, sentence, serviceOf, sizeOf, sourceOf, stateOf, usdOf } from "./words.js";

// Resolves to whether anything is still going to change.
export async function showHealth(status, { seesAll, mayAct }) {
  byId("health-line").textContent = status.mailbox ? `The mailbox ${status.mailbox} is polled every ${lastingOf(status.poll_interval_s)}.` : "No mailbox is watched: mails are taken as files.";
  byId("services").replaceChildren(...status.services.map(serviceOfStatus));
  byId("tiles").replaceChildren(...tilesOf(status));
  for (const id of ["circuits-panel", "recent-panel"]) byId(id).hidden = !seesAll;
  byId("settings-panel").hidden = !mayAct;
  if (seesAll) {
    const [circuits, errors] = await Promise.all([api.circuits(), api.errors()]);
    byId("circuits").replaceChildren(...circuits.map(circuitRow));
    byId("recent").replaceChildren(...errors.map(errorLine));
    byId("recent-empty").hidden = errors.length > 0;
  }
  if (mayAct) showSettings(await api.config());
  return true;
}

// What was set comes first; defaults are shown on request.
function showSettings(found) {
  const all = byId("all-settings").checked;
  const shown = found.filter(({ source, secret }) => all || secret || source !== "default");
  byId("settings").replaceChildren(...shown.map(settingRow));
}

function serviceOfStatus({ service, state, reason, next_step: step, circuit, next_call_at: next }) {
  const { word, tone } = stateOf(state);
  return made("section", { className: `service ${tone}`, "aria-label": serviceOf(service) },
    made("div", { className: "head" }, made("h2", { text: serviceOf(service) }), badge(word, tone)),
    reason ? made("p", { className: "small", text: sentence(reason) }) : null,
    step ? made("p", { className: "small" }, made("b", { text: "Next: " }), step) : null,
    made("p", { className: "muted small", text: [`circuit ${circuit}`, next ? `next call ${exactOf(next)}` : null].filter(Boolean).join(" · ") }));
}

function tilesOf({ today, cost_today_usd: cost, last_poll: poll, token, extractor, files }) {
  const polled = poll?.polled_at ? [agoOf(poll.polled_at), `${counted(poll.found ?? 0, "new mail", "new mails")}, ${poll.kind === "full" ? "whole mailbox" : "what is new"}`] : ["none", "the mailbox was not polled yet"];
  const age = token.refused ? ["refused", "Google refuses it"] : token.present ? [token.age_s === null ? "there" : lastingOf(token.age_s), token.expires_at ? `good until ${exactOf(token.expires_at)}` : "from a secret"] : ["none", "nothing is polled"];
  return [
    tile("Mails today", today.total, `${today.processed} written, ${today.needs_review} for review, ${today.failed} failed`),
    tile("Last poll", ...polled),
    tile("Token of Gmail", ...age, token.refused || token.problem ? "bad" : ""),
    tile("Cost today", usdOf(cost), extractor.offline ? "the offline extractor is free" : extractor.model, ""),
    tile("Extractor", extractor.offline ? "offline" : "Gemini", extractor.offline ? "everything it writes is for review" : `order: ${extractor.order.join(", ")}`, extractor.offline ? "warn" : ""),
    tile("Room for files", sizeOf(files.free_bytes), files.folder, files.short ? "bad" : ""),
  ];
}

function tile(title, value, line, tone = "") {
  return made("div", { className: `tile ${tone}` },
    made("span", { className: "muted small", text: title }),
    made("b", { text: String(value) }),
    made("span", { className: "muted small", text: line ?? "" }));
}

function circuitRow(each) {
  return made("tr", {},
    made("th", { scope: "row", text: serviceOf(each.service_name) }),
    made("td", {}, badge(each.state, circuitTone(each.state))),
    made("td", { className: "number", text: String(each.failure_count) }),
    made("td", { className: "number", text: String(each.success_count) }),
    made("td", {}, each.last_failure_time ? made("time", { dateTime: each.last_failure_time, title: exactOf(each.last_failure_time), text: agoOf(each.last_failure_time) }) : "–"),
    made("td", { className: "number", text: `${each.failure_threshold} in a row` }),
    made("td", { className: "number", text: `${each.timeout} s` }));
}

function settingRow({ name, value, source }) {
  const shown = value === null || value === undefined || value === "" ? "–" : String(value);
  return made("tr", {},
    made("th", { scope: "row" }, made("code", { text: name })),
    made("td", { className: "wraps", text: shown }),
    made("td", { className: source === "unset" ? "muted" : "", text: sourceOf(source) }));
}

export async function showRules() {
  const found = await api.rules();
  byId("rules-line").textContent = "Which field of a mail goes to which column. NOTION_FIELD_MAP changes the names.";
  byId("mapping-read").textContent = found.read_at ? `columns read ${agoOf(found.read_at)}` : "the columns were not read yet";
  byId("mapping").replaceChildren(...found.fields.map((each) => made("tr", {},
    made("th", { scope: "row", text: columnOf(each.field) }),
    made("td", { text: each.column }),
    made("td", { text: each.kinds.map(plain).join(" or ") }),
    made("td", {}, foundOf(each)),
    made("td", { className: "wraps small", text: each.options.join(", ") || "–" }))));
  const rules = [
    `a field is less sure than ${percentOf(found.confidence_threshold)}`,
    "a company or a person is ambiguous, or the model names one that is not on our list",
    "the details do not occur in the mail",
    "Gmail says that the sender is not who they claim to be",
    "the same two companies had a row within the last seven days",
    "a value was lost because its column is missing",
    "the offline extractor read it",
  ];
  byId("review-rules").replaceChildren(...rules.map((text) => made("li", { text })));
  return false;
}

function foundOf({ found, required, found_kind: kind }) {
  if (found === null) return badge("not known", "over");
  if (found) return badge("yes", "good");
  const word = kind ? `it is ${plain(kind).toLowerCase()}` : "missing";
  return badge(required ? `${word}, and needed` : word, required ? "bad" : "warn");
}
