// The list of submissions. Rows are kept and changed in place, so that focus stays.

import * as api from "./api.js";
import { badge, byId, keyed, made } from "./dom.js";
import { UNDER_WAY, agoOf, bandOf, counted, exactOf, failureOf, scoreOf, statusOf, stepOf, trendOf } from "./words.js";

export class List {
  #pages = 1;

  constructor({ titleOf, changed }) {
    this.titleOf = titleOf;
    byId("older").addEventListener("click", () => {
      this.#pages += 1;
      changed();
    });
  }

  // Resolves to what is shown, newest first.
  async show() {
    const items = [];
    let cursor = null;
    for (let page = 0; page < this.#pages; page += 1) {
      const found = await api.submissions(cursor);
      items.push(...found.items);
      cursor = found.nextCursor;
      if (cursor === null) break;
    }
    keyed(byId("rows"), items, {
      key: (item) => item.submissionId,
      make: () => made("li", {}, made("a", { className: "row" })),
      update: (element, item) => this.#fill(element.firstElementChild, item),
    });
    byId("empty").hidden = items.length > 0;
    byId("more").hidden = cursor === null;
    const underWay = items.filter(({ status }) => UNDER_WAY.has(status)).length;
    byId("summary").textContent = underWay > 0 ? `${underWay} under way` : "";
    return items;
  }

  // Shows how far one is, as its own stream says it.
  progress(id, { status, step, progress }) {
    const row = byId("rows").querySelector(`[data-key="${CSS.escape(id)}"] .row`);
    if (row !== null) fillState(row.querySelector(".state"), { status, step, progress });
  }

  #fill(row, item) {
    const digest = JSON.stringify([item.status, item.step, item.progress, item.isLate, item.attempt]);
    if (row.dataset.digest === digest) {
      row.querySelector("time").textContent = agoOf(item.createdAt);
      return;
    }
    row.dataset.digest = digest;
    row.href = `#${new URLSearchParams({ submission: item.submissionId })}`;
    const state = made("span", { className: "state" });
    fillState(state, item);
    row.replaceChildren(
      made("span", { className: "title", text: this.titleOf(item.questionId) }),
      state,
      made("span", { className: "mark" }, ...markOf(item)),
      made("span", { className: "facts muted small" }, item.skill === "writing" ? "Writing" : "Speaking", " · ",
        made("time", { dateTime: item.createdAt, title: exactOf(item.createdAt), text: agoOf(item.createdAt) }),
        item.attempt > 1 ? ` · attempt ${item.attempt}` : null),
    );
  }
}

function fillState(place, { status, step, progress, failureReason, isLate }) {
  const { word, tone } = statusOf(status);
  const parts = [badge(word, tone)];
  if (UNDER_WAY.has(status)) {
    parts.push(made("span", { className: "small step", text: stepOf(step) }));
    parts.push(made("progress", { max: 1, value: progress ?? 0, "aria-label": "How far it is" }));
  } else if (status === "FAILED") {
    parts.push(made("span", { className: "small step", text: failureOf(failureReason)[0] }));
    if (isLate) parts.push(badge("came too late", "over"));
  }
  place.replaceChildren(...parts);
}

function markOf({ status, result }) {
  if (status !== "COMPLETED" || result === null) return [];
  return [
    made("b", { text: scoreOf(result.overallScore) }),
    made("span", { className: "muted small", text: bandOf(result.band) }),
  ];
}

// The figures of a learner: late and failed ones are not among them.
export async function showFigures() {
  const found = await api.progress();
  const shown = [["Writing", found.writing], ["Speaking", found.speaking]].filter(([, { count }]) => count > 0);
  byId("figures").hidden = shown.length === 0;
  byId("figures").replaceChildren(
    ...shown.map(([name, { count, windowAvg, trend }]) =>
      made("div", {},
        made("dt", { className: "muted small", text: name }),
        made("dd", {}, made("b", { text: scoreOf(windowAvg) }),
          made("span", { className: "muted small", text: `${counted(count, "result", "results")}, ${trendOf(trend)}` }))),
    ),
  );
}
