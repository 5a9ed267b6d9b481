// An answer as it was handed in: the text with its marks, or the player beside the transcript.

import { annotated } from "./annotated.js";
import { audioAddress } from "./api.js";
import { made } from "./dom.js";
import { clockOf } from "./words.js";

// Only recordings that are kept here can be played: others' hosts are not asked by this page.
const isOurs = (url) => new URL(url, location.href).pathname.includes("/api/audio/");

export function answerOf({ skill, answer, listenUrl = null }, result) {
  if (skill === "writing") return annotated(answer.text, result?.annotations ?? []);
  const url = listenUrl ?? answer.audioUrl;
  const player = isOurs(url)
    ? made("audio", { controls: true, preload: "metadata", src: audioAddress(url) })
    : made("p", { className: "muted small", text: "The recording is kept elsewhere." });
  return [
    made("div", { className: "spoken" }, player,
      made("p", { className: "muted small", text: `${clockOf(answer.durationSeconds)} long` }),
      made("div", { className: "transcript" },
        made("h3", { text: "Transcript" }),
        result?.transcript
          ? made("div", {}, ...annotated(result.transcript, result.annotations ?? []))
          : made("p", { className: "muted", text: result ? "No words were understood." : "It comes with the result." }))),
  ];
}
