// The desk of a teacher: what waits, one case at a time, and a grade of their own.

import * as api from "./api.js";
import { answerOf } from "./answer.js";
import { badge, byId, keyed, made } from "./dom.js";
import { bandFor, merged } from "./merge.js";
import { criteriaOf } from "./result.js";
import { agoOf, bandOf, clockOf, counted, criterionOf, scoreOf, sentence } from "./words.js";

const TONES = { Critical: "bad", High: "warn", Medium: "busy" };
const TICK_MS = 1000;

export class ReviewView {
  #open = null;
  #savedId = null;
  #items = [];

  constructor({ questionOf, changed, me }) {
    Object.assign(this, { questionOf, changed, me });
    setInterval(() => this.#tick(), TICK_MS);
  }

  // Resolves to whether anything is still going to change.
  async show(id) {
    this.#items = await api.pendingReviews();
    keyed(byId("queue"), this.#items, {
      key: (item) => item.submissionId,
      make: () => made("li", {}, made("a", { className: "row" })),
      update: (element, item) => this.#fillRow(element.firstElementChild, item, id),
    });
    byId("queue-empty").hidden = this.#items.length > 0;
    byId("queue-summary").textContent = this.#items.length > 0 ? counted(this.#items.length, "answer", "answers") : "";
    const found = this.#items.find((each) => each.submissionId === id) ?? null;
    this.#showCase(found, id);
    return true;
  }

