// SPDX-License-Identifier: Apache-2.0
// Why each device is idle, as stacked bars with patterns, and all figures of the devices as a table.

/** The causes that the data has, in the order of the page. */
function causesOf(timeline) {
  const known = Object.keys(CAUSES).filter((cause) => Array.isArray(timeline.idle[cause]));
  const others = Object.keys(timeline.idle).filter((cause) => !Object.hasOwn(CAUSES, cause));
  return [...known, ...others.filter((cause) => Array.isArray(timeline.idle[cause]))];
}

function idleOf(timeline, device) {
  return sum(causesOf(timeline).map((cause) => timeline.idle[cause][device]));
}

function idleTop() {
  const idleTimes = (timeline) => timeline.lanes.map((_, device) => idleOf(timeline, device));
  return largest(chosenTimelines().flatMap(idleTimes)) || 1;
}

/** Causes that take time, the largest first. */
function idleText(timeline) {
  const totals = causesOf(timeline).map((cause) => [causeName(cause), sum(timeline.idle[cause])])
    .filter(([, total]) => total > 0);
  totals.sort((a, b) => b[1] - a[1]);
  const all = sum(totals.map(([, total]) => total));
  if (totals.length === 0)
    return "no idle time";
  const share = percent(all / (timeline.lanes.length * timeline.end), 1);
  const words = totals.map(([name, total]) => `${name} ${timeFigure(total)}`).join(", ");
  return `idle ${timeFigure(all)}, ${share} of all device time: ${words}`;
}

function makeIdleBars(timeline) {
  const top = idleTop(), causes = causesOf(timeline);
  const draw = (device, x, width) => {
    let below = 0;
    return causes.filter((cause) => timeline.idle[cause][device] > 0).map((cause) => {
      const height = timeline.idle[cause][device] / top;
      below += height;
      const y = `${100 * Math.max(0, 1 - below)}%`;
      return makeCauseBox(cause, { x, width, y, height: `${100 * height}%` });
    });
  };
  const pointAt = (device) => {
    const times = causes.map((cause) => [causeName(cause), timeline.idle[cause][device]]).filter(([, time]) => time > 0);
    return [`device ${device}: idle ${timeFigure(idleOf(timeline, device))}`,
            times.map(([name, time]) => [name, timeFigure(time)])];
  };
  return makeBars(timeline.lanes.length, timeFigure(top, 3), draw, pointAt);
}

function makeFigures(rank, timeline) {
  const causes = causesOf(timeline);
  const columns = [["busy", timeline.busy, "time"], ["idle", timeline.idleTotal, "time"],
                   ...causes.map((cause) => [causeName(cause), timeline.idle[cause], "time"]),
                   ["peak memory", timeline.peaks, "memory"],
                   ...Object.entries(timeline.held).map(([cause, sizes]) => [cause, sizes, "memory"]),
                   ["memory limit", timeline.limits, "memory"]];
  const head = make("tr", {}, make("th", { scope: "col", class: "pinned" }, "device"),
    ...columns.map(([name, , measure]) => make("th", { scope: "col", class: "number" }, headingIn(measure, name))));
  const body = timeline.lanes.map((_, device) => make("tr", {}, make("th", { scope: "row" }, String(device)),
    ...columns.map(([, values]) => make("td", { class: "number" }, figure(values[device])))));
  const label = `Figures of the devices of ${nameOf(candidateOf(rank))}`;
  return make("div", { class: "scroll", role: "region", tabindex: 0, "aria-label": label },
    make("table", {}, make("thead", {}, head), make("tbody", {}, ...body)));
}

/** The table is made when it is opened. */
function makeDetails(rank, timeline) {
  const details = make("details", {}, make("summary", {}, "Figures of the devices"));
  details.addEventListener("toggle", () => {
    if (details.open && details.children.length === 1)
      details.append(makeFigures(rank, timeline));
  });
  return details;
}

function makeIdlePanel(rank) {
  const timeline = timelineOf(rank), element = make("figure", {}), details = makeDetails(rank, timeline);
  const update = () => element.replaceChildren(makeCaption(rank, idleText(timeline)), makeIdleBars(timeline), details);
  return { element, update };
}

/** The legend of patterns, for causes that take time. */
function showCauses() {
  const timelines = chosenTimelines();
  const takesTime = (timeline) => causesOf(timeline).filter((cause) => sum(timeline.idle[cause]) > 0);
  const text = (cause) => causeName(cause) + (Object.hasOwn(CAUSES, cause) ? `: ${CAUSES[cause]}` : "");
  const found = new Set(timelines.flatMap(takesTime));
  const causes = [...Object.keys(CAUSES).filter((cause) => found.delete(cause)), ...found];
  byId("causes").replaceChildren(...causes.map((cause) => make("li", {}, makeCauseSwatch(cause), text(cause))));
}

function startIdle() {
  startPatterns();
  addPart(byId("idle-panels"), makeIdlePanel);
}
