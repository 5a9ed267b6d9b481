// A unified diff, file by file, as lines with numbers, and the findings at the lines they are about.

import { made, toneOf } from "./words.js";

const MOST_LINES = 5_000;
const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;
const ABOUT_FILE = /^(diff |index |--- |\+\+\+ |(old|new) mode |similarity |dissimilarity |rename to )/;
const FACTS = { "new file": "new", "deleted file": "deleted", "rename from": "renamed" };

// Returns the table, and how many files are in it.
export function shown(diff, findings) {
  const lines = diff.split("\n");
  const drawing = new Drawing(findings);
  for (const line of lines.slice(0, MOST_LINES)) drawing.take(line);
  if (lines.length > MOST_LINES) {
    drawing.say("head", `… and ${lines.length - MOST_LINES} more lines`);
  }
  return { table: made("table", { className: "lines" }, drawing.body), files: drawing.files };
}

class Drawing {
  #findings;
  #file = "";
  #heading = null;
  #old = { number: 0, left: 0 };
  #new = { number: 0, left: 0 };

  constructor(findings) {
    this.#findings = findings;
    this.body = made("tbody");
    this.files = 0;
  }

  take(line) {
    const hunk = HUNK.exec(line);
    if (this.#old.left > 0 || this.#new.left > 0) this.#takeLine(line);
    else if (hunk) this.#takeHunk(hunk, line);
    else this.#takeHead(line);
  }

  say(kind, text) {
    this.#add(kind, "", "", text);
  }

  #takeHunk([, oldStart, oldCount, newStart, newCount], line) {
    this.#heading = null;
    this.#old = { number: Number(oldStart), left: Number(oldCount ?? 1) };
    this.#new = { number: Number(newStart), left: Number(newCount ?? 1) };
    this.say("hunk", line);
  }

  #takeLine(line) {
    if (line.startsWith("\\")) return;
    const isAdded = line.startsWith("+");
    const isRemoved = line.startsWith("-");
    const kind = isAdded ? "added" : isRemoved ? "removed" : "same";
    this.#add(kind, isAdded ? "" : next(this.#old), isRemoved ? "" : next(this.#new), line);
    if (!isRemoved) this.body.append(...notesAt(this.#findings, this.#file, this.#new.number - 1));
  }

  #takeHead(line) {
    if (line.startsWith("diff ") || (line.startsWith("--- ") && this.#heading === null)) {
      this.#open(line.startsWith("diff --git ") ? nameOf(line.replace(/^.* (?=("?)b\/)/, "")) : "");
    }
    if (line.startsWith("--- ") && !line.endsWith("/dev/null")) this.#name(line.slice(4));
    if (line.startsWith("+++ ") && !line.endsWith("/dev/null")) this.#name(line.slice(4));
    const fact = Object.keys(FACTS).find((each) => line.startsWith(each));
    if (fact) {
      const from = fact === "rename from" ? ` from ${line.slice(fact.length + 1)}` : "";
      this.#heading?.append(made("span", { className: "muted", text: ` ${FACTS[fact]}${from}` }));
    } else if (line !== "" && !line.startsWith("\\") && !ABOUT_FILE.test(line)) {
      this.say("head", line);
    }
  }

  #open(name) {
    this.files += 1;
    this.#file = name;
    this.#heading = made("th", { colspan: "3", scope: "rowgroup" }, made("span", { text: name }));
    this.body.append(made("tr", { className: "file", "data-file": name }, this.#heading));
  }

  #name(written) {
    this.#file = nameOf(written);
    if (this.#heading === null) return;
    this.#heading.firstChild.textContent = this.#file;
    this.#heading.parentElement.dataset.file = this.#file;
  }

  #add(kind, oldNumber, newNumber, text) {
    this.body.append(
      made(
        "tr",
        { className: kind },
        made("td", { className: "line-number", text: String(oldNumber) }),
        made("td", { className: "line-number", text: String(newNumber) }),
        made("td", { className: "code", text }),
      ),
    );
  }
}

function next(side) {
  side.left -= 1;
  side.number += 1;
  return side.number - 1;
}

function nameOf(written) {
  const plain = written.replace(/\t.*$/, "");
  const bare = plain.startsWith('"') && plain.endsWith('"') ? plain.slice(1, -1) : plain;
  return bare.replace(/^[ab]\//, "");
}

function notesAt(findings, file, line) {
  const here = findings.filter((each) => each.file === file && each.line === line);
  return here.map((each) =>
    made(
      "tr",
      { className: `note ${toneOf(each.severity)}`, id: `line-${each.place}` },
      made("td", { className: "line-number" }),
      made("td", { className: "line-number" }),
      made("td", { text: `${each.severity}: ${each.message}` }),
    ),
  );
}
