// What the page asks of the API.

import { API, Problem, parsed, request, withToken } from "./calls.js";

export { Problem };

const at = (id) => encodeURIComponent(id);

async function read(path) {
  return parsed(await request(path));
}

function change(path, { method = "POST", body = null, type = "application/json" } = {}) {
  return withToken(async (headers) => {
    const sent = { method, headers: { ...headers } };
    if (body !== null) {
      sent.body = type === "application/json" ? JSON.stringify(body) : body;
      sent.headers["Content-Type"] = type;
    }
    return parsed(await request(path, sent));
  });
}

function query(given) {
  const kept = Object.entries(given).filter(([, value]) => value);
  return kept.length === 0 ? "" : `?${new URLSearchParams(kept)}`;
}

export const streamAddress = () => new URL("stream", API);
export const eventsAddress = (id) => new URL(`emails/${at(id)}/events`, API);

export const emails = (given) => read(`emails${query(given)}`);
export const email = (id) => read(`emails/${at(id)}`);
export const fetchNow = () => change("emails/fetch");
export const process = (id) => change(`emails/${at(id)}/process`);
export const correct = (id, body) => change(`emails/${at(id)}/extraction`, { method: "PUT", body });
export const send = (blob) => change("emails", { body: blob, type: "message/rfc822" });

export const letters = async () => (await read("dlq")).entries;
export const replaceLetter = (id, payload) =>
  change(`dlq/${at(id)}`, { method: "PUT", body: { original_payload: payload } });
export const replayLetter = (id) => change(`dlq/${at(id)}/replay`);
export const completeLetter = (id, reason) => change(`dlq/${at(id)}/complete`, { body: { reason } });
export const replayMany = (operation, count) =>
  change("dlq/replay", { body: { operation_type: operation, max_count: count } });

export const status = () => read("collabiq/status");
export const rules = () => read("collabiq/rules");
export const config = async () => (await read("collabiq/config")).settings;
export const circuits = async () => (await read("circuits")).circuits;
export const errors = async () => (await read("errors?limit=20")).errors;
