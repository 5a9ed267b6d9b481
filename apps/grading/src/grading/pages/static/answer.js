// An answer as it was handed in: the text with its marks, or the player beside the transcript.

import { annotated } from "./annotated.js";
import { audioAddress } from "./api.js";
import { made } from "./dom.js";

// Only recordings that are kept here can be played: others' hosts are not asked by this page.
const isOurs = (url) => new URL(url, location.href).pathname.includes("/api/audio/");

export function answerOf({ skill, answer }, result) {
  if (skill === "writing") return annotated(answer.text, result?.annotations ?? []);
  const player = isOurs(answer.audioUrl)
    ? made("audio", { controls: true, preload: "metadata", src: audioAddress(answer.audioUrl) })
    : made("p", { className: "muted small", text: "The recording is kept elsewhere." });
  return [
    made("div", { className: "spoken" }, player,
      made("div", { className: "transcript" },
        made("h3", { text: "Transcript" }),
        result?.transcript
          ? made("div", {}, ...annotated(result.transcript, result.annotations ?? []))
          : made("p", { className: "muted", text: "It is here once the recording was listened to." }))),
  ];
}
