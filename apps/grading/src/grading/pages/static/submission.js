// One submission: how far it is, what came of it, and what happened on the way.

import * as api from "./api.js";
import { answerOf } from "./answer.js";
import { ask, badge, byId, made, noticeOf } from "./dom.js";
import { Live } from "./live.js";
import { resultOf } from "./result.js";
import { UNDER_WAY, agoOf, exactOf, failureOf, lastingOf, sentence, statusOf, stepOf } from "./words.js";

const STEPS = { writing: ["queued", "analyzing", "scoring"], speaking: ["queued", "transcribing", "analyzing", "scoring"] };
const LATE = "The result came after the time was up. You can read it, and it does not count.";

export class SubmissionView {
  #digest = "";

  constructor({ titleOf, refill, changed }) {
    Object.assign(this, { titleOf, refill, changed });
    this.live = new Live({ told: (name, data) => this.#told(name, data) });
  }

  forget() {
    this.#digest = "";
    this.live.follow(null);
  }

  // Resolves to whether anything is still going to change.
  async show(id) {
    const [found, history] = await Promise.all([api.submission(id), api.history(id)]);
    const isOpen = UNDER_WAY.has(found.status) || found.status === "REVIEW_REQUIRED";
    this.live.follow(isOpen ? id : null);
    byId("history").replaceChildren(...history.map(lineOf));
    const digest = JSON.stringify(found);
    if (digest !== this.#digest) {
      this.#digest = digest;
      this.#fill(found);
    }
    return isOpen;
  }

  #told(name, data) {
    if (name === "grading.progress") this.#showState({ ...this.shown, ...data });
    this.changed();
  }

  #fill(found) {
    this.shown = found;
    byId("submission-title").textContent = this.titleOf(found.questionId);
    byId("submission-facts").textContent = [
      found.skill === "writing" ? "Writing" : "Speaking",
      `handed in ${exactOf(found.createdAt)}`,
      found.attempt > 1 ? `attempt ${found.attempt}` : null,
    ].filter(Boolean).join(" · ");
    this.#showState(found);
    const result = found.result ?? found.lateResult;
    byId("outcome").replaceChildren(...(result ? [resultOf(result)] : []));
    byId("outcome").classList.toggle("late", found.result === null && found.lateResult !== null);
    byId("answer").replaceChildren(...answerOf(found, result));
  }

  #showState(found) {
    const { word, tone } = statusOf(found.status);
    const parts = [];
    if (UNDER_WAY.has(found.status)) parts.push(this.#underWay(found, word, tone));
    if (found.status === "REVIEW_REQUIRED") {
      parts.push(noticeOf("A teacher looks at it before you get the result. You need not wait here.", "warn"));
    }
    if (found.status === "FAILED") parts.push(this.#failed(found));
    if (found.isLate) parts.push(noticeOf(LATE, "warn"));
    byId("state").replaceChildren(...parts);
  }

  #underWay(found, word, tone) {
    const steps = STEPS[found.skill];
    const reached = steps.indexOf(found.step);
    const panel = made("section", { className: "panel under-way", "aria-label": "How far it is" },
      made("div", { className: "head" }, badge(word, tone), made("span", { text: found.message || stepOf(found.step) })),
      made("progress", { max: 1, value: found.progress ?? 0, "aria-label": "How far it is" }),
      made("ol", { className: "steps" }, ...steps.map((step, index) =>
        made("li", { className: index < reached ? "done" : index === reached ? "now" : "", text: stepOf(step) }))),
      made("p", { className: "muted small", text: `You have the result by ${exactOf(found.deadlineAt)} at the latest, or word that it failed.` }));
    if (found.status === "PENDING") {
      panel.append(this.#button("Withdraw", "plain tight", () => this.#withdraw(found)));
    }
    return panel;
  }

  #failed(found) {
    const [why, what] = failureOf(found.failureReason);
    const panel = made("section", { className: "panel failed", "aria-label": "Why it failed" },
      made("div", { className: "head" }, badge(statusOf(found.status).word, "bad"), made("b", { text: why })),
      found.lastError ? made("p", { className: "small muted", text: sentence(found.lastError) }) : null,
      made("p", { text: what }));
    panel.append(this.#button("Hand in again", "main tight", () => this.refill(found)));
    return panel;
  }

  #button(text, className, act) {
    const button = made("button", { type: "button", className, text });
    const line = made("span", { className: "wrong small", role: "alert" });
    button.addEventListener("click", async () => {
      button.disabled = true;
      line.textContent = "";
      try {
        await act();
      } catch (problem) {
        line.textContent = sentence(problem.message);
      } finally {
        button.disabled = false;
      }
    });
    return made("div", { className: "actions start" }, button, line);
  }

  async #withdraw({ submissionId }) {
    const text = "It is not graded then. Your answer stays here.";
    if (!(await ask({ title: "Withdraw it?", text, yes: "Withdraw" }))) return;
    await api.cancel(submissionId);
    this.changed();
  }
}

function lineOf({ at, event, text }) {
  return made("li", { "data-event": event },
    made("time", { dateTime: at, title: exactOf(at), className: "muted small", text: agoOf(at) }),
    made("span", { text }));
}

export function deadlineLine(deadlineAt, nowMs) {
  const leftS = (new Date(deadlineAt).getTime() - nowMs) / 1000;
  return leftS > 0 ? `${lastingOf(leftS)} left` : "time is up";
}
