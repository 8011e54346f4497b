// SPDX-License-Identifier: Apache-2.0
// Long work: searches in a worker, with progress and a button to cancel, and large sizes, for which the page asks first.

const MOST_AT_ONCE = 150_000;  // most ops that are drawn without asking
const MOST_AT_ALL = 6_000_000; // most ops that are drawn at all: a browser needs some 200 bytes for each
const LANE = 100;              // number of ops that take as long as a device's row

let searched = null;  // the problem of the running search
let allowed = 0;      // ops that the user has allowed
let perOp = 2e-6;     // seconds to draw one op, as measured last

/** Whether the drawn problem is another one than that of the knobs. */
function markStale(isStale) {
  document.querySelector("main").classList.toggle("stale", isStale);
  byId("stale").hidden = !isStale || current.timeline === null;
}

// --- searches ---

function showSearching(isOn) {
  byId("searching").hidden = !isOn;
  byId("search-figures").textContent = "";
  byId("search-bar").removeAttribute("value"); // until progress is reported
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
  showProblem("The search was cancelled, and its results are lost; change a control to continue.");
  byId("knob-strategy").focus();
}

/** Shows the progress that the library reports. */
function showProgress({ share, best }) {
  byId("search-bar").value = share;
  byId("search-figures").textContent = `${percent(share, 0)} of its work${Number.isFinite(best) ? `, best so far ${figure(best)}` : ""}`;
}

function heardSearch({ schedule, error, ...progress }) {
  if (searched !== problem) // a knob was changed since
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

/** Work to draw a problem: its ops, and its devices' rows counted as ops. */
function workOf(problem) {
  return opsOfProblem(problem) + LANE * problem.devices * Math.min(problem.devices, 64) / 64;
}

/** Measures how long drawing takes, to predict the next one. */
function measureDrawing(seconds, ops) {
  if (ops >= 5000)
    perOp = seconds / ops;
}

function askText(work) {
  const seconds = Math.max(1, Math.round(work * perOp)), sizes = `${counted(problem.devices, "device")} and up to ${opsOfProblem(problem).toLocaleString("en")} ops`;
  if (work > MOST_AT_ALL)
    return `This problem has ${sizes}, too many for a page to draw. On the command line, ppsched schedule has no such limit.`;
  const longer = strategies.get(problem.strategy)?.searches ? ", after a search that takes longer" : "";
  return `This problem has ${sizes}. The page will not respond for about ${seconds} s, and needs ${Math.ceil(work / 5000)} MB${longer}.`;
}

/** Whether the problem may be drawn at once. If not, the page asks, or says that it is too large. */
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
  notRanked("Not ranked, because this is a large problem; see above.");
  return false;
}

function startWaiting() {
  byId("search-cancel").addEventListener("click", cancelSearch);
  byId("ask-go").addEventListener("click", () => {
    allowed = Math.min(workOf(problem), MOST_AT_ALL);
    turnedKnob();
  });
}
