// The form: a prompt, an answer, and handing it in.

import * as api from "./api.js";
import { byId, made } from "./dom.js";
import { draftOf, dropDraft, keepDraft, newKey } from "./drafts.js";
import { Recorder } from "./recorder.js";
import { clockOf, counted, partOf, sentence, sizeOf, wordsIn } from "./words.js";

const MAX_CHARACTERS = 20_000;
const KEEP_AFTER_MS = 400;

export class Compose {
  #questions = [];
  #key = newKey();
  #keeping = null;
  #take = null;
  #abort = null;
  #wanted = null;

  // `handedIn` gets the submission that was made.
  constructor({ handedIn }) {
    this.handedIn = handedIn;
    this.form = byId("compose");
    this.recorder = new Recorder({ taken: (blob, name) => this.#use(blob, name) });
    this.maxBytes = Infinity;
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#handIn();
    });
    for (const radio of this.form.elements.skill) {
      radio.addEventListener("change", () => this.#offer());
    }
    byId("question").addEventListener("change", () => this.#choose());
    byId("text").addEventListener("input", () => this.#onText());
    byId("again").addEventListener("click", () => this.#discard());
    byId("file").addEventListener("change", () => this.#onFile());
    window.addEventListener("pagehide", () => this.#keepNow());
  }

  get question() {
    return this.#questions.find((each) => each.id === byId("question").value) ?? null;
  }

  get skill() {
    return this.form.elements.skill.value;
  }

  show(questions, service) {
    this.maxBytes = service.audioMaxBytes;
    this.recorder.limit = service.audioMaxSeconds;
    if (this.#questions.map((each) => each.id).join() === questions.map((each) => each.id).join()) return;
    this.#questions = questions;
    this.#offer();
  }

  // Puts an earlier answer into the form, once it is shown, to be handed in again.
  refill(found) {
    this.#wanted = found;
  }

  // Called when the form is in view.
  whenShown() {
    if (this.#wanted === null) return;
    const { skill, questionId, answer } = this.#wanted;
    this.#wanted = null;
    this.form.elements.skill.value = skill;
    this.#offer(questionId);
    if (skill === "writing") {
      byId("text").value = answer.text;
      this.#onText();
      byId("text").focus();
    } else {
      byId("record").focus();
    }
  }

  #offer(chosen = null) {
    const select = byId("question");
    const groups = new Map();
    for (const each of this.#questions.filter(({ skill }) => skill === this.skill)) {
      const part = partOf(each);
      if (!groups.has(part)) groups.set(part, made("optgroup", { label: part }));
      groups.get(part).append(new Option(each.title, each.id));
    }
    select.replaceChildren(...groups.values());
    if (chosen !== null) select.value = chosen;
    if (select.selectedIndex < 0) select.selectedIndex = 0;
    byId("writing").hidden = this.skill !== "writing";
    byId("speaking").hidden = this.skill !== "speaking";
    this.#choose();
  }

  #choose() {
    const question = this.question;
    if (question === null) return;
    byId("prompt-title").textContent = `${partOf(question)} · ${question.title}`;
    byId("prompt-text").textContent = question.prompt;
    byId("prompt-needs").replaceChildren(
      ...question.requirements.map((each) => made("li", { text: each })),
    );
    const draft = draftOf(question.id);
    byId("text").value = draft.text;
    this.#key = draft.key;
    byId("draft").textContent = draft.text ? "Your draft, from this browser." : "";
    this.#say("");
    this.#showFlaw("", "");
    this.#count();
  }

  #count() {
    const text = byId("text").value;
    const least = this.question?.minimumWords ?? 0;
    const words = wordsIn(text);
    const bar = byId("count-bar");
    bar.max = least;
    bar.value = Math.min(words, least);
    const isEnough = words >= least;
    byId("count").classList.toggle("good", isEnough);
    const rest = isEnough ? "enough" : `${least - words} to go`;
    byId("count-line").textContent = `${words} of ${least} words · ${rest}`;
    const over = [...text].length - MAX_CHARACTERS;
    this.#showFlaw(
      "text",
      over > 0 ? `${counted(over, "character", "characters")} too many; ${MAX_CHARACTERS} are the limit.` : "",
    );
  }

  #onText() {
    this.#count();
    byId("draft").textContent = "";
    clearTimeout(this.#keeping);
    this.#keeping = setTimeout(() => this.#keepNow(), KEEP_AFTER_MS);
    this.#key = newKey();
  }

  #keepNow() {
    if (this.#keeping === null || this.question === null) return;
    clearTimeout(this.#keeping);
    this.#keeping = null;
    const { key, kept } = keepDraft(this.question.id, byId("text").value);
    this.#key = key;
    const isEmpty = byId("text").value === "";
    byId("draft").textContent = isEmpty ? "" : kept ? "Draft kept in this browser." : "Drafts cannot be kept here.";
  }

  #onFile() {
    const [file] = byId("file").files;
    if (file) this.#use(file, file.name);
  }

  #use(blob, name) {
    if (blob.size > this.maxBytes) {
      this.#showFlaw("audio", `It has ${sizeOf(blob.size)}; ${sizeOf(this.maxBytes)} are the limit.`);
      return;
    }
    this.#showFlaw("audio", "");
    this.#forget();
    this.#take = { blob, name, key: newKey(), kept: null };
    byId("playback").src = URL.createObjectURL(blob);
    byId("take").hidden = false;
  }

  #forget() {
    const player = byId("playback");
    if (player.src) URL.revokeObjectURL(player.src);
    player.removeAttribute("src");
    player.load();
    this.#take = null;
    byId("take").hidden = true;
  }

  #discard() {
    this.#abort?.abort();
    this.#forget();
    byId("file").value = "";
    byId("clock").textContent = clockOf(0);
    byId("record").focus();
  }

  async #handIn() {
    this.#keepNow();
    const question = this.question;
    if (question === null) return;
    const flaw = this.#flaw();
    if (flaw !== "") {
      this.#showFlaw(this.skill === "writing" ? "text" : "audio", flaw);
      byId(this.skill === "writing" ? "text" : "record").focus();
      return;
    }
    this.#busy(true);
    try {
      const key = this.skill === "writing" ? this.#key : this.#take.key;
      const answer = this.skill === "writing" ? { text: byId("text").value } : await this.#uploaded();
      const body = { skill: question.skill, questionId: question.id, answer };
      this.#done(await api.submit(body, key), question);
    } catch (problem) {
      if (problem.name !== "AbortError") this.#showProblem(problem);
    } finally {
      this.#busy(false);
    }
  }

