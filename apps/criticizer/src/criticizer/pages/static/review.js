// One review: what was said beside what was changed, and who was told when.

import { diffOf, versionsOf } from "./api.js";
import { shown } from "./diff.js";
import { calledOf, counted, made, sayTime, statusOf, toldOf, toneOf, when } from "./words.js";

const byId = (id) => document.getElementById(id);

export class ReviewView {
  #shownDiff = "";

  // Resolves to whether anything is still going to change.
  async show(changelistId, version) {
    const { versions } = await versionsOf(changelistId);
    const review = versions.find((each) => each.review_version === version) ?? versions[0];
    byId("review-title").textContent = review.title || review.changelist_id;
    byId("review-facts").textContent = factsOf(review);
    byId("review-facts").title = review.commits.join(" to ");
    byId("versions").replaceChildren(...versions.map((each) => linkTo(each, review)));
    byId("versions").hidden = versions.length === 1;
    byId("failure").replaceChildren(...failureOf(review));
    this.#showCritique(review);
    byId("told").replaceChildren(...toldList(review));
    await this.#showDiff(review);
    return versions.some((each) => each.finished_at === null);
  }

  forget() {
    this.#shownDiff = "";
  }

  #showCritique({ critique, status }) {
    const isEnded = status === "dead_lettered" || status === "cancelled";
    const missing = isEnded ? "There is none." : "It is not there yet.";
    byId("summary").textContent = critique?.summary ?? missing;
    byId("findings").replaceChildren(...(critique?.findings ?? []).map(findingOf));
  }

  // The diff of a review never changes, so it is fetched once it is there, and kept.
  async #showDiff(review) {
    const key = `${review.job_id}:${review.critique === null}`;
    if (this.#shownDiff === key) return;
    const place = byId("diff");
    try {
      const diff = await diffOf(review.changelist_id, review.review_version);
      const findings = (review.critique?.findings ?? []).map((each, n) => ({ ...each, place: n }));
      const { table, files } = shown(diff, findings);
      place.replaceChildren(table);
      byId("diff-facts").textContent = counted(files, "file", "files");
      this.#shownDiff = key;
    } catch (problem) {
      if (problem.status !== 404) throw problem;
      place.replaceChildren(made("p", { className: "empty", text: "It is not fetched yet." }));
      byId("diff-facts").textContent = "";
    }
  }
}

function factsOf(review) {
  const facts = [...calledOf(review), `version ${review.review_version}`, statusOf(review).word];
  if (review.repository) facts.splice(-2, 0, review.repository);
  if (review.reviewer) facts.push(`by ${review.reviewer}`);
  if (review.input_tokens) facts.push(`${review.input_tokens + review.output_tokens} tokens`);
  if (review.cost_usd !== null) facts.push(`$${review.cost_usd}`);
  facts.push(when(review.finished_at ?? review.created_at));
  return facts.join(" · ");
}

function linkTo(each, current) {
  const link = made("a", {
    className: "button tight",
    text: `Version ${each.review_version}`,
    href: `#${new URLSearchParams({ change: each.changelist_id, version: each.review_version })}`,
  });
  if (each === current) link.setAttribute("aria-current", "true");
  return link;
}

function failureOf({ error, job_id: id }) {
  if (error === null) return [];
  const said = made("p", { text: `${error.error_class}: ${error.message} ` });
  said.append(made("a", { href: `../jobs/${id}`, text: "See what happened" }));
  return [made("div", { className: "notice bad" }, said)];
}

function findingOf(finding, place) {
  const where = finding.line === null ? finding.file : `${finding.file}:${finding.line}`;
  const item = made(
    "li",
    { className: toneOf(finding.severity) },
    made("span", { className: "badge", text: finding.severity }),
    made("a", { className: "where", href: `#line-${place}`, text: where }),
    made("p", { text: finding.message }),
  );
  item.querySelector("a").addEventListener("click", (event) => {
    event.preventDefault();
    const note = document.getElementById(`line-${place}`);
    (note ?? headingOf(finding.file))?.scrollIntoView({ block: note ? "center" : "start" });
  });
  if (finding.suggestion) item.append(made("pre", { text: finding.suggestion }));
  return item;
}

function headingOf(file) {
  return [...document.querySelectorAll("#diff .file")].find((each) => each.dataset.file === file);
}

function toldList({ deliveries, recipients }) {
  if (!deliveries.length) {
    const text = recipients ? `Nobody so far, of ${recipients}.` : "Nobody: none was named.";
    return [made("li", { className: "muted", text })];
  }
  return deliveries.map((each) => {
    const { word, tone } = toldOf(each);
    const time = made("time");
    if (each.notified_at !== null) sayTime(time, each.notified_at);
    return made(
      "li",
      { className: tone },
      made("span", { className: "who", text: each.recipient }),
      made("span", { className: "badge", text: word }),
      time,
    );
  });
}
