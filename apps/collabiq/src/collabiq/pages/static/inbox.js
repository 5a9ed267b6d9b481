// Lists of mails: the inbox, and those that need a look.

import * as api from "./api.js";
import { badge, byId, keyed, made, outside } from "./dom.js";
import { agoOf, counted, exactOf, percentOf, reviewOf, sentence, stageOf, statusOf, sureOf, usdOf } from "./words.js";

const UNDER_WAY = new Set(["pending", "processing"]);
const PAGE = 30;

export class MailList {
  #pages = 1;

  constructor({ rows, empty, more, older, changed }) {
    Object.assign(this, { rows, empty, more });
    older.addEventListener("click", () => {
      this.#pages += 1;
      changed();
    });
  }

  // Another filter is another list: its cursors are its own.
  begin() {
    this.#pages = 1;
  }

  // Resolves to what is shown, newest first.
  async show(filter, { threshold, fields = true } = {}) {
    const items = [];
    let cursor = null;
    for (let page = 0; page < this.#pages; page += 1) {
      const found = await api.emails({ ...filter, limit: PAGE, cursor });
      items.push(...found.emails);
      cursor = found.next;
      if (cursor === null) break;
    }
    keyed(this.rows, items, {
      key: (item) => item.email_id,
      make: () => made("li", { className: "mail-row" }),
      update: (element, item) => fill(element, item, { threshold, fields }),
    });
    this.empty.hidden = items.length > 0;
    this.more.hidden = cursor === null;
    return items;
  }
}

export const isUnderWay = ({ status }) => UNDER_WAY.has(status);

function fill(element, item, { threshold }) {
  const digest = JSON.stringify(item);
  const when = item.received_at ?? item.noticed_at;
  if (element.dataset.digest === digest) {
    element.querySelector("time").textContent = agoOf(when);
    return;
  }
  element.dataset.digest = digest;
  const { word, tone } = statusOf(item.status);
  element.replaceChildren(
    made("div", { className: "mail-head" },
      made("a", { className: "title", href: `#${new URLSearchParams({ email: item.email_id })}`, text: subjectOf(item) }),
      badge(word, tone)),
    made("div", { className: "facts muted small" },
      item.from ? `${item.from} · ` : null,
      made("time", { dateTime: when, title: exactOf(when), text: agoOf(when) }),
      item.source === "upload" ? " · sent in as a file" : null,
      item.version > 1 ? ` · version ${item.version}` : null),
    ...fieldsOf(item, threshold),
    lineOf(item),
  );
}

export function subjectOf({ subject, status }) {
  if (subject) return subject;
  return UNDER_WAY.has(status) ? "A mail that was not read yet" : "(no subject)";
}

// The five fields in one line each, as far as they were found.
function fieldsOf(item, threshold) {
  const { startup_name: startup, partner_org: partner } = item;
  if (!startup && !partner && !item.person_in_charge && !item.date) return [];
  const { word, tone } = sureOf(item.confidence, threshold);
  return [
    made("div", { className: "found small" },
      made("span", { className: "pair" }, made("b", { text: startup || "no start-up" }), " × ", made("b", { text: partner || "no partner" })),
      item.person_in_charge ? made("span", { text: item.person_in_charge }) : null,
      item.date ? made("time", { dateTime: item.date, text: item.date }) : null,
      made("span", { className: `sure ${tone}`, title: `The least sure field: ${percentOf(item.confidence)}`, text: word }),
      outside(item.page_url, "Row in Notion")),
    item.details ? made("p", { className: "details muted small", text: item.details }) : null,
  ].filter(Boolean);
}

// One line: where it is, or why it was skipped, failed or wants a look.
function lineOf(item) {
  if (item.status === "failed") {
    return made("p", { className: "why small bad" }, sentence(item.reason || `it failed while ${stageOf(item.stage)}`), " ",
      item.dlq_id ? made("a", { href: `#${new URLSearchParams({ letters: item.dlq_id })}`, text: "Dead letter" }) : null);
  }
  if (item.status === "skipped") return made("p", { className: "why small muted", text: `Skipped: ${item.reason ?? "no reason is known"}` });
  if (item.status === "needs_review" && item.review.length > 0) {
    return made("p", { className: "why small warn", text: reviewOf(item.review).join(" ") });
  }
  if (UNDER_WAY.has(item.status)) return made("p", { className: "why small muted", text: sentence(item.reason ?? stageOf(item.stage)) });
  return "";
}

export function showFigures({ today, cost_today_usd: cost, last_poll: poll }) {
  const shown = [
    ["Today", today.total, counted(today.total, "mail", "mails")],
    ["Written", today.processed, ""],
    ["Needs review", today.needs_review, ""],
    ["Skipped", today.skipped, ""],
    ["Failed", today.failed, ""],
    ["Cost", usdOf(cost), ""],
    ["Last poll", poll?.polled_at ? agoOf(poll.polled_at) : "none", ""],
  ];
  byId("figures").replaceChildren(...shown.map(([name, value]) =>
    made("div", {}, made("dt", { className: "muted small", text: name }), made("dd", { text: String(value) }))));
}
