// States in plain words, and times as people say them.

const STATUS = {
  in_progress: ["under way", "busy"],
  retryable_failed: ["tried again soon", "warn"],
  succeeded: ["done", "good"],
  dead_lettered: ["failed", "bad"],
  cancelled: ["cancelled", "over"],
};
const STAGE = { fetch: "fetching the change", llm: "reading it", notify: "telling everyone" };
const TOLD = {
  pending: ["waiting", "wait"],
  sending: ["being sent", "busy"],
  sent: ["told", "good"],
  failed: ["could not be told", "bad"],
  unknown: ["nobody knows", "warn"],
};
const SEVERITY = { error: "bad", warning: "warn", info: "busy" };
const WHEN = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

export function statusOf(review) {
  const [word, tone] = STATUS[review.status] ?? [review.status, "over"];
  const isBusy = review.status === "in_progress";
  return { word: isBusy ? (STAGE[review.stage] ?? word) : word, tone };
}

export function toldOf(delivery) {
  const [word, tone] = TOLD[delivery.status] ?? [delivery.status, "over"];
  return { word, tone };
}

export function toneOf(severity) {
  return SEVERITY[severity] ?? "over";
}

// What the API says in half a sentence.
export function sentence(text) {
  const whole = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(whole) ? whole : `${whole}.`;
}

export function when(text) {
  return text === null ? "" : WHEN.format(new Date(text));
}

export function counted(number, one, many) {
  return `${number} ${number === 1 ? one : many}`;
}

const SHORT = 10;

// The commits of a change, as short as people write them.
export function shortOf({ commits }) {
  return commits.map((each) => each.slice(0, SHORT)).join("..");
}

// What a change is called beside its title: as it was asked for, with the commits that it is.
export function calledOf(review) {
  const short = shortOf(review);
  if (review.named) return [`${review.named} (${short})`];
  return review.commits.length ? [short] : idUnlessTitle(review);
}

// A change that has no title is called by its id, which is then not said twice.
export function idUnlessTitle({ title, changelist_id: id }) {
  return title && title !== id ? [id] : [];
}

export function sayTime(element, text) {
  element.textContent = when(text);
  element.dateTime = text ?? "";
}

// What is shown as text stays text: nothing here is ever read as HTML.
export function made(tag, { text, className, ...rest } = {}, ...children) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  for (const [name, value] of Object.entries(rest)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}
