// The stream of one submission: how far it is, until it has ended.

import { eventsAddress } from "./api.js";

const ENDS = ["grading.completed", "grading.failed"];
const NAMES = ["grading.progress", "grading.review_required", ...ENDS];

export class Live {
  #source = null;
  #id = null;

  // `told` gets the name of an event and what it says.
  constructor({ told }) {
    this.told = told;
  }

  follow(id) {
    if (id === this.#id) return;
    this.#source?.close();
    this.#id = id;
    this.#source = id === null ? null : this.#open(id);
  }

  #open(id) {
    const source = new EventSource(eventsAddress(id));
    for (const name of NAMES) {
      source.addEventListener(name, ({ data }) => {
        if (ENDS.includes(name)) source.close();
        this.told(name, JSON.parse(data));
      });
    }
    return source;
  }
}
