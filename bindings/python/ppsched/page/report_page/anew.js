// SPDX-License-Identifier: Apache-2.0
// Ranking again, with other limits and times than those of the page, by the library in it.

const ANEW_KNOBS = { mem_limit: "Memory limit", forward_times: "F time", backward_times: "B time",
                     backward_input_times: "I time", backward_weight_times: "W time", p2p_time: "Transfer" };
const PARTS_OF_B = ["backward_input_times", "backward_weight_times"];
const USUAL = { mem_limit: "none", p2p_time: "0" }; // defaults; 1 for times of ops

const asGiven = readGiven(data.live);
const given = { candidates, baseline: data.baseline, least_limit: data.least_limit, timelines: new Map(rawTimelines) };
const waiting = new Set(); // ranks whose timelines are requested
let anew = asGiven, asker = null, anewTimer = 0, isRanking = false;

/** The problem of the page, a JSON text of its own, in which numbers have all digits. */
function readGiven(text) {
  return JSON.parse(text, (_, value) => (value === "Infinity" ? Infinity : value));
}

/** B if it was given, else I and W. */
function anewNames() {
  const others = "backward_times" in asGiven.values ? PARTS_OF_B : ["backward_times"];
  return Object.keys(ANEW_KNOBS).filter((name) => !others.includes(name));
}

function showAnewKnobs() {
  for (const name of anewNames())
    byId(`anew-${name}`).value = anew.values[name]?.join(" ") ?? "";
}

/** How the present values differ from the given ones. */
function changesText() {
  const text = (problem, name) => problem.values[name]?.map((value) => figure(value)).join(" ") ?? USUAL[name] ?? "1";
  const word = (name) => `${ANEW_KNOBS[name].toLowerCase()} ${text(anew, name)} (given: ${text(asGiven, name)})`;
  return anewNames().filter((name) => text(anew, name) !== text(asGiven, name)).map(word).join(", ");
}

function showAnewProblem(message) {
  byId("anew-alert").textContent = message;
  byId("anew-alert").hidden = message === "";
  byId("anew-bar").hidden = true;
}

// --- other candidates in the page ---

/** Replaces the shown candidates by others, with their first timelines. */
function showCandidates({ candidates: others, baseline, least_limit: least, timelines }) {
  Object.assign(data, { baseline, least_limit: least });
  takeCandidates(others);
  forgetTimelines();
  for (const [rank, raw] of timelines)
    rawTimelines.set(rank, raw);
  waiting.clear();
  showTables();
  filterRows();
  showHeader();
  for (const rank of firstChosen())
    chosen.add(rank);
  markChosen();
  showChosen();
}

function heardRanks(answer) {
  showCandidates({ ...answer, timelines: answer.timelines.map((raw) => [raw.rank, raw]) });
  const best = winner ? `best is ${nameOf(winner)}, step time ${timeFigure(winner.step_time)}` : "no candidate fits";
  const asked = changesText() || "the given values";
  byId("anew-told").textContent = `Ranked again with ${asked}: ${best}. The problem below has the given values.`;
}

function heardTimeline(drawn) {
  rawTimelines.set(drawn.rank, drawn);
  waiting.delete(drawn.rank);
  choose(drawn.rank, true);
  askNext();
}

function heardAnew({ share, error, drawn, ...answer }) {
  byId("anew-bar").hidden = share === undefined;
  if (share !== undefined) {
    byId("anew-bar").value = share;
    return;
  }
  showAnewProblem(error ?? "");
  isRanking = false;
  if (error !== undefined) {
    waiting.clear();
    markChosen();
  } else if (drawn !== undefined)
    heardTimeline(drawn);
  else
    heardRanks(answer);
  tellAnew();
}

/** For tests of the page: whether it is busy. */
function tellAnew() {
  document.documentElement.dataset.anew = isRanking || waiting.size > 0 ? "no" : "yes";
}

/** Makes timelines one after another. */
function askNext() {
  const [rank] = waiting;
  if (rank !== undefined)
    asker.ask(anew, { kind: "draw", rank });
  tellAnew();
}

function drawLater(rank) {
  if (isRanking) { // ranks will change
    markChosen();
    return;
  }
  waiting.add(rank);
  announce(`drawing ${nameOf(candidateOf(rank))}`);
  if (waiting.size === 1)
    askNext();
}

// --- the knobs ---

/** Restores the page as it was made, without computing anything. */
function goBack() {
  anew = asGiven;
  clearTimeout(anewTimer);
  asker.number += 1; // running work is ignored from now on
  isRanking = false;
  showAnewKnobs();
  showAnewProblem("");
  byId("anew-told").textContent = "With the given values.";
  byId("anew-back").disabled = true;
  showCandidates(given);
  byId("anew-title").focus({ preventScroll: true });
  tellAnew();
}

function rankAnewSoon() {
  isRanking = true;
  waiting.clear();
  asker.number += 1;
  tellAnew();
  clearTimeout(anewTimer);
  anewTimer = setTimeout(() => asker.ask(anew), 150);
}

function turnAnew(name, text) {
  try {
    anew = withValues(anew, name, numberList(name.replaceAll("_", " "), text));
  } catch (error) {
    showAnewProblem(error.message);
    return;
  }
  byId("anew-back").disabled = false;
  for (const other of PARTS_OF_B)
    if (other !== name && byId(`anew-${other}`))
      byId(`anew-${other}`).value = anew.values[other]?.join(" ") ?? "";
  rankAnewSoon();
}

function makeAnewKnob(name) {
  const knob = make("input", { id: `anew-${name}`, inputmode: "decimal", placeholder: USUAL[name] ?? "1",
                               autocomplete: "off" });
  knob.addEventListener("input", () => turnAnew(name, knob.value));
  return make("label", {}, headingIn(measureOf(name), ANEW_KNOBS[name]), knob);
}

async function startAnew() {
  const module = await WebAssembly.compile(await bytesOfLibrary());
  asker = new Asker(reportKinds, "rank", module, heardAnew);
  byId("anew-knobs").append(...anewNames().map(makeAnewKnob));
  byId("anew-title").tabIndex = -1;
  showAnewKnobs();
  byId("anew-back").addEventListener("click", goBack);
  byId("anew").addEventListener("submit", (event) => event.preventDefault()); // of Enter in a field
  makeTimeline = drawLater;
  showTables();
  filterRows();
  markChosen();
  tellAnew();
}

startAnew();
