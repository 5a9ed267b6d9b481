// What the page asks of the criticizer.

import { API, Problem, parsed, request, withToken } from "./calls.js";

export { Problem };

export function streamAddress() {
  return new URL("stream/all?pipeline=review", API);
}

export async function latest(before) {
  const query = before === null ? "" : `?before=${encodeURIComponent(before)}`;
  return parsed(await request(`reviews${query}`));
}

export async function versionsOf(changelistId) {
  return parsed(await request(`reviews/${encodeURIComponent(changelistId)}`));
}

export async function diffOf(changelistId, version) {
  const query = new URLSearchParams({ changelist_id: changelistId, version });
  return (await request(`review-diffs?${query}`)).text;
}

export async function askFor(wanted) {
  const body = JSON.stringify(wanted);
  return withToken(async (headers) =>
    parsed(
      await request("reviews", {
        method: "POST",
        headers: { ...headers, "Content-Type": "application/json" },
        body,
      }),
    ),
  );
}
