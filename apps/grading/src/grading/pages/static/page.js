// Shows what the address names: practice, one submission, the teacher's desk, or operations.

import * as api from "./api.js";
import { Problem } from "./api.js";
import { session } from "./calls.js";
import { Compose } from "./compose.js";
import { byId, notice } from "./dom.js";
import { Follower } from "./follow.js";
import { List, showFigures } from "./list.js";
import { Live } from "./live.js";
import { OperationsView } from "./operations.js";
import { ReviewView } from "./review.js";
import { SubmissionView } from "./submission.js";
import { UNDER_WAY } from "./words.js";

const UNAUTHORIZED = 401;
const FORBIDDEN = 403;
const PAUSED = "The grading service is away for the moment. What you hand in is kept and graded by itself once it is back.";
const WALK_IN = "walk-in-";
const VIEWS = ["practice", "submission", "review", "operations"];

let known = [];
let me = null;
let titleIsSet = "";

const questionOf = (id) => known.find((each) => each.id === id) ?? null;
const titleOf = (id) => questionOf(id)?.title ?? id;
const changed = () => follower.soon();

const compose = new Compose({ handedIn: changed });
const list = new List({ titleOf, changed });
const submission = new SubmissionView({ titleOf, refill, changed });
const review = new ReviewView({ questionOf, changed, me: deskName });
const operations = new OperationsView({ changed });
const newest = new Live({
  told: (name, data) => {
    if (name === "grading.progress") list.progress(data.submissionId, data);
    else changed();
  },
});
const follower = new Follower({ address: api.streamAddress(), look, indicator: byId("live") });

function wanted() {
  const given = new URLSearchParams(location.hash.slice(1));
  for (const view of VIEWS) if (given.has(view)) return { view, id: given.get(view) || null };
  return { view: "practice", id: null };
}

function refill(found) {
  compose.refill(found);
  location.hash = "";
}

async function practice() {
  const [questions, service] = await Promise.all([questionsOnce(), api.service()]);
  notice(byId("paused"), service.paused ? PAUSED : "", "warn");
  compose.show(questions, service);
  const [items] = await Promise.all([list.show(), showFigures()]);
  const underWay = items.filter(({ status }) => UNDER_WAY.has(status));
  newest.follow(underWay[0]?.submissionId ?? null);
  return service.paused || underWay.length > 0;
}

async function questionsOnce() {
  if (known.length === 0) known = await api.questions();
  return known;
}

async function banner() {
  const { paused } = await api.service();
  notice(byId("paused"), paused ? PAUSED : "", "warn");
}

async function shown({ view, id }) {
  if (view === "practice") return practice();
  await questionsOnce();
  newest.follow(null);
  await banner();
  if (view === "submission") return submission.show(id);
  if (view === "review") return review.show(id);
  return operations.show();
}

// Resolves to whether anything is still going to change by itself.
async function look() {
  const here = wanted();
  try {
    me ??= await session();
    showTabs(here.view);
    const isUnsettled = await shown(here);
    // Somebody may have gone elsewhere meanwhile.
    if (JSON.stringify(wanted()) !== JSON.stringify(here)) return true;
    for (const each of VIEWS) byId(each).hidden = each !== here.view;
    if (here.view === "practice") compose.whenShown();
    byId("sign-in").hidden = true;
    notice(byId("trouble"), "", "bad");
    showTitle(here.view);
    return isUnsettled;
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    const isStranger = problem.status === UNAUTHORIZED || (problem.status === FORBIDDEN && isDesk(here.view));
    byId("sign-in").hidden = !isStranger;
    if (isStranger) for (const each of VIEWS) byId(each).hidden = true;
    notice(byId("trouble"), isStranger ? "" : problem.message, "bad");
    return true;
  }
}

// On a machine that needs no credentials learners are known by a cookie, and the desk is its own.
function deskName() {
  return me?.owner?.startsWith(WALK_IN) ? "local" : (me?.name ?? null);
}

const isDesk = (view) => view === "review" || view === "operations";

// Tabs for those who see every owner's: by a token, or on a machine that needs no credentials.
function showTabs(view) {
  const seesAll = me.console && (me.owner === null || me.owner.startsWith(WALK_IN));
  byId("tabs").hidden = !seesAll;
  for (const tab of byId("tabs").children) {
    const isHere = tab.dataset.view === (view === "submission" ? "practice" : view);
    if (isHere) tab.setAttribute("aria-current", "page");
    else tab.removeAttribute("aria-current");
  }
  byId("sign-in-link").href = `../login?next=${encodeURIComponent(`/grading/${location.hash}`)}`;
}

function showTitle(view) {
  const heading = byId(view).querySelector("h1").textContent;
  const title = view === "practice" ? "Grading" : `${heading} · Grading`;
  if (title !== titleIsSet) document.title = titleIsSet = title;
}

window.addEventListener("hashchange", async () => {
  submission.forget();
  await follower.again();
  const here = byId(wanted().view);
  // Who hands in again is in the form already.
  if (here.contains(document.activeElement)) return;
  here.querySelector("h1").focus({ preventScroll: true });
  window.scrollTo(0, 0);
});
follower.start();