  #fillRow(row, item, chosen) {
    row.href = `#${new URLSearchParams({ review: item.submissionId })}`;
    row.toggleAttribute("aria-current", item.submissionId === chosen);
    const claim = item.claimedBy === null ? null
      : made("span", { className: "small muted", text: item.claimedBy === this.me() ? "yours" : `with ${item.claimedBy}` });
    row.replaceChildren(
      made("span", { className: "title", text: this.questionOf(item.questionId)?.title ?? item.questionId }),
      badge(item.reviewPriority, TONES[item.reviewPriority] ?? "over"),
      made("span", { className: "facts muted small", text: `${item.skill === "writing" ? "Writing" : "Speaking"} · ${agoOf(item.createdAt)}` }),
      claim ?? "");
  }

  #showCase(item, id) {
    const shown = this.#open?.item;
    if (item === null) {
      if (this.#open?.isSaved) this.#savedId = id;
      const gone = id === this.#savedId ? "Your grade is saved, and the learner can read it." : "It is not waiting any more.";
      const line = id ? gone : "Choose an answer to review.";
      this.#open = null;
      byId("case").replaceChildren(made("p", { className: "panel muted", text: this.#items.length > 0 || id ? line : "" }));
      byId("case").hidden = this.#items.length === 0 && !id;
      return;
    }
    byId("case").hidden = false;
    // What a teacher has typed stays while the queue moves on.
    if (shown?.submissionId === item.submissionId && shown.claimedBy === item.claimedBy) {
      this.#open.item = item;
      return;
    }
    this.#open = new Case(item, { question: this.questionOf(item.questionId), me: this.me(), changed: this.changed });
    byId("case").replaceChildren(this.#open.element);
  }

  #tick() {
    this.#open?.tick(Date.now());
  }
}

class Case {
  constructor(item, { question, me, changed }) {
    Object.assign(this, { item, me, changed });
    this.isMine = item.claimedBy === me;
    this.hasLooked = false;
    this.timer = made("span", { className: "small muted", role: "timer" });
    this.said = made("p", { className: "small", role: "status" });
    this.element = made("article", { className: "case" },
      made("section", { className: "panel", "aria-label": "The answer" },
        made("h2", { text: question?.title ?? item.questionId }),
        made("p", { className: "muted", text: question?.prompt ?? "" }),
        ...answerOf(item, null),
        item.result?.transcript ? made("div", { className: "transcript" }, made("h3", { text: "Transcript" }), made("p", { className: "text", text: item.result.transcript })) : null),
      this.#graderView(),
      this.#claimBar(),
      this.isMine ? this.#form() : null);
    if (item.skill === "speaking") this.element.querySelector(".spoken .transcript")?.remove();
    this.tick(Date.now());
  }

  tick(nowMs) {
    const { claimedBy, claimedUntil } = this.item;
    if (claimedBy === null) {
      this.timer.textContent = "Claim it to grade it; it is yours for 15 minutes then.";
      return;
    }
    const leftS = (new Date(claimedUntil).getTime() - nowMs) / 1000;
    const whose = this.isMine ? "Yours for" : `With ${claimedBy} for`;
    this.timer.textContent = leftS > 0 ? `${whose} ${clockOf(leftS)}` : "The claim has run out.";
    this.timer.classList.toggle("warn", this.isMine && leftS < 120);
  }

  #graderView() {
    const { result } = this.item;
    const fold = made("details", { className: "panel grader-view" },
      made("summary", { text: "Show the grader’s view" }),
      made("p", {}, made("b", { text: scoreOf(result.overallScore) }), ` of 10, ${bandOf(result.band)}, confidence ${result.confidenceScore} of 100`),
      criteriaOf(result),
      ...["strengths", "weaknesses"].map((name) =>
        made("ul", {}, ...result.feedback[name].map((each) => made("li", { text: each })))));
    fold.addEventListener("toggle", () => {
      this.hasLooked ||= fold.open;
      this.preview?.();
    });
    return fold;
  }

  #claimBar() {
    const bar = made("div", { className: "panel claim" }, this.timer);
    const isFree = this.item.claimedBy === null || new Date(this.item.claimedUntil).getTime() <= Date.now();
    if (!this.isMine && isFree) bar.append(this.#button("Claim", "main", () => api.claim(this.item.submissionId)));
    if (this.isMine) bar.append(this.#button("Give it back", "plain", () => api.release(this.item.submissionId)));
    bar.append(this.said);
    return bar;
  }

  #button(text, className, act) {
    const button = made("button", { type: "button", className: `${className} tight`, text });
    button.addEventListener("click", () => this.#do(button, act));
    return button;
  }

  async #do(button, act) {
    button.disabled = true;
    this.said.textContent = "";
    try {
      await act();
      this.changed();
    } catch (problem) {
      this.said.textContent = sentence(problem.message);
      this.said.className = "small bad wrong";
      // Somebody else may have it by now.
      if (problem.code === "CONFLICT") this.changed();
    } finally {
      button.disabled = false;
    }
  }

  #form() {
    const { result } = this.item;
    const score = (name, label) =>
      made("label", { className: "field" }, label,
        made("input", { type: "number", name, min: 0, max: 10, step: 0.5, inputMode: "decimal" }));
    const lines = (name, label) =>
      made("label", { className: "field wide" }, label,
        made("textarea", { name, rows: 2, placeholder: "One line each" }));
    const overall = score("overall", "Overall score");
    overall.querySelector("input").required = true;
    const preview = made("p", { className: "merge small", role: "status" });
    const form = made("form", { className: "panel grade" },
      made("h2", { text: "Your grade" }),
      made("div", { className: "fields" }, overall, ...Object.keys(result.criteriaScores).map((each) => score(each, criterionOf(each)))),
      made("div", { className: "fields" }, lines("strengths", "What went well"), lines("weaknesses", "What to work on"), lines("suggestions", "Try this next"),
        made("label", { className: "field wide" }, "Comment to the learner", made("textarea", { name: "comment", rows: 2, maxLength: 4000 }))),
      preview,
      made("div", { className: "actions" }, made("button", { className: "main", text: "Save the grade" })));
    this.preview = () => {
      preview.textContent = this.#mergeLine(form.elements.overall.value);
    };
    form.addEventListener("input", () => this.preview());
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#do(form.querySelector("button"), async () => {
        await api.review(this.item.submissionId, bodyOf(form, Object.keys(result.criteriaScores)));
        this.isSaved = true;
      });
    });
    this.preview();
    return form;
  }

  // It would give the grader's score away to those who have not looked yet.
  #mergeLine(given) {
    if (given === "") return "Give an overall score, in steps of 0.5.";
    const score = Number(given);
    const own = `${scoreOf(score)} (${bandOf(bandFor(score))})`;
    if (!this.hasLooked) return `Your score: ${own}. Open the grader’s view to see what becomes of both.`;
    const { overallScore, band } = this.item.result;
    const final = merged({ score: overallScore, band }, { score, band: bandFor(score) });
    const how = final.mode === "hybrid" ? "both count, 0.4 and 0.6" : "yours alone counts, and it is marked for the audit";
    return `Grader ${scoreOf(overallScore)} (${bandOf(band)}), you ${own}: final ${scoreOf(final.score)} (${bandOf(final.band)}); ${how}.`;
  }
}

function bodyOf(form, criteria) {
  const text = (name) => form.elements[name].value;
  const lines = (name) => text(name).split("\n").map((each) => each.trim()).filter(Boolean);
  const score = Number(text("overall"));
  const given = criteria.filter((name) => text(name) !== "").map((name) => [name, Number(text(name))]);
  const feedback = { strengths: lines("strengths"), weaknesses: lines("weaknesses"), suggestions: lines("suggestions") };
  const body = { overallScore: score, band: bandFor(score) };
  if (given.length > 0) body.criteriaScores = Object.fromEntries(given);
  if (Object.values(feedback).some((each) => each.length > 0)) body.feedback = feedback;
  if (text("comment").trim() !== "") body.reviewComment = text("comment").trim();
  return body;
}
