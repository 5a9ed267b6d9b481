// How states, fields and times are called for people.

const STATUSES = {
  pending: ["waiting", "wait"],
  processing: ["under way", "busy"],
  processed: ["written", "good"],
  needs_review: ["needs review", "warn"],
  skipped: ["skipped", "over"],
  failed: ["failed", "bad"],
};
const STAGES = {
  gmail_fetch: "fetching it from Gmail",
  read: "reading it",
  clean: "cutting signatures and quotes",
  gemini_extract: "finding out what it is about",
  match: "matching companies and people",
  notion_write: "writing the row",
};
const OPERATIONS = {
  gmail_fetch: "Fetching mails from Gmail",
  gemini_extract: "Extraction by Gemini",
  notion_write: "Writing to Notion",
  infisical_fetch: "Secrets from Infisical",
};
const SERVICES = { gmail: "Gmail", gemini: "Gemini", notion: "Notion", infisical: "Infisical" };
const STATES = { OPERATIONAL: ["operational", "good"], DEGRADED: ["degraded", "warn"], UNAVAILABLE: ["unavailable", "bad"] };
const CIRCUITS = { CLOSED: "good", HALF_OPEN: "warn", OPEN: "bad" };
const SOURCES = { infisical: "Infisical", cache: "Infisical’s last good answer", env_file: "the file ENV_FILE", environment: "the environment", default: "default", unset: "found nowhere" };
export const FIELDS = {
  person_in_charge: "Person in charge",
  startup_name: "Start-up",
  partner_org: "Partner",
  details: "Details",
  date: "Date",
  collaboration_intensity: "Intensity",
  summary: "Summary",
};
export const CONFIDENCE_OF = { person_in_charge: "person", startup_name: "startup", partner_org: "partner", details: "details", date: "date" };
const COLUMNS = { title: "Title", person: "Person in charge", startup: "Start-up", partner: "Partner", details: "Details", summary: "Summary", date: "Date", type: "Type of collaboration", intensity: "Intensity", needs_review: "Needs review", email_id: "E-mail id", message_url: "Link to the mail" };
export const INTENSITIES = { 이해: "이해 (getting to know)", 협력: "협력 (cooperation)", 투자: "투자 (investment)", 인수: "인수 (acquisition)" };
const EVENTS = {
  queued: "It was taken.",
  processing: "A stage began.",
  advanced: "A stage is done.",
  completed: "All stages are done.",
  complete: "All stages are done.",
  retry: "An attempt failed and is repeated.",
  failed: "It failed for good.",
  revived: "It was replayed.",
  cancelled: "It was cancelled.",
  held: "A service is away; it waits.",
  resumed: "The service is back; it goes on.",
  interrupted: "A worker was lost; another goes on.",
};
const LANGUAGES = { ko: "Korean", en: "English", mixed: "Korean and English" };
const SURE = 0.85;
const FAIRLY = 0.6;
const LONG_AGO_S = 30 * 86_400;
const LITTLE = /^the confidence of (\w+) is ([\d.]+)$/;
const PARTS = { person: "the person", startup: "the start-up", partner: "the partner", details: "the details", date: "the date" };

const pair = (table, name) => {
  const [word, tone] = table[name] ?? [name, "over"];
  return { word, tone };
};
export const statusOf = (status) => pair(STATUSES, status);
export const stateOf = (state) => pair(STATES, state);
export const stageOf = (stage) => STAGES[stage] ?? stage ?? "";
export const operationOf = (name) => OPERATIONS[name] ?? name;
export const serviceOf = (name) => SERVICES[name] ?? name;
export const circuitTone = (state) => CIRCUITS[state] ?? "over";
export const sourceOf = (source) => SOURCES[source] ?? source;
export const eventOf = (event) => EVENTS[event] ?? plain(event);
export const languageOf = (code) => LANGUAGES[code] ?? code ?? "";
export const usdOf = (usd) => `$${usd.toFixed(usd > 0 && usd < 0.01 ? 4 : 2)}`;
export const counted = (count, one, many) => `${count} ${count === 1 ? one : many}`;

export function columnOf(field) {
  if (COLUMNS[field]) return COLUMNS[field];
  return field.endsWith("_confidence") ? `Confidence: ${COLUMNS[field.replace("_confidence", "")] ?? field}` : plain(field);
}

// Confidence as words; the number stands beside them for those who want it.
export function sureOf(value, threshold = SURE) {
  if (value === null || value === undefined) return { word: "unknown", tone: "over" };
  if (value >= threshold) return { word: "sure", tone: "good" };
  return value >= FAIRLY ? { word: "fairly sure", tone: "warn" } : { word: "unsure", tone: "bad" };
}
export const percentOf = (value) => (value === null || value === undefined ? "–" : `${Math.round(value * 100)} %`);

// Why somebody should look at a mail: fields that are not sure stand in one sentence.
export function reviewOf(reasons) {
  const little = reasons.map((each) => LITTLE.exec(each)).filter(Boolean);
  const others = reasons.filter((each) => !LITTLE.test(each)).map(sentence);
  if (little.length === 0) return others;
  const named = little.map(([, part, value]) => `${PARTS[part] ?? part} (${percentOf(Number(value))})`);
  return [...others, `Not sure enough of ${named.join(", ")}.`];
}

export function plain(name) {
  const words = String(name).replaceAll("_", " ").toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
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
  if (seconds > LONG_AGO_S) return DAY.format(new Date(text));
  return seconds < 5 ? "just now" : `${lastingOf(seconds)} ago`;
}

const DAY = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium" });
const EXACT = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });
export const exactOf = (text) => EXACT.format(new Date(text));

export function sizeOf(bytes) {
  if (bytes < 1024 * 1024) return `${Math.max(1, Math.round(bytes / 1024))} KiB`;
  const mib = bytes / 1024 / 1024;
  return mib < 1024 ? `${mib.toFixed(1)} MiB` : `${(mib / 1024).toFixed(1)} GiB`;
}

export const sentence = (text) =>
  text ? `${text.charAt(0).toUpperCase()}${text.slice(1).replace(/\.$/, "")}.` : "";
