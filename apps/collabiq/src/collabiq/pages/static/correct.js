// The form in which a person corrects what was found in a mail.

import * as api from "./api.js";
import { made } from "./dom.js";
import { FIELDS, INTENSITIES, percentOf } from "./words.js";

const LONG = new Set(["details", "summary"]);
const MOST = { person_in_charge: 100, startup_name: 200, partner_org: 200, details: 2000, summary: 2000 };
const CHOICES = { matched_company_id: ["startup", "Start-up in Notion"], matched_partner_id: ["partner", "Partner in Notion"] };

export class Correction {
  constructor({ changed }) {
    this.changed = changed;
    this.isOpen = false;
  }

  close() {
    this.isOpen = false;
  }

  open(found, place) {
    this.isOpen = true;
    const before = { ...found.extraction };
    for (const [name, [of]] of Object.entries(CHOICES)) before[name] = found.matches?.[of]?.found?.id ?? null;
    const line = made("p", { className: "wrong small", role: "alert" });
    const save = made("button", { className: "main", text: "Save" });
    const leave = made("button", { type: "button", text: "Leave it" });
    const form = made("form", { className: "correct", noValidate: true },
      ...Object.entries(FIELDS).map(([name, title]) => fieldOf(name, title, inputOf(name, before[name]))),
      ...Object.entries(CHOICES).map(([name, [of, title]]) => choiceOf(name, title, found.matches?.[of], before[name])),
      line,
      made("div", { className: "actions start" }, save, leave));
    leave.addEventListener("click", () => this.#done());
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      save.disabled = true;
      line.textContent = "";
      showFlaws(form, []);
      const fields = changes(form, before);
      if (Object.keys(fields).length === 0) {
        line.textContent = "Nothing was changed.";
        save.disabled = false;
        return;
      }
      try {
        await api.correct(found.email_id, fields);
        this.#done();
      } catch (problem) {
        line.textContent = problem.errors.length > 0 ? "Some of it does not fit." : problem.message;
        showFlaws(form, problem.errors);
      } finally {
        save.disabled = false;
      }
    });
    place.replaceChildren(form);
    form.elements[0].focus();
  }

  #done() {
    this.isOpen = false;
    this.changed();
  }
}

function fieldOf(name, title, input) {
  const wrong = made("span", { className: "wrong small", id: `wrong-${name}` });
  input.setAttribute("aria-describedby", wrong.id);
  return made("label", { className: "field" }, made("span", { text: title }), input, wrong);
}

function inputOf(name, value) {
  if (name === "collaboration_intensity") {
    const options = [["", "not known"], ...Object.entries(INTENSITIES)];
    return made("select", { name }, ...options.map(([option, text]) => made("option", { value: option, text, selected: option === (value ?? "") })));
  }
  if (LONG.has(name)) return made("textarea", { name, rows: 5, maxLength: MOST[name], value: value ?? "" });
  return made("input", { name, type: name === "date" ? "date" : "text", maxLength: MOST[name] ?? null, value: value ?? "", autocomplete: "off" });
}

// Which of the companies that were found for a name is meant.
function choiceOf(name, title, match, value) {
  const known = new Map([match?.found, ...(match?.alternatives ?? [])].filter(Boolean).map((each) => [each.id, each]));
  if (known.size === 0) return null;
  const options = [["", "none of them"], ...[...known.values()].map((each) => [each.id, `${each.name} (${percentOf(each.score)})`])];
  return fieldOf(name, title, made("select", { name }, ...options.map(([option, text]) => made("option", { value: option, text, selected: option === (value ?? "") }))));
}

function changes(form, before) {
  const fields = {};
  for (const { name, value } of form.elements) {
    if (!name) continue;
    const now = value === "" && !LONG.has(name) ? null : value;
    if (now !== (before[name] ?? (LONG.has(name) ? "" : null))) fields[name] = now;
  }
  return fields;
}

function showFlaws(form, errors) {
  const byName = new Map(errors.map(({ pointer, message }) => [pointer.slice(1), message]));
  for (const input of form.elements) {
    if (!input.name) continue;
    const message = byName.get(input.name) ?? "";
    form.querySelector(`#wrong-${input.name}`).textContent = message;
    if (message) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
  }
  form.querySelector("[aria-invalid]")?.focus();
}
