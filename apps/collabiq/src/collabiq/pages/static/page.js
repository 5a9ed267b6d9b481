// Shows what the address names: the inbox, one mail, what needs review, dead letters, health, rules.

import * as api from "./api.js";
import { Problem } from "./api.js";
import { session } from "./calls.js";
import { byId, made, notice, noticeOf } from "./dom.js";
import { Dropping } from "./drop.js";
import { EmailView } from "./email.js";
import { Follower } from "./follow.js";
import { showHealth, showRules } from "./health.js";
import { MailList, isUnderWay, showFigures } from "./inbox.js";
import { LettersView } from "./letters.js";
import { sentence as sentenceOf, serviceOf } from "./words.js";

const UNAUTHORIZED = 401;
const FORBIDDEN = 403;
const VIEWS = ["inbox", "review", "email", "letters", "health", "rules"];
const OFFLINE = "The offline extractor is used: rules instead of a model. Everything it writes is for review.";
const WALK_IN = "walk-in-";
const SEARCH_MS = 250;

let me = null;
let titleIsSet = "";
let searching = null;

const changed = () => follower.soon();
const inbox = new MailList({ rows: byId("rows"), empty: byId("empty"), more: byId("more"), older: byId("older"), changed });
const review = new MailList({ rows: byId("review-rows"), empty: byId("review-empty"), more: byId("review-more"), older: byId("review-older"), changed });
const email = new EmailView({ changed });
const letters = new LettersView({ changed });
const follower = new Follower({ address: api.streamAddress(), look, indicator: byId("live") });
new Dropping({ changed });

function wanted() {
  const given = new URLSearchParams(location.hash.slice(1));
  for (const view of VIEWS) if (given.has(view)) return { view, id: given.get(view) || null };
  return { view: "inbox", id: null };
}

// On a machine that needs no credentials people may be known by a cookie, and are its operators.
const isLocal = () => Boolean(me?.console && me.owner?.startsWith(WALK_IN));
const seesAll = () => me?.owner === null || isLocal();
const mayAct = () => me?.role === "operator" || isLocal();
const maySend = () => me?.role === "submitter" || mayAct();

async function showInbox(status) {
  const filter = { q: byId("q").value.trim(), status: byId("status").value };
  showFigures(status);
  byId("fetch").hidden = status.mailbox === null || !maySend();
  byId("file").disabled = !maySend();
  const items = await inbox.show(filter, { threshold: status.confidence_threshold });
  const isNarrowed = Boolean(filter.q || filter.status);
  byId("empty-title").textContent = isNarrowed ? "Nothing like that" : "No mails yet";
  byId("empty-text").textContent = isNarrowed ? "Search for something else, or for every status." : "Drop an .eml file anywhere on this page, or poll the mailbox.";
  const underWay = items.filter(isUnderWay).length;
  byId("summary").textContent = underWay > 0 ? `${underWay} under way` : "";
  return underWay > 0;
}

async function shown({ view, id }, status) {
  const threshold = status.confidence_threshold;
  if (view === "inbox") return showInbox(status);
  if (view === "review") return (await review.show({ status: "needs_review" }, { threshold })).length > 0;
  if (view === "email") return email.show(id, { threshold, mayAct: mayAct() });
  if (view === "letters") return letters.show(id, { mayAct: mayAct() && seesAll() });
  if (view === "health") return showHealth(status, { seesAll: seesAll(), mayAct: mayAct() });
  return showRules();
}

// Resolves to whether anything is still going to change by itself.
async function look() {
  const here = wanted();
  try {
    me ??= await session();
    const status = await api.status();
    showAround(here.view, status);
    const isUnsettled = await shown(here, status);
    // Somebody may have gone elsewhere meanwhile.
    if (JSON.stringify(wanted()) !== JSON.stringify(here)) return true;
    for (const each of VIEWS) byId(each).hidden = each !== here.view;
    byId("sign-in").hidden = true;
    notice(byId("trouble"), "", "bad");
    showTitle(here.view);
    return isUnsettled;
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    const isStranger = problem.status === UNAUTHORIZED || problem.status === FORBIDDEN;
    byId("sign-in").hidden = !isStranger;
    if (isStranger) for (const each of VIEWS) byId(each).hidden = true;
    notice(byId("trouble"), isStranger ? "" : problem.message, "bad");
    return true;
  }
}

function showAround(view, status) {
  showCritical(status.critical);
  notice(byId("offline"), status.extractor.offline ? OFFLINE : "", "warn");
  byId("tabs").hidden = false;
  for (const tab of byId("tabs").children) {
    if ("ofAll" in tab.dataset) tab.hidden = !seesAll();
    const isHere = tab.dataset.view === (view === "email" ? "inbox" : view);
    if (isHere) tab.setAttribute("aria-current", "page");
    else tab.removeAttribute("aria-current");
  }
  showCount("review-count", status.totals.needs_review);
  showCount("letters-count", status.totals.failed);
  byId("sign-in-link").href = `../login?next=${encodeURIComponent(`/collabiq/${location.hash}`)}`;
}

function showCount(id, count) {
  byId(id).hidden = !count;
  byId(id).textContent = count > 99 ? "99+" : String(count ?? "");
}

// What only a person can mend, with the next step; nothing while all is well.
function showCritical(found) {
  const place = byId("critical");
  const digest = JSON.stringify(found);
  if (place.dataset.digest === digest) return;
  place.dataset.digest = digest;
  place.replaceChildren(...found.map(({ service, sentence, next_step: step }) => {
    const line = noticeOf("", "bad");
    line.classList.add("critical");
    line.querySelector("p").append(made("b", { text: `${serviceOf(service)}: ` }), `${sentenceOf(sentence)} `, made("b", { text: step ?? "" }));
    return line;
  }));
}

function showTitle(view) {
  const heading = byId(view).querySelector("h1").textContent;
  const title = view === "inbox" ? "Collabiq" : `${heading} · Collabiq`;
  if (title !== titleIsSet) document.title = titleIsSet = title;
}

byId("all-settings").addEventListener("change", changed);
byId("filters").addEventListener("submit", (event) => event.preventDefault());
byId("filters").addEventListener("input", () => {
  inbox.begin();
  clearTimeout(searching);
  searching = setTimeout(changed, SEARCH_MS);
});
byId("fetch").addEventListener("click", async ({ currentTarget }) => {
  currentTarget.disabled = true;
  try {
    const { joined } = await api.fetchNow();
    notice(byId("said"), joined ? "A poll is under way already." : "The mailbox is being polled.", "good");
    changed();
  } catch (problem) {
    notice(byId("said"), problem.message, "bad");
  } finally {
    byId("fetch").disabled = false;
  }
});
window.addEventListener("hashchange", async () => {
  email.forget();
  await follower.again();
  const here = byId(wanted().view);
  if (here.contains(document.activeElement)) return;
  here.querySelector("h1").focus({ preventScroll: true });
  window.scrollTo(0, 0);
});
follower.start();
