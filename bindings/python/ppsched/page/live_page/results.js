// SPDX-License-Identifier: Apache-2.0
// The figures of the drawn schedule, and the table of all strategies.

function showProblem(message) {
  byId("alert").textContent = message;
  byId("alert").hidden = false;
  byId("summary").hidden = true;
  markStale(true);
  document.documentElement.dataset.refused = "yes";
}

function hideProblem() {
  byId("alert").hidden = true;
  byId("summary").hidden = false;
  markStale(false);
  delete document.documentElement.dataset.refused;
}

const CARDS = ["step", "bubble", "bound", "memory"];

function setCard(name, value, more) {
  const [, strong, small] = byId(`card-${name}`).children;
  strong.textContent = value;
  small.textContent = more;
}

const MOST_FOR_BOUND = 2_000_000; // most steps of the library for a bound, which take some 0.1 s

/** The lower bound for the drawn placement. null if there is none, if it would take long, or if iterations share fill and drain,
 *  which the bound does not cover. With recompute or offload it ignores the memory limit. */
function boundOf(config, schedule, keepsLess) {
  if (config.stages * config.stages * config.microbatches / config.devices > MOST_FOR_BOUND || isUnflushed(schedule))
    return null;
  const copy = config.copy();
  try {
    if (keepsLess)
      copy.set("mem_limit", null);
    if (schedule.placement !== "map")
      copy.place(schedule.placement);
    return copy.bound().value;
  } catch {
    return null;
  } finally {
    copy.destroy();
  }
}

/** Whether activations are recomputed or offloaded. */
function keepsLess({ recompute, offload, strategy }) {
  return Boolean(recompute || offload || strategies.get(strategy)?.offloads);
}

function isUnflushed({ flushes, iterations }) {
  return !flushes && iterations > 1;
}

/** How far a time is above the lower bound; a dash if the schedule exceeds its limit, as it may then be below. */
function aboveBound(time, bound, fits) {
  const gap = time / bound - 1;
  return fits && bound > 0 && gap > -1e-9 ? percent(Math.max(0, gap), 1) : DASH;
}

function showCards({ metrics, peaks, limits }, bound, schedule) {
  const fits = metrics.limit_device === null;
  setCard("step", figure(metrics.makespan), `span ${figure(metrics.span)}`);
  setCard("bubble", percent(metrics.bubble_of_total), `${percent(metrics.bubble_of_ideal)} of ideal, ${percent(metrics.bubble_of_span)} of span`);
  setCard("bound", aboveBound(metrics.makespan / schedule.iterations, bound, fits),
    bound === null ? `no lower bound ${isUnflushed(schedule) ? "without a flush" : "at this size"}` : `above the lower bound ${figure(bound)}${fits ? "" : ", which holds within the limit"}`);
  const device = metrics.limit_device ?? metrics.peak_device, limit = limits[device];
  setCard("memory", figure(metrics.peak_memory), fits ? `on device ${device}${isNumber(limit) ? `, of ${figure(limit)}` : ""}`
    : `over the limit: device ${device} needs ${figure(peaks[device])} of ${figure(limit)}`);
  byId("card-memory").classList.toggle("warning", !fits);
}

// --- the table ---

const RANK_COLUMNS = [
  ["#", (row, place) => place + 1], ["strategy", (row) => row.strategy], ["step time", (row) => figure(row.step_time)],
  ["above bound", (row) => aboveBound(row.step_time, row.bound, row.fits)],
  ["bubble of total", (row) => percent(row.bubble_of_total)], ["peak memory", (row) => figure(row.peak_memory)],
  ["V", (row) => row.chunks], ["group", (row) => row.group_size || ""], ["placement", (row) => row.placement],
  ["status", (row) => (row.fits ? "fits" : `over by ${figure(row.overshoot)}`)],
];

/** Sets the knobs to the values of a row. */
function drawRow(row) {
  turn(() => {
    const options = row.group_size ? { group_size: String(row.group_size) } : {};
    problem = { ...problem, strategy: row.strategy, stages: row.stages, values: valuesIn(row.stages), options,
                placement: row.strategy === "auto" ? row.placement : "default" };
    shownOptions = null;
  });
  announce(`${row.strategy} is drawn`);
}

function makeRankRow(row, place) {
  const draw = makeButton("Draw", `Draw ${row.strategy}`, () => drawRow(row));
  const cells = RANK_COLUMNS.map(([heading, text]) => (heading === "strategy" ? make("th", { scope: "row" }, row.strategy)
    : make("td", { class: ["placement", "status"].includes(heading) ? null : "number" }, String(text(row, place)))));
  const element = make("tr", {}, ...cells, make("td", { class: "no-print" }, draw));
  element.classList.toggle("over", !row.fits);
  element.classList.toggle("winner", place === 0 && row.fits === 1);
  return element;
}

/** Shows why there are no rows. */
function notRanked(why) {
  clearTimeout(rankTimer);
  ranker.drop();
  byId("ranking-bar").hidden = true;
  byId("ranking").textContent = why;
  byId("ranks").replaceChildren();
  document.documentElement.dataset.ranked = "yes";
}

function showRanks({ rows, candidates: count, refused: no, least, error, share }) {
  const status = byId("ranking");
  document.documentElement.dataset.ranked = share === undefined ? "yes" : "no";
  if (share !== undefined) {
    byId("ranking-bar").hidden = false;
    byId("ranking-bar").value = share;
    return;
  }
  byId("ranking-bar").hidden = true;
  if (error !== undefined) {
    notRanked(`No ranking: ${error}`);
    return;
  }
  byId("ranks").classList.remove("stale");
  status.textContent = `${counted(count, "candidate")} of ${counted(rows.length, "strategy", "strategies")} evaluated, ${no} refused; the best of each strategy, as ppsched pick ranks them.`
    + (problem.recompute || problem.offload ? " All of them recompute or offload, as chosen." : "")
    + (least === undefined ? "" : ` None fits; the least limit that works is ${figure(least)}.`);
  byId("ranks").replaceChildren(...rows.map(makeRankRow));
}
