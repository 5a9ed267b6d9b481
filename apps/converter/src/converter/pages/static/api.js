// What the page asks of the converter.

import { API, Problem, parsed, problemOf, request, withToken } from "./calls.js";

export { Problem };

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
