// Elements made of text nodes: whatever mails and services say is shown, never parsed.

export const byId = (id) => document.getElementById(id);

export function made(tag, { className = "", text = null, ...others } = {}, ...children) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== null && text !== undefined) element.textContent = text;
  for (const [name, value] of Object.entries(others)) {
    if (value === null || value === undefined || value === false) continue;
    if (name in element && !name.includes("-")) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((each) => each !== null && each !== undefined && each !== ""));
  return element;
}

export function badge(word, tone) {
  return made("span", { className: `badge ${tone}`, text: word });
}

// Shows one line with a tone, or nothing. What is there already would be read out anew.
export function notice(place, line, tone) {
  if (place.textContent.trim() === line) return;
  place.replaceChildren();
  if (line) place.append(noticeOf(line, tone));
}

export function noticeOf(line, tone) {
  const element = byId("notice").content.firstElementChild.cloneNode(true);
  element.classList.add(tone);
  element.querySelector("p").textContent = line;
  return element;
}

// A link to another site, only where it is one: an address from a service may be anything.
export function outside(url, text, className = "") {
  if (!/^https?:\/\//.test(url ?? "")) return null;
  return made("a", { href: url, text, className, target: "_blank", rel: "noopener noreferrer" });
}

// A button that cannot be pressed twice, with a line for what went wrong.
export function acting(text, className, act, { label = null } = {}) {
  const button = made("button", { type: "button", className, text, "aria-label": label });
  const line = made("span", { className: "wrong small", role: "alert" });
  button.addEventListener("click", async () => {
    button.disabled = true;
    line.textContent = "";
    try {
      await act();
    } catch (problem) {
      line.textContent = problem.message;
    } finally {
      button.disabled = false;
    }
  });
  return { button, line };
}

// Resolves to null when somebody declines, else to what they wrote, or true without a field.
export function ask({ title, text, yes, field = null }) {
  const dialog = byId("ask");
  byId("ask-title").textContent = title;
  byId("ask-text").textContent = text;
  byId("ask-yes").textContent = yes;
  byId("ask-field").hidden = field === null;
  byId("ask-label").textContent = field ?? "";
  byId("ask-input").required = field !== null;
  byId("ask-input").value = "";
  byId("ask-no").formNoValidate = true;
  dialog.returnValue = "no";
  dialog.showModal();
  (field === null ? byId("ask-no") : byId("ask-input")).focus();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      if (dialog.returnValue !== "yes") resolve(null);
      else resolve(field === null ? true : byId("ask-input").value);
    }, { once: true });
  });
}

// Replaces the children of a list by key, so that focus and open folds stay where they are.
export function keyed(list, items, { key, make, update }) {
  const known = new Map([...list.children].map((each) => [each.dataset.key, each]));
  items.forEach((item, index) => {
    const name = String(key(item));
    let element = known.get(name);
    if (element === undefined) {
      element = make(item);
      element.dataset.key = name;
    }
    known.delete(name);
    update(element, item);
    const there = list.children[index];
    if (there !== element) list.insertBefore(element, there ?? null);
  });
  for (const element of known.values()) element.remove();
}
