// A unified diff as lines with numbers, and the findings at the lines that they are about.

import { made, toneOf } from "./words.js";

const MOST_LINES = 5_000;
const HUNK = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/;

export function shown(diff, findings) {
  const table = made("table", { className: "lines" });
  const body = made("tbody");
  table.append(body);
  const open = [...findings];
  const lines = diff.split("\n");
  let file = "";
  let oldNumber = 0;
  let newNumber = 0;
  let isInHunk = false;
  for (const line of lines.slice(0, MOST_LINES)) {
    const hunk = HUNK.exec(line);
    if (hunk) {
      [oldNumber, newNumber, isInHunk] = [Number(hunk[1]), Number(hunk[2]), true];
      body.append(row("hunk", "", "", line));
    } else if (isInHunk && /^[ +-]/.test(line)) {
      const kind = line[0] === "+" ? "added" : line[0] === "-" ? "removed" : "same";
      body.append(
        row(kind, kind === "added" ? "" : oldNumber++, kind === "removed" ? "" : newNumber++, line),
      );
      if (kind !== "removed") body.append(...notesAt(open, file, newNumber - 1));
    } else {
      if (line.startsWith("diff --git") || line.startsWith("--- ")) isInHunk = false;
      if (line.startsWith("+++ ")) file = line.slice(4).replace(/^b\//, "").replace(/\t.*$/, "");
      if (line !== "") body.append(row("head", "", "", line));
    }
  }
  if (lines.length > MOST_LINES) {
    body.append(row("head", "", "", `… and ${lines.length - MOST_LINES} more lines`));
  }
  return table;
}

function row(kind, oldNumber, newNumber, text) {
  return made(
    "tr",
    { className: kind },
    made("td", { className: "line-number", text: String(oldNumber) }),
    made("td", { className: "line-number", text: String(newNumber) }),
    made("td", { className: "code", text }),
  );
}

function notesAt(open, file, line) {
  const here = open.filter((each) => each.file === file && each.line === line);
  return here.map((each) =>
    made(
      "tr",
      { className: `note ${toneOf(each.severity)}`, id: `line-${each.place}` },
      made("td"),
      made("td"),
      made("td", { text: `${each.severity}: ${each.message}` }),
    ),
  );
}
