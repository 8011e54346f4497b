// SPDX-License-Identifier: Apache-2.0
// Canvases: sharp at any pixel ratio, painted once per frame and only while visible.

const surfaces = new Set();
let pixelRatio = 1; // screen pixels per page pixel, at the last painting

/** A canvas as wide as its box; paint(context, width, height) draws it, paintOver draws what follows the pointer. */
class Surface {
  constructor(height, paint, paintOver = null) {
    this.paint = paint;
    this.paintOver = paintOver;
    this.canvas = make("canvas", { "aria-hidden": "true" });
    this.over = paintOver ? make("canvas", { class: "over", "aria-hidden": "true" }) : null;
    this.box = make("div", { class: "surface" }, this.canvas, this.over);
    this.isInSight = false;
    this.isDirty = true;
    this.setHeight(height);
    surfaces.add(this);
    sights.observe(this.box);
    sizes.observe(this.box);
  }

  setHeight(height) {
    this.height = height;
    this.box.style.height = `${height}px`;
  }

  /** The size in pixels of the page. */
  size() {
    return { width: this.box.clientWidth, height: this.height };
  }

  /** Paints one of the two canvases. */
  draw(canvas, paint) {
    const width = this.box.clientWidth;
    if (width === 0)
      return;
    pixelRatio = devicePixelRatio || 1;
    const columns = Math.round(width * pixelRatio), rows = Math.round(this.height * pixelRatio);
    if (canvas.width !== columns || canvas.height !== rows) {
      canvas.width = columns;
      canvas.height = rows;
    }
    const context = canvas.getContext("2d");
    context.setTransform(pixelRatio, 0, 0, pixelRatio, 0, 0);
    context.clearRect(0, 0, width, this.height);
    paint(context, width, this.height);
  }

  drawAll() {
    this.isDirty = false;
    this.draw(this.canvas, this.paint);
    this.drawOver();
  }

  drawOver() {
    if (this.over)
      this.draw(this.over, this.paintOver);
  }
}

/** Passes what an observer reports on to the surfaces that still exist. */
function tellSurfaces(entries, tell) {
  const byBox = new Map([...surfaces].map((surface) => [surface.box, surface]));
  for (const entry of entries)
    if (byBox.has(entry.target))
      tell(byBox.get(entry.target), entry);
  paintSoon();
}

const sights = new IntersectionObserver((entries) =>
  tellSurfaces(entries, (surface, entry) => { surface.isInSight = entry.isIntersecting; }), { rootMargin: "50px" });
const sizes = new ResizeObserver((entries) => tellSurfaces(entries, (surface) => { surface.isDirty = true; }));

/** Drops the surfaces within an element that is removed. */
function forgetSurfaces(element) {
  for (const surface of [...surfaces].filter(({ box }) => element.contains(box))) {
    sights.unobserve(surface.box);
    sizes.unobserve(surface.box);
    surfaces.delete(surface);
  }
}

let isPainting = false;

/** Paints in the next frame what is visible and has changed. */
function paintSoon() {
  if (isPainting)
    return;
  isPainting = true;
  requestAnimationFrame(() => {
    isPainting = false;
    for (const surface of surfaces)
      if (surface.isDirty && surface.isInSight)
        surface.drawAll();
    tellState();
  });
}

/** Marks everything as changed, for instance after a zoom. */
function redraw() {
  for (const surface of surfaces)
    surface.isDirty = true;
  showWindow();
  paintSoon();
}

/** Paints all at once, visible or not. */
function paintAll() {
  for (const surface of surfaces)
    surface.drawAll();
}

/** Paints only what follows the pointer. */
function paintOvers() {
  for (const surface of surfaces)
    if (surface.isInSight)
      surface.drawOver();
}

/** A new pixel ratio, for instance on another screen, needs new bitmaps. */
function watchPixelRatio() {
  matchMedia(`(resolution: ${devicePixelRatio}dppx)`).addEventListener("change", () => {
    redraw();
    watchPixelRatio();
  }, { once: true });
}

/** A position rounded to whole screen pixels, so that edges are sharp. */
function snap(x) {
  return Math.round(x * pixelRatio) / pixelRatio;
}
