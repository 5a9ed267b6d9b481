// What the address names is shown: all reviews, or one.

import { Problem, streamAddress } from "./api.js";
import { Follower } from "./follow.js";
import { Overview } from "./overview.js";
import { ReviewView } from "./review.js";

const byId = (id) => document.getElementById(id);
const UNAUTHORIZED = 401;

const overview = new Overview({ changed: () => follower.soon() });
const review = new ReviewView();
const follower = new Follower({ address: streamAddress(), look, indicator: byId("live") });

function wanted() {
  const given = new URLSearchParams(location.hash.slice(1));
  return { change: given.get("change"), version: Number(given.get("version")) };
}

async function look() {
  const { change, version } = wanted();
  try {
    const isUnsettled = change === null ? await overview.show() : await review.show(change, version);
    byId("overview").hidden = change !== null;
    byId("review").hidden = change === null;
    byId("sign-in").hidden = true;
    byId("trouble").replaceChildren();
    return isUnsettled;
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    byId("sign-in").hidden = problem.status !== UNAUTHORIZED;
    if (problem.status !== UNAUTHORIZED) say(problem.message);
    return true;
  }
}

function say(text) {
  const notice = document.createElement("p");
  notice.className = "notice bad";
  notice.textContent = text;
  byId("trouble").replaceChildren(notice);
}

window.addEventListener("hashchange", async () => {
  review.forget();
  await follower.again();
  const heading = byId(wanted().change === null ? "overview" : "review").querySelector("h1");
  heading.focus();
  window.scrollTo(0, 0);
});
follower.start();
