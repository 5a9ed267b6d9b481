// Mails as files: dropped anywhere on the page, or chosen.

import * as api from "./api.js";
import { byId, notice } from "./dom.js";
import { counted, sizeOf } from "./words.js";

const MAX_BYTES = 25 * 1024 * 1024;

export class Dropping {
  #depth = 0;

  constructor({ changed }) {
    this.changed = changed;
    addEventListener("dragenter", (event) => {
      if (!hasFiles(event)) return;
      this.#depth += 1;
      byId("drop").hidden = false;
    });
    addEventListener("dragleave", () => {
      this.#depth = Math.max(0, this.#depth - 1);
      byId("drop").hidden = this.#depth === 0;
    });
    addEventListener("dragover", (event) => {
      if (hasFiles(event)) event.preventDefault();
    });
    addEventListener("drop", (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      this.#depth = 0;
      byId("drop").hidden = true;
      this.#send([...event.dataTransfer.files]);
    });
    byId("file").addEventListener("change", ({ target }) => {
      this.#send([...target.files]);
      target.value = "";
    });
  }

  async #send(files) {
    if (files.length === 0) return;
    const wrong = [];
    const sent = [];
    for (const file of files) {
      notice(byId("said"), `${file.name} is being sent …`, "busy");
      try {
        if (file.size > MAX_BYTES) throw new Error(`it has ${sizeOf(file.size)}, and ${sizeOf(MAX_BYTES)} are the most`);
        sent.push(await api.send(file));
      } catch (problem) {
        wrong.push(`${file.name}: ${problem.message}`);
      }
    }
    notice(byId("said"), wrong.length > 0 ? `Not taken: ${wrong.join("; ")}` : `${counted(sent.length, "mail is", "mails are")} being processed.`, wrong.length > 0 ? "bad" : "good");
    if (wrong.length === 0 && sent.length === 1) location.hash = String(new URLSearchParams({ email: sent[0].email_id }));
    this.changed();
  }
}

const hasFiles = ({ dataTransfer }) => [...(dataTransfer?.types ?? [])].includes("Files");
