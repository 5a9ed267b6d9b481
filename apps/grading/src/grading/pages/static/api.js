// What the page asks of the API.

import { API, Problem, parsed, problemOf, request, withToken } from "./calls.js";

export { Problem };

const at = (id) => encodeURIComponent(id);

async function read(path) {
  return parsed(await request(path));
}

function change(path, { method = "POST", body = null, headers: more = {} } = {}) {
  return withToken(async (headers) => {
    const sent = { method, headers: { ...headers, ...more } };
    if (body !== null) {
      sent.body = JSON.stringify(body);
      sent.headers["Content-Type"] = "application/json";
    }
    return parsed(await request(path, sent));
  });
}

export const streamAddress = () => new URL("stream?pipeline=submission", API);
export const eventsAddress = (id) => new URL(`sse/submissions/${at(id)}`, API);

export const service = () => read("grading/service");
export const questions = async () => (await read("questions")).items;
export const progress = () => read("progress");
export const submissions = (cursor) =>
  read(`submissions?limit=20${cursor ? `&cursor=${at(cursor)}` : ""}`);
export const submission = (id) => read(`submissions/${at(id)}`);
export const history = async (id) => (await read(`submissions/${at(id)}/events`)).items;
export const submit = (body, key) =>
  change("submissions", { body, headers: { "Idempotency-Key": key } });
export const cancel = (id) => change(`submissions/${at(id)}/cancel`);
export const retry = (id) => change(`submissions/${at(id)}/retry`);

export const pendingReviews = async () => (await read("admin/submissions/pending-review")).items;
export const claim = (id) => change(`admin/submissions/${at(id)}/claim`);
export const release = (id) => change(`admin/submissions/${at(id)}/release`);
export const review = (id, body) =>
  change(`admin/submissions/${at(id)}/review`, { method: "PUT", body });

export const operations = () => read("grading/operations");
export const deadLetters = async () => (await read("grading/dlq")).items;
export const retryLetter = (id) => change(`grading/dlq/${at(id)}/retry`);
export const discardLetter = (id) => change(`grading/dlq/${at(id)}/discard`);

// Recordings are addressed absolutely, as graders need it; here they are read where the page is.
export function audioAddress(url) {
  const { pathname, search } = new URL(url, API);
  return new URL(`audio/${pathname.split("/").pop()}${search}`, API).href;
}

// Resolves to the recording as it is kept. Not fetch, which does not say how much was sent.
export function upload(blob, { name, signal, onProgress }) {
  return withToken((headers) => send(blob, { name, headers, signal, onProgress }));
}

function send(blob, { name, headers, signal, onProgress }) {
  const body = new FormData();
  body.append("file", blob, name);
  const call = new XMLHttpRequest();
  call.open("POST", new URL("audio", API));
  for (const [header, value] of Object.entries(headers)) call.setRequestHeader(header, value);
  call.upload.addEventListener("progress", (event) => {
    if (event.lengthComputable) onProgress(event.loaded / event.total);
  });
  signal.addEventListener("abort", () => call.abort(), { once: true });
  return new Promise((resolve, reject) => {
    call.addEventListener("load", () => {
      const { status, responseText: text } = call;
      try {
        if (status !== 200 && status !== 201) throw problemOf(status, text);
        resolve(parsed({ status, text }));
      } catch (problem) {
        reject(problem);
      }
    });
    call.addEventListener("error", () =>
      reject(new Problem({ detail: "The recording could not be sent: the connection broke off." })),
    );
    call.addEventListener("abort", () => reject(new DOMException("cancelled", "AbortError")));
    call.send(body);
  });
}
