// How things are said: sizes, times, states, mappings.

const STATES = {
  queued: { word: "Waiting", tone: "wait" },
  processing: { word: "Converting", tone: "busy" },
  complete: { word: "Ready", tone: "good" },
  failed: { word: "Failed", tone: "bad" },
  cancelled: { word: "Cancelled", tone: "over" },
  expired: { word: "Expired", tone: "over" },
  removed: { word: "Removed", tone: "over" },
};

export const UNDER_WAY = new Set(["queued", "processing"]);

const MAPPINGS = {
  text: "Pages and lines: what the document says, in reading order.",
  layout: "Every line and fragment with its position and font.",
  raw: "What was found, in the order it was found, nothing joined or left out.",
};

const KIB = 1024;
const MIB = 1024 * KIB;
const MINUTE_S = 60;
const HOUR_S = 60 * MINUTE_S;
const DAY_S = 24 * HOUR_S;
const EXACT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });

export function stateOf(state) {
  return STATES[state] ?? { word: state, tone: "over" };
}

export function mappingHint(name) {
  return Object.hasOwn(MAPPINGS, name) ? MAPPINGS[name] : "";
}

export function sizeOf(bytes) {
  if (bytes < KIB) return `${bytes} B`;
  if (bytes < MIB) return `${Math.max(1, Math.round(bytes / KIB))} KB`;
  const megabytes = bytes / MIB;
  return `${megabytes < 10 ? megabytes.toFixed(1) : Math.round(megabytes)} MB`;
}

function limitOf(bytes) {
  const megabytes = bytes / MIB;
  return megabytes >= 1 ? String(Math.round(megabytes)) : String(Number(megabytes.toPrecision(2)));
}

export function limitLine(maxBytes) {
  return `One or many, up to ${limitOf(maxBytes)} MB each. You can also paste them.`;
}

// The line the server has for TOO_LARGE, for a file that is not worth sending.
export function tooLargeLine(maxBytes) {
  return `File exceeds ${limitOf(maxBytes)} MB limit.`;
}

export function ago(instant, nowMs) {
  const seconds = Math.round((nowMs - instant.getTime()) / 1000);
  if (seconds < 5) return "just now";
  if (seconds < MINUTE_S) return `${seconds} s ago`;
  if (seconds < HOUR_S) return `${Math.floor(seconds / MINUTE_S)} min ago`;
  if (seconds < DAY_S) return `${Math.floor(seconds / HOUR_S)} h ago`;
  return DAY.format(instant);
}

export function exact(instant) {
  return EXACT.format(instant);
}

export function lasted(fromMs, toMs) {
  const seconds = (toMs - fromMs) / 1000;
  if (seconds < 10) return `${Math.max(seconds, 0.1).toFixed(1)} s`;
  if (seconds < MINUTE_S) return `${Math.round(seconds)} s`;
  if (seconds < HOUR_S) return `${Math.round(seconds / MINUTE_S)} min`;
  return `${Math.round(seconds / HOUR_S)} h`;
}

export function counted(count, one, many) {
  return `${count} ${count === 1 ? one : many}`;
}
