// SPDX-License-Identifier: Apache-2.0
// Moving ops by hand to another place in the queue of their device, by mouse, touch or keys. The library checks the order.

let movesOps = false;
let grabbed = null; // {panel, device, entry}

/** The ops of a queue as plain objects; an overlapped pair is one list of two. */
function unitsOf(device) {
  const units = [];
  let isOpen = false;
  for (const { kind, stage, microbatch, slice, flags } of current.schedule.ops(device)) {
    const op = { kind, stage, microbatch, slice, flags: flags & OVERLAPPED };
    if (isOpen)
      units.at(-1).push(op);
    else
      units.push([op]);
    isOpen = Boolean(op.flags);
  }
  return units;
}

/** A schedule with these queues; throws the checker's finding if it cannot run. */
function scheduleOf({ queues, placement, flushes, weightVersions }, handProblem) {
  const config = configOf(engine, handProblem);
  let builder = null;
  try {
    if (handProblem.placement === "default" && placement !== "map")
      config.place(placement);
    builder = config.builder().name(`${handProblem.strategy} by hand`).flushes(flushes).weightVersions(weightVersions);
    for (const [device, units] of queues.entries())
      builder.append(device, units.flat());
    const schedule = builder.finish(), [finding] = schedule.findings(1);
    if (finding === undefined)
      return schedule;
    schedule.destroy();
    throw new Error(`This order cannot run: ${finding.text}`);
  } finally {
    builder?.destroy();
    config.destroy();
  }
}

/** Draws queues that were made by hand, and puts them into the link if they fit. */
function drawByHand(queues) {
  const { placement, flushes, weightVersions } = current.schedule, made = { queues, placement, flushes, weightVersions };
  const order = orderOf(queues, made), handProblem = { ...current.problem, order };
  draw(scheduleOf(made, handProblem), handProblem);
  problem = handProblem;
  return order === "" ? " It is too large for the link: save it as JSON." : "";
}

/** Moves the op at a position of a device's queue to before another unit of that queue. */
function moveOp(device, position, place) {
  const queues = current.picture.lanes.map((_, each) => unitsOf(each)), units = queues[device];
  let from = 0;
  for (let seen = 0; seen < position; from += 1)
    seen += units[from].length;
  const to = clamp(place > from ? place - 1 : place, 0, units.length - 1), before = current.picture.end;
  if (to === from)
    return false;
  units.splice(to, 0, ...units.splice(from, 1));
  let inLink = "";
  try {
    inLink = drawByHand(queues);
  } catch (error) {
    showProblem(error.message);
    announce(error.message);
    return false;
  }
  const change = current.picture.end - before;
  const text = Math.abs(change) <= 1e-9 * before ? "unchanged" : `${figure(Math.abs(change))} ${change > 0 ? "longer" : "shorter"}`;
  byId("moved").textContent = `Moved on device ${device}: makespan ${figure(current.picture.end)}, ${text}.${inLink}`;
  announce(byId("moved").textContent);
  const moved = current.picture.lanes[device].find((entry) => entry.position === units.slice(0, to).flat().length);
  pointTo(livePanel, device, moved, true);
  return true;
}

/** The position in a lane, in units, at a time. */
function placeAt(lane, time) {
  return firstIndex(lane.length, (i) => (lane[i].start + lane[i].end) / 2 >= time);
}

function listenToMoves(panel) {
  const { box } = panel.surface;
  const place = (event) => {
    const { left, top } = box.getBoundingClientRect();
    return { x: event.clientX - left, y: event.clientY - top };
  };
  box.addEventListener("pointerdown", (event) => {
    const found = movesOps && event.button === 0 ? entryAt(panel, place(event).x, place(event).y) : null;
    if (!found?.entry)
      return;
    event.stopImmediatePropagation();
    grabbed = { panel, device: found.device, entry: found.entry };
    pointTo(panel, found.device, found.entry, true);
    box.setPointerCapture(event.pointerId);
  }, true);
  box.addEventListener("pointerup", (event) => {
    if (grabbed === null)
      return;
    event.stopImmediatePropagation();
    const { device, entry } = grabbed;
    grabbed = null;
    moveOp(device, entry.position, placeAt(current.picture.lanes[device], timeOf(place(event).x, box.clientWidth)));
  }, true);
  box.addEventListener("pointercancel", () => { grabbed = null; });
  box.addEventListener("keydown", (event) => {
    const by = { ",": -1, ".": 1 }[event.key];
    if (by === undefined || !pointed?.entry || pointed.panel !== panel)
      return;
    event.preventDefault();
    const { device, entry } = pointed, at = panel.timeline.lanes[device].indexOf(entry);
    moveOp(device, entry.position, by < 0 ? at - 1 : at + 2);
  });
}

function startHand() {
  listenToMoves(livePanel);
  byId("move-ops").addEventListener("click", () => {
    movesOps = !movesOps;
    byId("move-ops").setAttribute("aria-pressed", movesOps);
  });
}
