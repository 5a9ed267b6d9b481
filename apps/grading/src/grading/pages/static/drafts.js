// Drafts are kept in this browser, each with the key under which it is handed in: sent twice because
// an answer was lost, it is still one submission.

const PREFIX = "grading.draft.";

export function newKey() {
  // randomUUID is missing where the page is not served securely.
  if (crypto.randomUUID) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((each) => each.toString(16).padStart(2, "0")).join("");
}

export function draftOf(questionId) {
  try {
    const found = JSON.parse(localStorage.getItem(PREFIX + questionId));
    if (typeof found?.text === "string" && typeof found.key === "string") return found;
  } catch {
    // Storage may be switched off, or hold something else.
  }
  return { text: "", key: newKey() };
}

// Returns whether it was kept.
export function keepDraft(questionId, text) {
  const key = newKey();
  try {
    if (text === "") localStorage.removeItem(PREFIX + questionId);
    else localStorage.setItem(PREFIX + questionId, JSON.stringify({ text, key }));
    return { key, kept: true };
  } catch {
    return { key, kept: false };
  }
}

export function dropDraft(questionId) {
  keepDraft(questionId, "");
}
