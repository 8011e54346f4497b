// SPDX-License-Identifier: Apache-2.0
// What takes time: searches in a worker, with their progress and a way to end them, and sizes that the page asks about first.

const MOST_AT_ONCE = 150_000;  // ops that are drawn without asking
const MOST_AT_ALL = 6_000_000; // ops that are drawn: a browser has some 200 bytes for each
const LANE = 100;              // ops that take as long as a device's row

let searched = null;  // the problem that is searched for
let allowed = 0;      // ops that the reader has allowed
let perOp = 2e-6;     // seconds to draw one, as measured with what was drawn last

/** Whether what is drawn is of another problem than the knobs say. */
function markStale(isStale) {
  document.querySelector("main").classList.toggle("stale", isStale);
  byId("stale").hidden = !isStale || current.timeline === null;
}

// --- searches ---

function showSearching(isOn) {
  byId("searching").hidden = !isOn;
  byId("search-figures").textContent = "";
  byId("search-bar").removeAttribute("value"); // until it is told
  if (isOn)
    markStale(true);
}

function startSearch() {
  hideProblem();
  showSearching(true);
  searched = problem;
  searcher.ask(problem);
}

function cancelSearch() {
  searcher.drop();
  searched = null;
  showSearching(false);
  showProblem("The search was ended, and what it had found so far is gone; turn a knob to go on.");
  byId("knob-strategy").focus();
}

/** What the library tells of a search while it runs. */
function showProgress({ share, best }) {
  byId("search-bar").value = share;
  byId("search-figures").textContent = `${percent(share, 0)} of its work${Number.isFinite(best) ? `, best so far ${figure(best)}` : ""}`;
}

function heardSearch({ schedule, error, ...progress }) {
  if (searched !== problem) // a knob has been turned since
    return;
  if (progress.share !== undefined) {
    showProgress(progress);
    return;
  }
  showSearching(false);
  if (error !== undefined) {
    showProblem(error);
    return;
  }
  let config = null;
  try {
    config = configOf(engine, problem);
    draw(keepLess(engine.importSchedule("json", schedule), config, problem), problem);
  } catch (fault) {
    showProblem(fault.message);
  } finally {
    config?.destroy();
  }
}

// --- large sizes ---

/** Ops of a problem, with rows of devices counted as ops. */
function workOf(problem) {
  return opsOfProblem(problem) + LANE * problem.devices * Math.min(problem.devices, 64) / 64;
}

/** How long drawing took tells how long it will. */
function measureDrawing(seconds, ops) {
  if (ops >= 5000)
    perOp = seconds / ops;
}

function askText(work) {
  const seconds = Math.max(1, Math.round(work * perOp)), sizes = `${counted(problem.devices, "device")} and up to ${opsOfProblem(problem).toLocaleString("en")} ops`;
  if (work > MOST_AT_ALL)
    return `This has ${sizes}, too many for a page to draw; ppsched schedule on the command line has no such limit.`;
  const longer = strategies.get(problem.strategy)?.searches ? ", after a search that takes longer" : "";
  return `This has ${sizes}: about ${seconds} s in which the page stands still, and ${Math.ceil(work / 5000)} MB${longer}.`;
}

/** Whether the problem may be drawn at once; else the page asks, or says that it is too large. */
function isAllowed() {
  const work = workOf(problem), isLarge = work > Math.max(MOST_AT_ONCE, allowed);
  byId("ask").hidden = !isLarge;
  if (!isLarge)
    return true;
  byId("ask-text").textContent = askText(work);
  byId("ask-go").hidden = work > MOST_AT_ALL;
  searcher.drop();
  showSearching(false);
  hideProblem();
  markStale(true);
  notRanked("Not ranked: this is a large problem, see above.");
  return false;
}

function startWaiting() {
  byId("search-cancel").addEventListener("click", cancelSearch);
  byId("ask-go").addEventListener("click", () => {
    allowed = Math.min(workOf(problem), MOST_AT_ALL);
    turnedKnob();
  });
}
