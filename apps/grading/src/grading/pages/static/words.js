// What things are called on the page, and how numbers and times are written.

export const UNDER_WAY = new Set(["PENDING", "PROCESSING"]);
const STATUSES = {
  PENDING: ["Waiting", "wait"],
  PROCESSING: ["Being graded", "busy"],
  COMPLETED: ["Graded", "good"],
  REVIEW_REQUIRED: ["With a teacher", "warn"],
  FAILED: ["Not graded", "bad"],
};
const STEPS = {
  queued: "In the queue",
  transcribing: "Listening to the recording",
  analyzing: "Reading the answer",
  scoring: "Working out the score",
  retrying: "Trying again after a failure",
  circuit_open: "Paused: the grading service is away",
};
// Why it failed, and what to do about it.
const FAILURES = {
  TIMEOUT: ["It was not graded in time.", "Hand it in again; your answer is kept here."],
  INVALID_SCHEMA: [
    "The grader could not read the request.",
    "This is ours to mend; an operator can try it again.",
  ],
  AUDIO_DECODE_ERROR: [
    "The recording could not be played.",
    "Listen to it first, then record it again or choose another file.",
  ],
  AUDIO_UNAVAILABLE: ["The recording could not be fetched.", "Send the recording again."],
  PROVIDER_ERROR: [
    "The grading service did not accept the request.",
    "This is ours to mend; an operator can try it again.",
  ],
  PROVIDER_AUTH: [
    "The grading service did not let us in.",
    "This is ours to mend; an operator can try it again.",
  ],
  CONTENT_POLICY: [
    "The grading service declined to grade this content.",
    "Change what may have caused it, then hand it in again.",
  ],
  MAX_RETRIES: [
    "Grading failed several times in a row.",
    "Hand it in again in a while, or wait for an operator.",
  ],
  WORKER_LOST: [
    "Grading broke off several times.",
    "Hand it in again in a while, or wait for an operator.",
  ],
  CANCELLED: ["It was withdrawn.", "Hand it in again if you want it graded."],
  INTERNAL: ["Something went wrong on our side.", "An operator can try it again."],
};
const CRITERIA = {
  taskFulfillment: "Task fulfilment",
  organization: "Organisation",
  vocabulary: "Vocabulary",
  grammar: "Grammar",
  pronunciation: "Pronunciation",
  fluency: "Fluency",
  discourse: "Discourse",
};
const CAPS = {
  too_short: "The answer is far below the minimum, so the score is at most 4.0.",
  off_topic: "The answer is not about the prompt, so the score is at most 3.5.",
  copied_prompt: "Most of the answer repeats the prompt, so the score is at most 3.5.",
  repeated: "Half of the sentences or more repeat each other, so the score is at most 4.0.",
  not_english: "The answer is not in English, so the score is at most 3.0.",
  no_speech: "Nobody speaks in the recording, so there is nothing to score.",
};
const FLAWS_OF_AUDIO = {
  truncated: "The recording breaks off.",
  damaged: "Parts of the recording are damaged.",
  silent: "The recording is silent.",
  quiet: "The recording is very quiet.",
  clipped: "The recording is too loud in places.",
};
const TRENDS = {
  improving: "improving",
  declining: "declining",
  stable: "steady",
  insufficient_data: "too few to tell",
};

export const statusOf = (status) => {
  const [word, tone] = STATUSES[status] ?? [status, "over"];
  return { word, tone };
};
export const stepOf = (step) => STEPS[step] ?? step ?? "";
export const failureOf = (reason) => FAILURES[reason] ?? FAILURES.INTERNAL;
export const criterionOf = (name) => CRITERIA[name] ?? plain(name);
export const capOf = (name) => CAPS[name] ?? plain(name);
export const audioFlagOf = (name) => FLAWS_OF_AUDIO[name] ?? plain(name);
export const trendOf = (trend) => TRENDS[trend] ?? plain(trend ?? "");
export const bandOf = (band) => band ?? "below B1";
export const scoreOf = (score) => (score === null || score === undefined ? "–" : score.toFixed(1));
export const counted = (count, one, many) => `${count} ${count === 1 ? one : many}`;

export function partOf(question) {
  return question.skill === "writing"
    ? `Task ${question.taskNumber} ${question.taskNumber === 1 ? "(letter)" : "(essay)"}`
    : `Part ${question.partNumber}`;
}

function plain(name) {
  const words = name.replace(/([a-z])([A-Z])/g, "$1 $2").replaceAll("_", " ").toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

// Words as a person counts them: what stands between blanks and has a letter or a digit.
export function wordsIn(text) {
  return text.split(/\s+/u).filter((each) => /[\p{L}\p{N}]/u.test(each)).length;
}

export function clockOf(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}

export function lastingOf(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} days`;
}

export function agoOf(text, nowMs = Date.now()) {
  const seconds = (nowMs - new Date(text).getTime()) / 1000;
  return seconds < 5 ? "just now" : `${lastingOf(seconds)} ago`;
}

const EXACT = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });
export const exactOf = (text) => EXACT.format(new Date(text));

export function sizeOf(bytes) {
  return bytes < 1024 * 1024
    ? `${Math.max(1, Math.round(bytes / 1024))} KiB`
    : `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}

export const sentence = (text) =>
  text ? `${text.charAt(0).toUpperCase()}${text.slice(1).replace(/\.$/, "")}.` : "";
