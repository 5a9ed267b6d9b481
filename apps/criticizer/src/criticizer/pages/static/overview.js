// The list of reviews, and the form that asks for one.

import { askFor, latest } from "./api.js";
import { calledOf, counted, made, sayTime, sentence, statusOf } from "./words.js";

const byId = (id) => document.getElementById(id);

export class Overview {
  #pages = 1;

  constructor({ changed }) {
    this.changed = changed;
    byId("older").addEventListener("click", () => {
      this.#pages += 1;
      this.changed();
    });
    byId("ask-for").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#ask(event.target);
    });
  }

  // Resolves to whether anything is still going to change.
  async show() {
    const items = [];
    let next = null;
    for (let page = 0; page < this.#pages; page += 1) {
      const found = await latest(next);
      items.push(...found.items);
      next = found.next;
      if (next === null) break;
    }
    byId("rows").replaceChildren(...items.map(rowOf));
    byId("empty").hidden = items.length > 0;
    byId("more").hidden = next === null;
    return items.some((each) => each.finished_at === null);
  }

  async #ask(form) {
    const given = new FormData(form);
    const button = form.querySelector("button");
    const said = byId("asked");
    button.disabled = true;
    said.textContent = "";
    showFlaws(form, []);
    try {
      const review = await askFor({
        changelist_id: given.get("changelist_id").trim(),
        review_version: Number(given.get("review_version")),
        recipients: given.get("recipients").split(/[\s,;]+/).filter(Boolean),
        rerun: given.get("rerun") === "on",
        idempotency_key: crypto.randomUUID(),
      });
      said.textContent = review.replayed ? "It was asked for before; here it is." : "It is under way.";
      location.hash = new URLSearchParams({
        change: review.changelist_id,
        version: review.review_version,
      });
    } catch (problem) {
      const shown = showFlaws(form, problem.errors ?? []);
      said.textContent = shown ? "Correct what is marked, then ask again." : problem.message;
    } finally {
      button.disabled = false;
    }
  }
}

// Says beside each field what is wrong with it; returns whether all of it has a field.
function showFlaws(form, errors) {
  for (const field of form.querySelectorAll("input")) {
    const place = document.getElementById(`wrong-${field.name}`);
    if (place === null) continue;
    const found = errors.filter(({ pointer }) => pointer.split("/")[1] === field.name);
    const lines = found.map((each) => lineOf(each, field));
    place.textContent = [...new Set(lines)].join(" ");
    field.toggleAttribute("aria-invalid", found.length > 0);
  }
  form.querySelector("[aria-invalid]")?.focus();
  return errors.length > 0 && errors.every(({ pointer }) => form.elements[pointer.split("/")[1]]);
}

function lineOf({ pointer, message }, field) {
  const place = pointer.split("/")[2];
  if (field.name !== "recipients" || place === undefined) return sentence(message);
  const given = field.value.split(/[\s,;]+/).filter(Boolean)[Number(place)];
  return `“${given}” is no e-mail address.`;
}

function rowOf(review) {
  const { word, tone } = statusOf(review);
  const target = new URLSearchParams({
    change: review.changelist_id,
    version: review.review_version,
  });
  const time = made("time", { className: "muted small" });
  sayTime(time, review.created_at);
  const sent = review.deliveries.filter((each) => each.status === "sent").length;
  const told = review.recipients ? `${sent} of ${review.recipients} told` : "nobody is told";
  const findings = review.critique?.findings.length;
  const found = findings === undefined ? "" : counted(findings || "no", "finding", "findings");
  return made(
    "li",
    { className: tone },
    made("a", { href: `#${target}`, className: "title", text: review.title || review.changelist_id }),
    made("span", { className: "badge", text: word }),
    made("span", {
      className: "muted small facts",
      text: [
        ...calledOf(review),
        review.repository,
        `version ${review.review_version}`,
        found,
        told,
        review.error?.message,
      ]
        .filter(Boolean)
        .join(" · "),
    }),
    time,
  );
}
