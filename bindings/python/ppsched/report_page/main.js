// SPDX-License-Identifier: Apache-2.0
// The header, and the start of everything.

const BASELINE = "1f1b"; // what most run today

function problemText() {
  const { devices, stages, microbatches, iterations } = data.problem ?? {};
  const costs = isNumber(data.problem?.layers) ? counted(data.problem.layers, "layer") : `costs of ${counted(stages, "stage")}`;
  const words = [counted(devices, "device"), costs,
                 counted(microbatches, "microbatch", "microbatches")];
  if (iterations > 1)
    words.push(counted(iterations, "iteration"));
  const step = objective === "span"
    ? "A step takes the span, the longest time of one device: the optimizer does not synchronise them."
    : "A step takes the makespan, from 0 to the last end: the optimizer synchronises the devices.";
  return `${words.join(", ")}. ${step}`;
}

function countsText() {
  const fitting = ranked.filter((candidate) => candidate.fits).length;
  const over = ranked.length - fitting;
  return `${counted(candidates.length, "candidate")}: ${fitting} fitting, ${over} over their memory limit, ` +
    `${refused.length} refused.`;
}

function makeCard(name, value, more, classes = "card") {
  return make("div", { class: classes }, make("small", {}, name), make("strong", {}, value), make("small", {}, more));
}

function winnerCards() {
  const bubble = winner.bubble ?? {};
  const next = ranked.find((candidate) => candidate.fits && candidate.strategy !== winner.strategy);
  const limit = isNumber(winner.memory_limit) ? `of ${memoryFigure(winner.memory_limit)}, ` : "";
  const gain = next ? 1 - winner.step_time / next.step_time : NaN;
  const less = gain < 0.0005 ? "equal to" : `${percent(gain, 1)} less than`;
  const ahead = isNumber(gain) ? `${less} ${next.strategy}` : "";
  return [
    makeCard("\u2605 best that fits", nameOf(winner), sizesText({ ...winner, memory_limit: null }), "card first"),
    makeCard("step time", timeFigure(winner.step_time), ahead),
    makeCard("above the bound", percent(gapOf(winner), 1), `bound ${timeFigure(winner.bound)}`),
    makeCard("bubble of total", percent(bubble.of_total),
      `${percent(bubble.of_ideal)} of ideal, ${percent(bubble.of_span)} of span`),
    makeCard("peak memory", memoryFigure(winner.peak_memory), `${limit}device ${winner.peak_device ?? DASH}`),
  ];
}

function closestCards() {
  const closest = ranked[0];
  if (!closest)
    return [makeCard("none ran", "No candidate fits", "all were refused; the reasons are below", "card warning")];
  return [makeCard("over the memory limit", "No candidate fits", "what comes closest is first in the table", "card warning"),
          makeCard("closest", nameOf(closest), sizesText(closest)),
          makeCard("lacks", memoryFigure(closest.excess),
            `its peak is ${memoryFigure(closest.peak_memory)} on device ${closest.peak_device ?? DASH}`)];
}

function startHeader() {
  byId("problem").textContent = problemText();
  byId("counts").textContent = countsText();
  byId("winner").append(...(winner ? winnerCards() : closestCards()));
}

/** Leaves for whoever tests the page what it shows, as attributes of <html>. */
function tellState() {
  const shown = [...rows.values()].filter((row) => row.isConnected && !row.hidden).length;
  const drawn = sum(timelinePanels.filter((panel) => chosen.has(panel.rank)).map((panel) => panel.drawn));
  Object.assign(document.documentElement.dataset, { rows: shown, chosen: chosen.size, drawn });
}

/** The best, and beside it the baseline, or else the second best. */
function firstChosen() {
  const [best, ...others] = [...rawTimelines.keys()].sort((a, b) => a - b);
  const beside = others.find((rank) => candidateOf(rank).strategy === BASELINE) ?? others[0];
  return [best, beside].filter((rank) => rank !== undefined);
}

function start() {
  startTheme();
  startHeader();
  startTables();
  startTimelines();
  startMemory();
  startIdle();
  startLayers();
  startLaunch();
  for (const rank of firstChosen())
    chosen.add(rank);
  markChosen();
  showChosen();
  startPrinting();
  watchPixelRatio();
  paintAll();
  tellState();
  document.documentElement.dataset.state = "ready";
}

start();
