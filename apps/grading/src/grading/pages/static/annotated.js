// A text with its mistakes marked. Places count characters, not the half characters of a browser.

import { made } from "./dom.js";

export function annotated(text, annotations) {
  const characters = [...text];
  const sorted = annotations
    .filter(({ offset, length }) => offset + length <= characters.length)
    .sort((one, other) => one.offset - other.offset);
  const pieces = [];
  const notes = made("ol", { className: "notes" });
  let end = 0;
  for (const { offset, length, message, suggestion } of sorted) {
    // Of two that overlap the first is shown.
    if (offset < end) continue;
    const number = notes.children.length + 1;
    const quote = characters.slice(offset, offset + length).join("");
    pieces.push(characters.slice(end, offset).join(""), markOf({ number, quote, message }));
    notes.append(
      made("li", { id: `note-${number}`, tabIndex: -1 },
        made("q", { text: quote }),
        made("span", { text: ` ${message}` }),
        suggestion ? made("span", { className: "better", text: ` Better: ${suggestion}` }) : null),
    );
    end = offset + length;
  }
  pieces.push(characters.slice(end).join(""));
  const body = made("div", { className: "text" }, ...pieces);
  return notes.children.length === 0 ? [body] : [body, notes];
}

function markOf({ number, quote, message }) {
  const mark = made("button", { type: "button", className: "marked", title: message },
    made("mark", { text: quote }),
    made("sup", { text: number, "aria-label": `note ${number}` }));
  // Not a link: what stands after # says which view is shown.
  mark.addEventListener("click", () => {
    const note = document.getElementById(`note-${number}`);
    note.focus({ preventScroll: true });
    note.scrollIntoView({ block: "center" });
  });
  return mark;
}
