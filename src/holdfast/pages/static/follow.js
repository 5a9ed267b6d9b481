// Looks again whenever something happens; now and then by itself where no event would tell.

const EVENTS = [
  "queued", "processing", "advanced", "complete", "retry", "failed", "expired", "cancelled",
  "waiting", "snoozed", "interrupted", "held", "late", "revived",
  "result_removed", "breaker", "queue", "gap",
];
const SHORTEST_MS = 500;
const POLL_MS = 5_000;
const BACKSTOP_MS = 15_000;

export class Follower {
  #source = null;
  #timer = null;
  #busy = false;
  #missed = false;
  #lastMs = -Infinity;
  #waiting = [];

  // `look` fetches and shows; it resolves to whether anything is still going to change.
  constructor({ address, look, indicator }) {
    this.address = address;
    this.look = look;
    this.indicator = indicator;
    this.unsettled = false;
  }

  async start() {
    await this.#look();
    this.#open();
    setInterval(() => this.#poll(), POLL_MS);
    document.addEventListener("visibilitychange", () => this.soon());
  }

  // Nobody sees a page in the background; it looks once it is in front again.
  soon() {
    if (!document.hidden) this.#schedule();
  }

  // Resolves once what is shown is no older than this call.
  again() {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#schedule();
    });
  }

  // Many reasons to look within a moment are one.
  #schedule() {
    if (this.#busy) {
      this.#missed = true;
      return;
    }
    if (this.#timer !== null) return;
    const restMs = this.#lastMs + SHORTEST_MS - performance.now();
    this.#timer = setTimeout(() => this.#look(), Math.max(0, restMs));
  }

  async #look() {
    this.#timer = null;
    this.#busy = true;
    this.#lastMs = performance.now();
    const waiting = this.#waiting.splice(0);
    try {
      this.unsettled = await this.look();
    } finally {
      this.#busy = false;
      for (const resolve of waiting) resolve();
      if (this.#missed) {
        this.#missed = false;
        this.#schedule();
      }
    }
  }

  #open() {
    const source = new EventSource(this.address);
    source.addEventListener("open", () => {
      this.#say("live");
      // What happened before the stream was open is not told by it.
      this.soon();
    });
    source.addEventListener("error", () => this.#say("lost"));
    for (const name of EVENTS) source.addEventListener(name, () => this.soon());
    this.#source = source;
  }

  #poll() {
    if (document.hidden) return;
    const isLive = this.#source.readyState === EventSource.OPEN;
    // After a refusal browsers do not come again by themselves.
    if (this.#source.readyState === EventSource.CLOSED) this.#open();
    const isOld = performance.now() - this.#lastMs > BACKSTOP_MS;
    // That the breaker has closed is no event of anybody's job.
    if (!isLive || (this.unsettled && isOld)) this.soon();
  }

  #say(state) {
    this.indicator.hidden = false;
    this.indicator.dataset.state = state;
    this.indicator.textContent = state === "live" ? "live" : "reconnecting";
  }
}
