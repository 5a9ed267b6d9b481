// A result: the score, each criterion with its bar, the reasons, and what limited it.

import { badge, made, noticeOf } from "./dom.js";
import { audioFlagOf, bandOf, capOf, clockOf, counted, criterionOf, scoreOf } from "./words.js";

const MODES = {
  auto: "Graded by the grader",
  hybrid: "Graded by the grader and a teacher",
  human: "Graded by a teacher",
};
const SURE = 85;

export function resultOf(result) {
  return made("section", { className: "panel result", "aria-label": "Result" },
    made("div", { className: "score" }, scoreDial(result), criteriaOf(result)),
    // What limits the grader's score does not limit a teacher's.
    ...(result.gradingMode === "human" ? [] : result.caps).map((each) => noticeOf(capOf(each), "warn")),
    ...(result.audioFlags ?? []).map((each) => noticeOf(audioFlagOf(each), "warn")),
    result.reviewComment ? commentOf(result.reviewComment) : null,
    feedbackOf(result.feedback),
    made("p", { className: "muted small", text: basisOf(result) }),
  );
}

function commentOf(text) {
  return made("div", { className: "comment" },
    made("h3", { text: "Your teacher writes" }), made("p", { text }));
}

function scoreDial({ overallScore, band }) {
  return made("div", { className: "overall" },
    made("span", { className: "number-big", text: scoreOf(overallScore) }),
    made("span", { className: "muted small", text: "of 10" }),
    badge(bandOf(band), band === null ? "over" : "good"));
}

export function criteriaOf({ criteriaScores, basis = {} }) {
  // A teacher whose score counts alone may give no more than that.
  if (Object.keys(criteriaScores).length === 0) return null;
  return made("dl", { className: "criteria" },
    ...Object.entries(criteriaScores).map(([name, score]) =>
      made("div", {},
        made("dt", {}, criterionOf(name),
          basis[name] === "estimate" ? made("span", { className: "muted small", text: " (estimate)" }) : null),
        made("dd", {},
          made("progress", { className: toneOf(score), max: 10, value: score, "aria-hidden": "true" }),
          made("span", { text: scoreOf(score) })))));
}

// As the bands go: below B1, B1, and from B2 on.
function toneOf(score) {
  if (score < 4) return "warn";
  return score < 6 ? "busy" : "good";
}

function feedbackOf({ strengths, weaknesses, suggestions }) {
  const column = (title, tone, lines) =>
    lines.length === 0 ? null
      : made("div", { className: tone }, made("h3", { text: title }),
        made("ul", {}, ...lines.map((each) => made("li", { text: each }))));
  return made("div", { className: "feedback" },
    column("What went well", "good", strengths),
    column("What to work on", "warn", weaknesses),
    column("Try this next", "busy", suggestions));
}

function basisOf({ gradingMode, grader, confidenceScore, wordCount, speech }) {
  const sure = confidenceScore >= SURE ? "" : "; take it as a first impression";
  const how = grader === "rules" ? "by rules, without a model" : `by ${grader}`;
  return [
    gradingMode === "auto" ? `Graded ${how}` : `${MODES[gradingMode] ?? gradingMode}`,
    gradingMode === "auto" ? `confidence ${confidenceScore} of 100${sure}` : null,
    speech ? null : counted(wordCount, "word", "words"),
    speech ? `${clockOf(speech.seconds)} long, ${Math.round(speech.wordsPerMinute)} words a minute` : null,
    speech ? `${counted(speech.pauses, "pause", "pauses")}, the longest ${speech.longestPauseSeconds.toFixed(1)} s` : null,
  ].filter(Boolean).join(" · ");
}
