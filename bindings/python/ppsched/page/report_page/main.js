// SPDX-License-Identifier: Apache-2.0
// The header, and the start of everything.

function problemText() {
  const { devices, stages, microbatches, iterations } = data.problem ?? {}, { slices } = question;
  const costs = isNumber(data.problem?.layers) ? counted(data.problem.layers, "layer") : `costs of ${counted(stages, "stage")}`;
  const words = [counted(devices, "device"), costs,
                 counted(microbatches, "microbatch", "microbatches") + (slices > 1 ? ` of ${slices} slices` : "")];
  if (iterations > 1)
    words.push(counted(iterations, "iteration"));
  return `${words.join(", ")}.`;
}

function stepText() {
  return objective === "span"
    ? "The step time is the span, the longest time of one device, because the optimizer does not synchronise the devices."
    : "The step time is the makespan, from 0 to the last end, because the optimizer synchronises the devices.";
}

function countsText() {
  const fitting = ranked.filter((candidate) => candidate.fits).length;
  const over = ranked.length - fitting;
  return `${counted(candidates.length, "candidate")}: ${fitting} within their memory limit, ${over} over it, ` +
    `${refused.length} refused.`;
}

function makeCard(name, value, more, classes = "card") {
  return make("div", { class: classes }, make("small", {}, name), make("strong", {}, value), make("small", {}, more));
}

/** How much shorter a step is than with another candidate. */
function aheadText(other) {
  const gain = other ? 1 - winner.step_time / other.step_time : NaN;
  if (!isNumber(gain) || other === winner)
    return "";
  const less = gain < -0.0005 ? `${percent(-gain, 1)} more than` : gain < 0.0005 ? "equal to" : `${percent(gain, 1)} less than`;
  return `${less} ${other.strategy}`;
}

/** The winner's own bound, and the least bound of all placements if that differs. */
function boundText() {
  const least = winner.least_bound, own = `${timeFigure(winner.bound)} of its ${winner.placement} placement`;
  return isNumber(least) && least < winner.bound * (1 - 1e-9)
    ? `${own}; ${percent(gapOf(winner, least), 1)} above ${timeFigure(least)}, the least of all candidates` : own;
}

/** The part of the idle time that is imbalance. */
function imbalanceText() {
  return winner.imbalance >= 0.00005 ? `; ${percent(winner.imbalance)} is imbalance` : "";
}

function winnerCards() {
  const bubble = winner.bubble ?? {};
  const next = ranked.find((candidate) => candidate.fits && candidate.strategy !== winner.strategy);
  const ahead = [aheadText(candidateByRank.get(data.baseline)), aheadText(next)];
  const limit = isNumber(winner.memory_limit) ? `of ${memoryFigure(winner.memory_limit)}, ` : "";
  return [
    makeCard("\u2605 best that fits", nameOf(winner), sizesText({ ...winner, memory_limit: null }), "card first"),
    makeCard("step time", timeFigure(winner.step_time), [...new Set(ahead.filter(Boolean))].join(", ")),
    ...(isNumber(winner.bound) ? [makeCard("above the bound", percent(gapOf(winner), 1), boundText())] : []),
    makeCard("bubble of total", percent(bubble.of_total),
      `${percent(bubble.of_ideal)} of ideal, ${percent(bubble.of_span)} of span${imbalanceText()}`),
    makeCard("peak memory", memoryFigure(winner.peak_memory), `${limit}device ${winner.peak_device ?? DASH}`),
  ];
}

/** Cards for the candidate that needs the least limit: its overshoot and this limit. */
function closestCards() {
  const closest = candidateByRank.get(data.least_limit?.rank) ?? ranked[0];
  if (!closest)
    return [makeCard("none ran", "No candidate fits", "all were refused; see the reasons below", "card warning")];
  const least = data.least_limit?.limit;
  const lacks = isNumber(closest.overshoot) ? [makeCard("overshoot", memoryFigure(closest.overshoot),
    `its peak is ${memoryFigure(closest.peak_memory)} on device ${closest.peak_device ?? DASH}`)] : [];
  const first = "the table begins with the smallest overshoot";
  return [makeCard("over the memory limit", "No candidate fits", first, "card warning"),
          makeCard("closest", nameOf(closest), sizesText(closest)),
          ...(isNumber(least) ? [makeCard("least limit that works", memoryFigure(least), `for ${nameOf(closest)}`)] : []),
          ...lacks];
}

function showHeader() {
  byId("problem").textContent = problemText();
  byId("counts").textContent = `${countsText()} ${stepText()}`;
  byId("winner").replaceChildren(...(winner ? winnerCards() : closestCards()));
}

/** For tests of the page: what it shows, as attributes of <html>. */
function tellState() {
  const shown = [...rows.values()].filter((row) => row.isConnected && !row.hidden).length;
  const drawn = sum(timelinePanels.filter((panel) => chosen.has(panel.rank)).map((panel) => panel.drawn));
  Object.assign(document.documentElement.dataset, { rows: shown, chosen: chosen.size, drawn });
}

/** The best candidate, and the baseline or else the second best. */
function firstChosen() {
  const [best, ...others] = [...rawTimelines.keys()].sort((a, b) => a - b);
  const beside = others.find((rank) => rank === data.baseline) ?? others[0];
  return [best, beside].filter((rank) => rank !== undefined);
}

function start() {
  startTheme();
  showHeader();
  startTables();
  startTimelines();
  startMemory();
  startIdle();
  startScenarios();
  startLayers();
  startLaunch();
  startQuestion();
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