  #flaw() {
    if (this.skill === "writing") {
      if (byId("text").value.trim() === "") return "Write your answer first.";
      return byId("wrong-text").textContent;
    }
    if (this.recorder.isRecording) return "Stop the recording first.";
    return this.#take === null ? "Record your answer first, or choose a recording." : "";
  }

  // A recording that is there already is not sent again when handing in failed.
  async #uploaded() {
    const take = this.#take;
    if (take.kept === null) {
      this.#abort = new AbortController();
      byId("sending").hidden = false;
      this.#showSent(0);
      try {
        take.kept = await api.upload(take.blob, {
          name: take.name,
          signal: this.#abort.signal,
          onProgress: (share) => this.#showSent(share),
        });
      } finally {
        byId("sending").hidden = true;
      }
    }
    return { audioUrl: take.kept.audioUrl, durationSeconds: take.kept.durationSeconds };
  }

  #showSent(share) {
    byId("sent").value = Math.floor(share * 100);
    byId("sent-line").textContent = share < 1 ? `${Math.floor(share * 100)} %` : "Checking…";
  }

  #done(submission, question) {
    if (question.skill === "writing") {
      dropDraft(question.id);
      byId("text").value = "";
      byId("draft").textContent = "";
      this.#key = newKey();
      this.#count();
    } else {
      this.#discard();
    }
    this.#say("Handed in. It is graded by itself from here on.");
    this.handedIn(submission);
  }

  #showProblem(problem) {
    const [flaw] = problem.errors ?? [];
    const ofAudio = flaw?.pointer === "/file" || flaw?.pointer?.startsWith("/answer/audio");
    if (flaw?.pointer === "/answer/text") this.#showFlaw("text", sentence(flaw.message));
    else if (ofAudio) this.#showFlaw("audio", sentence(flaw.message));
    else this.#say(sentence(problem.message), "bad");
  }

  #showFlaw(place, line) {
    for (const name of ["text", "audio"]) {
      if (place === name || place === "") byId(`wrong-${name}`).textContent = line;
    }
    if (place !== "audio") byId("text").toggleAttribute("aria-invalid", line !== "");
  }

  #busy(isBusy) {
    byId("hand-in").disabled = isBusy;
    if (isBusy) this.#say("");
    this.form.toggleAttribute("aria-busy", isBusy);
  }

  #say(line, tone = "") {
    byId("said").textContent = line;
    byId("said").className = `small ${tone}`;
  }
}
