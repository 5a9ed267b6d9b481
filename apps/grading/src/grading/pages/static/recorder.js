// Records the microphone: asks for it, shows the level and the time, stops at the limit.

import { byId } from "./dom.js";
import { clockOf } from "./words.js";

// Chrome and Firefox write WebM, Safari MP4.
const KINDS = ["audio/webm;codecs=opus", "audio/mp4", "audio/ogg;codecs=opus", "audio/webm"];
const SUFFIXES = { "audio/webm": "webm", "audio/mp4": "m4a", "audio/ogg": "ogg" };
const SLICE_MS = 1000;
const SHORTEST_S = 1;
const WARN_S = 15;
const SILENT_S = 4;
const AUDIBLE = 0.15;
const HINT = "Recording. Press stop when you are done.";
const SILENT = "Nothing is heard so far. Check which microphone your browser uses.";

export class Recorder {
  #media = null;
  #stream = null;
  #context = null;
  #analyser = null;
  #chunks = [];
  #beganMs = 0;
  #frame = 0;
  #loudest = 0;

  // `taken` gets a recording and its name once there is one.
  constructor({ taken }) {
    this.taken = taken;
    this.limitS = 600;
    byId("record").addEventListener("click", () => this.#press());
    document.addEventListener("visibilitychange", () => this.#draw());
  }

  set limit(seconds) {
    this.limitS = seconds;
    byId("clock-limit").textContent = `of ${clockOf(seconds)} at most`;
  }

  get isRecording() {
    return this.#media !== null;
  }

  stop() {
    this.#media?.stop();
  }

  async #press() {
    if (this.isRecording) {
      this.stop();
      return;
    }
    if (!navigator.mediaDevices?.getUserMedia || typeof MediaRecorder === "undefined") {
      this.#say("This browser records only on pages served by HTTPS. Choose a recording instead.", "bad");
      return;
    }
    this.#show("asking");
    this.#say("Allow the microphone in the question of your browser.");
    try {
      this.#stream = await navigator.mediaDevices.getUserMedia({ audio: true });
      await this.#begin();
    } catch (error) {
      this.#release();
      this.#show("idle");
      this.#say(lineOf(error), "bad");
    }
  }

  async #begin() {
    const kind = KINDS.find((each) => MediaRecorder.isTypeSupported(each));
    const media = new MediaRecorder(this.#stream, kind ? { mimeType: kind } : {});
    this.#chunks = [];
    media.addEventListener("dataavailable", ({ data }) => {
      if (data.size > 0) this.#chunks.push(data);
    });
    media.addEventListener("stop", () => this.#end(media));
    media.addEventListener("error", () => media.stop());
    // A microphone that is pulled out ends its track, and nothing else says so.
    for (const track of this.#stream.getTracks()) {
      track.addEventListener("ended", () => this.stop());
    }
    this.#context = new AudioContext();
    this.#analyser = this.#context.createAnalyser();
    this.#analyser.fftSize = 1024;
    this.#context.createMediaStreamSource(this.#stream).connect(this.#analyser);
    media.start(SLICE_MS);
    this.#media = media;
    this.#beganMs = performance.now();
    this.#loudest = 0;
    this.#show("recording");
    this.#say(HINT);
    this.#draw();
  }

  #end(media) {
    const seconds = this.seconds;
    this.#media = null;
    this.#release();
    this.#show("idle");
    const kind = (media.mimeType || "audio/webm").split(";")[0];
    const blob = new Blob(this.#chunks, { type: kind });
    this.#chunks = [];
    if (blob.size === 0 || seconds < SHORTEST_S) {
      this.#say("That was too short to be graded. Record at least a second.", "bad");
      return;
    }
    this.#say(
      seconds >= this.limitS ? "That is as long as a recording may be." : "Listen to it, then hand it in.",
    );
    this.taken(blob, `recording.${SUFFIXES[kind] ?? "webm"}`);
  }

  get seconds() {
    return (performance.now() - this.#beganMs) / 1000;
  }

  #release() {
    cancelAnimationFrame(this.#frame);
    for (const track of this.#stream?.getTracks() ?? []) track.stop();
    this.#context?.close();
    this.#stream = this.#context = this.#analyser = null;
  }

  // A page in the background draws nothing, so the limit is kept by a timer as well.
  #draw() {
    cancelAnimationFrame(this.#frame);
    if (!this.isRecording) return;
    const seconds = this.seconds;
    byId("clock").textContent = clockOf(seconds);
    const leftS = this.limitS - seconds;
    byId("clock").classList.toggle("ending", leftS < WARN_S);
    if (leftS <= 0) {
      this.stop();
      return;
    }
    this.#loudest = Math.max(this.#loudest, drawLevel(byId("level"), this.#analyser));
    byId("level").dataset.loudest = this.#loudest.toFixed(2);
    const isSilent = this.#loudest < AUDIBLE && seconds > SILENT_S;
    if (byId("recorder-line").textContent !== (isSilent ? SILENT : HINT)) {
      this.#say(isSilent ? SILENT : HINT, isSilent ? "bad" : "");
    }
    if (document.hidden) setTimeout(() => this.#draw(), SLICE_MS);
    else this.#frame = requestAnimationFrame(() => this.#draw());
  }

  #show(state) {
    byId("recorder").dataset.state = state;
    byId("record-word").textContent = state === "recording" ? "Stop" : "Record";
    byId("record").disabled = state === "asking";
    byId("record").setAttribute("aria-pressed", String(state === "recording"));
    if (state === "recording") byId("take").hidden = true;
    byId("clock").classList.remove("ending");
  }

  #say(line, tone = "") {
    byId("recorder-line").textContent = line;
    byId("recorder-line").className = `small ${tone}`;
  }
}

function lineOf(error) {
  switch (error.name) {
    case "NotAllowedError":
      return "The microphone is not allowed here. Allow it in your browser, or choose a recording.";
    case "NotFoundError":
      return "There is no microphone. Plug one in, or choose a recording.";
    case "NotReadableError":
      return "Another program uses the microphone. Close it, then try again.";
    default:
      return "The microphone cannot be used. Choose a recording instead.";
  }
}

const BARS = 48;

// Returns the level, from 0 to 1.
function drawLevel(canvas, analyser) {
  const samples = new Float32Array(analyser.fftSize);
  analyser.getFloatTimeDomainData(samples);
  const loudest = samples.reduce((most, each) => Math.max(most, Math.abs(each)), 0);
  // By loudness as ears have it: half of the bar is a tenth of the amplitude.
  const level = Math.max(0, Math.min(1, 1 + Math.log10(Math.max(loudest, 0.001)) / 2));
  const { width, height } = canvas;
  const paint = canvas.getContext("2d");
  const [accent, bad, line] = ["--accent", "--bad", "--line"].map((name) => colour(canvas, name));
  paint.clearRect(0, 0, width, height);
  const step = width / BARS;
  for (let index = 0; index < BARS; index += 1) {
    const isLit = index / BARS < level;
    paint.fillStyle = !isLit ? line : index > BARS * 0.92 ? bad : accent;
    paint.fillRect(index * step, height * 0.25, step * 0.6, height * 0.5);
  }
  return level;
}

// A canvas takes no variable that names a colour for light and for dark: the browser resolves it.
function colour(canvas, name) {
  canvas.style.color = `var(${name})`;
  return getComputedStyle(canvas).color;
}
