// How the system is: figures, upstreams, and dead letters to be worked through.

import * as api from "./api.js";
import { ask, badge, byId, keyed, made } from "./dom.js";
import { agoOf, counted, exactOf, failureOf, lastingOf, sentence } from "./words.js";

const STALE_S = 60;
const SILENT_S = 300;
const GATES = { closed: ["called", "good"], open: ["not called", "bad"], half_open: ["being tried", "warn"], trial: ["being tried", "warn"] };

export class OperationsView {
  constructor({ changed }) {
    this.changed = changed;
  }

  // Resolves to whether anything is still going to change.
  async show() {
    const [found, letters] = await Promise.all([api.operations(), api.deadLetters()]);
    byId("tiles").replaceChildren(...tilesOf(found));
    byId("breakers").replaceChildren(...found.breakers.map(breakerRow));
    keyed(byId("dlq"), letters, {
      key: (letter) => letter.id,
      make: (letter) => this.#row(letter),
      update: () => {},
    });
    byId("dlq-empty").hidden = letters.length > 0;
    return true;
  }

  #row(letter) {
    const line = made("span", { className: "wrong small", role: "alert" });
    const named = letter.submissionId ?? letter.requestId ?? letter.id;
    const button = (text, className, act) => {
      const made_ = made("button", { type: "button", className: `${className} tight`, text, "aria-label": `${text} ${named}` });
      made_.addEventListener("click", async () => {
        made_.disabled = true;
        line.textContent = "";
        try {
          await act();
          this.changed();
        } catch (problem) {
          line.textContent = sentence(problem.message);
        } finally {
          made_.disabled = false;
        }
      });
      return made_;
    };
    const discard = async () => {
      const text = "It is closed without being graded. The submission stays as it is.";
      if (await ask({ title: "Discard this dead letter?", text, yes: "Discard" })) await api.discardLetter(letter.id);
    };
    return made("li", { className: "letter" },
      made("span", { className: "title", text: failureOf(letter.failureReason)[0] }),
      badge(letter.failureReason, "bad"),
      made("span", { className: "facts muted small", text: factsOf(letter) }),
      made("code", { className: "small", text: named }),
      made("p", { className: "small", text: sentence(letter.lastError) }),
      made("span", { className: "actions" },
        letter.canRetry ? button("Retry", "", () => api.retryLetter(letter.id)) : null,
        button("Discard", "plain", discard)),
      line);
  }
}

function factsOf({ skill, stage, attemptsMade, timestamp }) {
  return [
    skill,
    stage ? `failed in ${stage}` : null,
    counted(attemptsMade, "attempt", "attempts"),
    agoOf(timestamp),
  ].filter(Boolean).join(" · ");
}

function tilesOf(found) {
  const { outbox, broker, grader } = found;
  const seenS = grader.lastSeenAt === null ? Infinity : (Date.now() - new Date(grader.lastSeenAt).getTime()) / 1000;
  const isStale = outbox.pending > 0 && (outbox.oldestSeconds ?? 0) > STALE_S;
  return [
    tile("Outbox", outbox.pending, outbox.pending ? `oldest ${lastingOf(outbox.oldestSeconds)}` : "nothing waits", isStale ? "bad" : ""),
    tile("Broker", broker.connected === null ? "none" : broker.connected ? "connected" : "away", broker.connected === null ? "both sides are in this process" : broker.connected ? "messages are taken" : "messages wait in the outbox", broker.connected === false ? "bad" : ""),
    tile("Grader", grader.lastSeenAt === null ? "never seen" : agoOf(grader.lastSeenAt), grader.lastSeenAt === null ? "no callback so far" : `last callback ${exactOf(grader.lastSeenAt)}`, seenS > SILENT_S && outbox.pending > 0 ? "bad" : ""),
    tile("Timed out today", found.timedOutToday, "FAILED(TIMEOUT)", found.timedOutToday > 0 ? "warn" : ""),
    tile("Late today", found.lateToday, "results after the deadline", found.lateToday > 0 ? "warn" : ""),
    tile("Dead letters", found.dlqOpen, "open", found.dlqOpen > 0 ? "bad" : ""),
    tile("Calls in doubt", found.callsInDoubt, "may have been charged", found.callsInDoubt > 0 ? "warn" : ""),
    tile("Cost today", `$${found.costTodayUsd.toFixed(2)}`, "paid calls"),
  ];
}

function tile(title, value, line, tone = "") {
  return made("div", { className: `tile ${tone}` },
    made("span", { className: "muted small", text: title }),
    made("b", { text: String(value) }),
    made("span", { className: "muted small", text: line }));
}

function breakerRow(breaker) {
  const [word, tone] = GATES[breaker.state] ?? [breaker.state, "over"];
  const why = breaker.reason ? `: ${breaker.reason}` : "";
  return made("li", { className: "letter" },
    made("span", { className: "title", text: breaker.name }),
    badge(word, tone),
    made("span", { className: "facts muted small", text: `breaker ${breaker.state}${why}` }));
}
