// The converter's API. Whatever goes wrong comes as a Problem whose message is for people.

const API = new URL("../api/", document.baseURI);
const TOKEN_REFUSED = "csrf_refused";

// Somebody who is signed in to the console has to send their session's token along. It is asked for
// before the first change: a file that is refused for want of it would have been sent for nothing.
let token;

export class Problem extends Error {
  constructor({ status = 0, code = "UNKNOWN", detail }) {
    super(detail || `The server answered with status ${status}.`);
    this.status = status;
    this.code = code;
  }

  get mayPass() {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

export function streamAddress() {
  return new URL("stream?pipeline=convert", API);
}

export function downloadAddress(id) {
  return new URL(`jobs/${encodeURIComponent(id)}/download`, API);
}

export async function conversions() {
  return parsed(await request("conversions"));
}

export function retry(id) {
  const path = `jobs/${encodeURIComponent(id)}/retry`;
  return withToken((headers) => request(path, { method: "POST", headers }));
}

export function remove(id) {
  const path = `jobs/${encodeURIComponent(id)}`;
  return withToken((headers) => request(path, { method: "DELETE", headers }));
}

// Resolves to the conversion, and whether it is new.
export function upload(file, { mapping, signal, onProgress }) {
  return withToken((headers) => send(file, { mapping, headers, signal, onProgress }));
}

async function request(path, options = {}) {
  let response;
  try {
    response = await fetch(new URL(path, API), { cache: "no-store", ...options });
  } catch {
    throw new Problem({ detail: "The server cannot be reached." });
  }
  const text = await response.text();
  if (!response.ok) throw problemOf(response.status, text);
  return { status: response.status, text };
}

// Not fetch, which does not tell how much of a body has been sent.
async function send(file, { mapping, headers, signal, onProgress }) {
  signal.throwIfAborted();
  const body = new FormData();
  body.append("mapping", mapping);
  body.append("file", file, file.name);
  const call = new XMLHttpRequest();
  call.open("POST", new URL("upload", API));
  for (const [name, value] of Object.entries(headers)) call.setRequestHeader(name, value);
  call.upload.addEventListener("progress", (event) => {
    if (event.lengthComputable) onProgress(event.loaded / event.total);
  });
  call.upload.addEventListener("load", () => onProgress(1));
  signal.addEventListener("abort", () => call.abort(), { once: true });
  return new Promise((resolve, reject) => {
    call.addEventListener("load", () => {
      const { status, responseText: text } = call;
      try {
        if (status !== 200 && status !== 201) throw problemOf(status, text);
        resolve({ conversion: parsed({ status, text }), created: status === 201 });
      } catch (problem) {
        reject(problem);
      }
    });
    call.addEventListener("error", () =>
      reject(new Problem({ detail: "The file could not be sent: the connection broke off." })),
    );
    call.addEventListener("abort", () => reject(new DOMException("cancelled", "AbortError")));
    call.send(body);
  });
}

async function withToken(call) {
  token ??= askToken();
  try {
    return await call(headersOf(await token));
  } catch (problem) {
    if (problem.code !== TOKEN_REFUSED) throw problem;
    // Signed in, or in again, since it was asked for.
    token = askToken();
    return call(headersOf(await token));
  }
}

async function askToken() {
  try {
    return parsed(await request("session")).csrf_token;
  } catch (problem) {
    token = undefined;
    throw problem;
  }
}

function headersOf(csrfToken) {
  return csrfToken === null ? {} : { "X-CSRF-Token": csrfToken };
}

function parsed({ status, text }) {
  try {
    return JSON.parse(text);
  } catch {
    // As from a proxy that answers with a page of its own.
    throw new Problem({ status });
  }
}

function problemOf(status, text) {
  try {
    const { code, detail } = JSON.parse(text);
    return new Problem({ status, code, detail });
  } catch {
    return new Problem({ status });
  }
}
