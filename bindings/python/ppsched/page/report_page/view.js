// SPDX-License-Identifier: Apache-2.0
// The window of time that all drawings share, and how mouse, touch and wheel move it.

const GUTTER = 46, MARGIN = 10; // left and right of the time axis, in pixels
const CLOSEST = 1e-5;           // least share of the whole time that is visible

const view = { from: 0, to: 1, whole: 1 };

function setView(from, to) {
  const length = clamp(to - from, CLOSEST * view.whole, view.whole);
  view.from = clamp(from, 0, view.whole - length);
  view.to = view.from + length;
  redraw();
}

function isWhole() {
  return view.to - view.from >= view.whole * (1 - 1e-9);
}

/** Makes all drawings end at `whole`; the visible range stays, if possible. */
function setWhole(whole) {
  const all = isWhole();
  view.whole = whole;
  setView(all ? 0 : view.from, all ? whole : view.to);
}

function fitView() {
  setView(0, view.whole);
}

/** Shows `factor` times as much time; the time `at` stays in place. */
function zoom(factor, at = zoomCentre()) {
  const length = clamp((view.to - view.from) * factor, CLOSEST * view.whole, view.whole);
  const share = (at - view.from) / (view.to - view.from);
  setView(at - share * length, at + (1 - share) * length);
}

/** Moves by a share of the visible range. */
function pan(share) {
  const step = share * (view.to - view.from);
  setView(view.from + step, view.to + step);
}

/** Moves no more than needed to show start and end, with some space. */
function reveal(start, end) {
  const length = view.to - view.from, air = 0.05 * length;
  if (start < view.from)
    setView(start - air, start - air + length);
  else if (end > view.to)
    setView(Math.min(start - air, end + air - length), Math.min(start - air, end + air - length) + length);
}

function plotWidth(width) {
  return Math.max(1, width - GUTTER - MARGIN);
}

function xOf(time, width) {
  return GUTTER + (time - view.from) / (view.to - view.from) * plotWidth(width);
}

function timeOf(x, width) {
  return view.from + (x - GUTTER) / plotWidth(width) * (view.to - view.from);
}

// --- mouse, touch, wheel ---

const TAP = 6; // pixels that a finger may move and still tap

/** Handles drags and pinches of a box; `listener` has hover(x, y), leave() and tap(x, y), in pixels of the box. A drag selects
 * with Shift held, or if the button is on. */
function listenToPointers(box, listener) {
  const fingers = new Map();
  let moved = 0, selectedFrom = null;
  const place = (event) => {
    const { left, top } = box.getBoundingClientRect();
    return { x: event.clientX - left, y: event.clientY - top };
  };
  const extent = () => {
    const xs = [...fingers.values()].map((finger) => finger.x);
    return { middle: sum(xs) / xs.length, length: Math.max(40, Math.max(...xs) - Math.min(...xs)) };
  };
  const drag = (event) => {
    const before = extent(), old = fingers.get(event.pointerId), now = place(event);
    fingers.set(event.pointerId, now);
    const after = extent(), width = box.clientWidth;
    moved += Math.abs(now.x - old.x) + Math.abs(now.y - old.y);
    if (selectedFrom !== null && fingers.size === 1) {
      if (moved > TAP)
        setSelection(selectedFrom, timeOf(now.x, width));
      return;
    }
    if (fingers.size > 1)
      zoom(before.length / after.length, timeOf(after.middle, width));
    if (moved > TAP) {
      pan((before.middle - after.middle) / plotWidth(width));
      box.classList.add("dragged");
      hideTip();
    }
  };
  const release = (event) => {
    if (!fingers.delete(event.pointerId))
      return;
    box.classList.remove("dragged");
    if (event.type === "pointerup" && moved <= TAP && fingers.size === 0) {
      const { x, y } = place(event);
      listener.tap(x, y);
    }
  };
  box.addEventListener("pointerdown", (event) => {
    if (event.button !== 0)
      return;
    moved = fingers.size === 0 ? 0 : Infinity;
    fingers.set(event.pointerId, place(event));
    selectedFrom = event.shiftKey || selectsByDrag ? timeOf(place(event).x, box.clientWidth) : null;
    box.setPointerCapture(event.pointerId);
  });
  box.addEventListener("pointermove", (event) => {
    const { x, y } = place(event);
    if (fingers.has(event.pointerId))
      drag(event);
    else if (event.pointerType === "mouse")
      listener.hover(x, y);
  });
  box.addEventListener("pointerup", release);
  box.addEventListener("pointercancel", release);
  box.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && listener.leave());
}

/** The wheel zooms with Ctrl held, or if the box has the focus; sideways it moves. Otherwise it scrolls the page. */
function listenToWheel(box) {
  box.addEventListener("wheel", (event) => {
    const lines = event.deltaMode === 1 ? 16 : 1; // some browsers count lines
    const sideways = event.shiftKey ? event.deltaX || event.deltaY : event.deltaX;
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      pan(lines * sideways / plotWidth(box.clientWidth));
    } else if (event.ctrlKey || event.metaKey || box.contains(document.activeElement)) {
      if (event.deltaY > 0 && isWhole() && !event.ctrlKey)
        return; // nothing more to show: the page scrolls on
      const x = event.clientX - box.getBoundingClientRect().left;
      zoom(Math.exp(clamp(lines * event.deltaY, -200, 200) * 0.004), timeOf(x, box.clientWidth));
    } else {
      return;
    }
    event.preventDefault();
    hideTip();
  }, { passive: false });
}
