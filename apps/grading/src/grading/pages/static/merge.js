// How a teacher's grade and the grader's become one; the server decides by the same rule.

const BANDS = [null, "B1", "B2", "C1"];
const NEAR = 0.5;
const OF_GRADER = 0.4;

export function bandFor(score) {
  if (score < 4) return null;
  if (score < 6) return "B1";
  return score < 8.5 ? "B2" : "C1";
}

export function halfStep(score) {
  return Math.floor(score * 2 + 0.5) / 2;
}

export function merged(grader, teacher) {
  const bands = Math.abs(BANDS.indexOf(grader.band) - BANDS.indexOf(teacher.band));
  const isNear = Math.abs(grader.score - teacher.score) <= NEAR && bands <= 1;
  if (!isNear) return { ...teacher, mode: "human", audit: true };
  const score = halfStep(OF_GRADER * grader.score + (1 - OF_GRADER) * teacher.score);
  return { score, band: bandFor(score), mode: "hybrid", audit: false };
}
