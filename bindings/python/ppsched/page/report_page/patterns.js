// SPDX-License-Identifier: Apache-2.0
// Patterns of idle causes. They have no colours, as colours are for ops, and not everybody can distinguish ten more.

// Shape, angle, distance from one to the next in pixels, and thickness.
const PATTERNS = {
  fill: ["lines", 45, 6, 1.6],
  drain: ["lines", 135, 6, 1.6],
  neighbour: ["dots", 0, 5, 1.4],
  imbalance: ["cross", 45, 6, 1.2],
  transfer: ["lines", 90, 4, 1.6],
  link: ["lines", 0, 4, 1.6],
  head_of_line: ["cross", 0, 6, 1.2],
  weights: ["solid", 0, 8, 0],
  reload: ["dots", 45, 8, 2.4],
  calls: ["lines", 45, 10, 4],
  slow_devices: ["cross", 45, 10, 3],
  other: ["lines", 45, 3, 1.4],
};

function patternName(cause) {
  return Object.hasOwn(PATTERNS, cause) ? cause : "other";
}

function makeShapes([shape, , size, thickness]) {
  const line = { class: "hatch", "stroke-width": thickness, x1: 0, x2: 0, y1: 0, y2: size };
  if (shape === "solid")
    return [makeSvg("rect", { class: "blot", width: size, height: size })];
  if (shape === "dots")
    return [makeSvg("circle", { class: "blot", cx: size / 2, cy: size / 2, r: thickness })];
  const across = { ...line, x2: size, y2: 0 };
  return [makeSvg("line", { ...line, x1: size / 2, x2: size / 2 }),
          shape === "cross" ? makeSvg("line", { ...across, y1: size / 2, y2: size / 2 }) : null];
}

function makePattern(cause) {
  const look = PATTERNS[cause], [, angle, size] = look;
  return makeSvg("pattern", { id: `idle-${cause}`, width: size, height: size, patternUnits: "userSpaceOnUse",
                              patternTransform: `rotate(${angle})` }, ...makeShapes(look));
}

/** A box with the pattern of a cause; place: its attributes as an SVG rect. */
function makeCauseBox(cause, place) {
  return makeSvg("rect", { class: "cause", fill: `url(#idle-${patternName(cause)})`, "data-cause": cause, ...place });
}

function makeCauseSwatch(cause) {
  return makeSvg("svg", { class: "swatch", "aria-hidden": "true" }, makeCauseBox(cause, { width: "100%", height: "100%" }));
}

/** The patterns, to which boxes refer. */
function startPatterns() {
  document.body.append(makeSvg("svg", { class: "patterns", width: 0, height: 0, "aria-hidden": "true" },
    makeSvg("defs", {}, ...Object.keys(PATTERNS).map(makePattern))));
}
