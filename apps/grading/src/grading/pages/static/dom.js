// Elements made of text nodes: whatever learners and graders wrote is shown, never parsed.

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
  element.append(...children.flat().filter((each) => each !== null && each !== undefined));
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

// Resolves to whether somebody confirmed.
export function ask({ title, text, yes }) {
  const dialog = byId("ask");
  byId("ask-title").textContent = title;
  byId("ask-text").textContent = text;
  byId("ask-yes").textContent = yes;
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
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
