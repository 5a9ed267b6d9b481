// Calls of the API. Whatever goes wrong comes as a Problem whose message is for people.

export const API = new URL("../api/", document.baseURI);
const TOKEN_REFUSED = "csrf_refused";

// Somebody who is signed in to the console has to send their session's token along. It is asked for
// before the first change: what is refused for want of it would have been sent for nothing.
let token;

export class Problem extends Error {
  constructor({ status = 0, code = "UNKNOWN", detail, errors = [] }) {
    super(detail || `The server answered with status ${status}.`);
    this.status = status;
    this.code = code;
    // What is wrong with each place of a form: `pointer` and `message`.
    this.errors = errors;
  }

  get mayPass() {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

export async function request(path, options = {}) {
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

export async function withToken(call) {
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

export async function session() {
  return parsed(await request("session"));
}

async function askToken() {
  try {
    return (await session()).csrf_token;
  } catch (problem) {
    token = undefined;
    throw problem;
  }
}

function headersOf(csrfToken) {
  return csrfToken === null ? {} : { "X-CSRF-Token": csrfToken };
}

export function parsed({ status, text }) {
  try {
    return JSON.parse(text);
  } catch {
    // As from a proxy that answers with a page of its own.
    throw new Problem({ status });
  }
}

export function problemOf(status, text) {
  try {
    const { code, detail, errors } = JSON.parse(text);
    return new Problem({ status, code, detail, errors });
  } catch {
    return new Problem({ status });
  }
}
