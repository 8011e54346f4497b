// SPDX-License-Identifier: Apache-2.0
// The table of candidates, and below it the refused ones, by reason.

// Columns: heading, what its numbers measure, meaning, value for sorting, text. `words`: sorted and aligned as text; `spare`:
// left out if it is the same in every row; `isThere`: left out if that is true for no row.
const stepWords = objective === "span" ? "the span, because devices do not wait for each other at the end" : "the makespan";
const COLUMNS = [
  { key: "rank", heading: "#", value: (c) => c.rank, text: numberOf,
    meaning: "rank among the best of each strategy: first those that fit, by step time, then peak memory; then those over " +
      "their limit. 3.2 is the second best of the third strategy" },
  { key: "strategy", heading: "strategy", meaning: "strategy with its options", value: nameOf, words: true },
  { key: "step", heading: "step time", measure: "time", meaning: `time of an iteration: ${stepWords}`,
    value: (c) => c.step_time },
  { key: "scenarios", heading: "in scenarios", measure: "time", value: (c) => c.scenario_time ?? null, spare: true,
    meaning: "step time over all scenarios, by which candidates are ranked if times vary" },
  { key: "peak", heading: "peak memory", measure: "memory", meaning: "peak memory of the device that needs the most",
    value: (c) => c.peak_memory },
  { key: "gap", heading: "above bound", meaning: "how far the step time is above the lower bound for this placement",
    value: gapOf, text: (c) => percent(gapOf(c), 1), isThere: (c) => isNumber(c.bound) },
  { key: "least", heading: "above least bound", value: (c) => gapOf(c, c.least_bound),
    text: (c) => percent(gapOf(c, c.least_bound), 1), spare: true,
    meaning: "how far the step time is above the least bound of all candidates under this memory limit, for any placement" },
  { key: "status", heading: "status", meaning: "whether all devices are within their limit", value: (c) => c.status,
    words: true },
  { key: "chunks", heading: "V", meaning: "stages per device", value: (c) => c.chunks },
  { key: "microbatches", heading: "M", meaning: "microbatches per iteration", value: (c) => c.microbatches, spare: true },
  { key: "slices", heading: "K", meaning: "slices per microbatch", value: (c) => (c.slices > 1 ? c.slices : null),
    spare: true },
  { key: "limit", heading: "memory limit", measure: "memory", meaning: "memory limit of a device",
    value: (c) => c.memory_limit, spare: true },
  { key: "total", heading: "bubble of total", meaning: "idle time of all devices / (devices * makespan)",
    value: (c) => c.bubble?.of_total, text: (c) => percent(c.bubble?.of_total) },
  { key: "ideal", heading: "bubble of ideal", meaning: "idle time / busy time", value: (c) => c.bubble?.of_ideal,
    text: (c) => percent(c.bubble?.of_ideal) },
  { key: "of_span", heading: "bubble of span", meaning: "1 - mean busy time / span", value: (c) => c.bubble?.of_span,
    text: (c) => percent(c.bubble?.of_span) },
  { key: "device", heading: "on device", meaning: "the device with the peak memory", value: (c) => c.peak_device },
  { key: "overshoot", heading: "lacks", measure: "memory", meaning: "the largest overshoot of a device over its limit",
    value: (c) => c.overshoot || null, spare: true },
  { key: "makespan", heading: "makespan", measure: "time", meaning: "time from 0 to the last end", value: (c) => c.makespan },
  { key: "span", heading: "span", measure: "time",
    meaning: "the longest time from the first start to the last end of one device", value: (c) => c.span },
  { key: "placement", heading: "placement", meaning: "which stages each device has", value: (c) => c.placement, words: true,
    spare: true },
  { key: "runs_on", heading: "runs on", meaning: "runtimes that run this order", words: true,
    value: (c) => (Array.isArray(c.runs_on) ? c.runs_on.join(" ") || "none" : null), spare: true },
  { key: "stages", heading: "S", meaning: "stages of the whole model", value: (c) => c.stages, spare: true },
  { key: "bytes", heading: "bytes sent", measure: "bytes", meaning: "from device to device in an iteration",
    value: (c) => c.bytes, spare: true },
  { key: "transfers", heading: "transfers", meaning: "from device to device in an iteration", value: (c) => c.transfers },
];

let ranked = candidates.filter((candidate) => candidate.status !== "refused");
let refused = candidates.filter((candidate) => candidate.status === "refused");
let winner = ranked.find((candidate) => candidate.fits) ?? null;
const order = { key: "rank", isDown: false };
const unfolded = new Set(); // groups of which all candidates are shown
let wanted = ranked;        // candidates that the filters leave
const rows = new Map(); // by candidate: its row, or its item in the list of refused ones

function textIn(column, candidate) {
  if (column.text)
    return column.text(candidate);
  const value = column.value(candidate);
  return column.words ? value ?? DASH : figure(value);
}

/** The columns without those that are the same in every row. */
function usefulColumns() {
  const isUseful = (column) => (!column.spare || new Set(ranked.map(column.value)).size > 1)
    && (!column.isThere || ranked.some(column.isThere));
  const isStep = ({ key }) => key === objective && ranked.every((candidate) => candidate[key] === candidate.step_time);
  return COLUMNS.filter((column) => isUseful(column) && !isStep(column));
}

function constantText(columns) {
  const parts = COLUMNS.filter((column) => column.spare && !columns.includes(column))
    .map((column) => [column, ranked[0] && column.value(ranked[0])])
    .filter(([, value]) => value !== null && value !== undefined && value !== 0)
    .map(([{ heading, measure }, value]) => `${heading} ${isNumber(value) ? figureIn(measure, value) : value}`);
  return parts.length > 0 ? `Equal for all candidates: ${parts.join(", ")}.` : "";
}

// --- rows ---

function makeBadge(candidate) {
  if (candidate === winner)
    return make("span", { class: "badge good" }, "\u2605 best");
  const classes = candidate.fits ? "badge good" : "badge bad";
  return make("span", { class: classes, title: candidate.reason }, candidate.status ?? DASH);
}

function makeName(candidate) {
  const options = optionsText(candidate);
  const faint = make("span", { class: "options" }, options && ` ${options}`);
  return make("th", { scope: "row" }, candidate.strategy ?? DASH, faint, makeFold());
}

function makeCell(column, candidate) {
  if (column.key === "strategy")
    return makeName(candidate);
  if (column.key === "status")
    return make("td", {}, makeBadge(candidate));
  return make("td", { class: column.words ? null : "number" }, textIn(column, candidate));
}

/** The checkbox of a candidate that has a timeline in the page. */
function makePick(candidate) {
  if (!isShown(candidate.rank))
    return make("td", {});
  const box = make("input", { type: "checkbox", "aria-label": `Draw ${numberOf(candidate)} ${nameOf(candidate)}` });
  box.addEventListener("change", () => choose(candidate.rank, box.checked));
  return make("td", {}, box);
}

function makeRow(candidate, columns) {
  const row = make("tr", {}, makePick(candidate), ...columns.map((column) => makeCell(column, candidate)));
  row.classList.toggle("winner", candidate === winner);
  row.classList.toggle("over", !candidate.fits);
  if (isShown(candidate.rank)) {
    row.classList.add("pickable");
    row.addEventListener("click", (event) => {
      if (!event.target.closest("input, button") && !getSelection().toString())
        choose(candidate.rank, !chosen.has(candidate.rank));
    });
  }
  return row;
}

/** Updates checkboxes and colours by what is chosen. */
function markChosen() {
  for (const [candidate, row] of rows) {
    const box = row.querySelector("input");
    if (box)
      box.checked = chosen.has(candidate.rank);
    row.classList.toggle("chosen", chosen.has(candidate.rank));
  }
}

// --- order ---

function compare(column, a, b) {
  const [x, y] = [column.value(a) ?? null, column.value(b) ?? null];
  if (x === null || y === null)
    return (x === null) - (y === null); // missing values come last in both directions
  const sign = order.isDown ? -1 : 1;
  return sign * (column.words ? String(x).localeCompare(String(y)) : x - y) || a.rank - b.rank;
}

function sorted(some) {
  const column = COLUMNS.find(({ key }) => key === order.key);
  return [...some].sort((a, b) => compare(column, a, b));
}

function sortBy(column, table) {
  order.isDown = order.key === column.key && !order.isDown;
  order.key = column.key;
  showRows();
  for (const heading of table.tHead.rows[0].cells)
    if (heading.dataset.key === column.key)
      heading.setAttribute("aria-sort", order.isDown ? "descending" : "ascending");
    else
      heading.removeAttribute("aria-sort");
  announce(`Sorted by ${column.heading}, ${order.isDown ? "descending" : "ascending"}`);
}

function makeHeading(column, table) {
  const text = headingIn(column.measure, column.heading);
  const button = make("button", { type: "button", title: column.meaning }, text);
  button.addEventListener("click", () => sortBy(column, table));
  const classes = (column.words ? "" : "number ") + (column.key === "strategy" ? "pinned" : "");
  return make("th", { scope: "col", class: classes.trim() || null, "data-key": column.key,
                      "aria-sort": column.key === order.key ? "ascending" : null },
              button, make("span", { class: "on-paper" }, text)); // heads with buttons are not repeated on each printed page
}

// --- folding: only the best of each strategy is shown ---

function makeFold() {
  return make("button", { type: "button", class: "fold", hidden: "" });
}

function setFold(candidate, key, others) {
  const button = rows.get(candidate).querySelector(".fold"), isOpen = unfolded.has(key);
  button.hidden = others === 0;
  button.textContent = isOpen ? "fewer" : `${others} more`;
  button.setAttribute("aria-expanded", isOpen);
  button.setAttribute("aria-label", `${isOpen ? "fewer" : `${others} more`} of ${candidate.strategy}`);
  button.onclick = () => {
    if (!unfolded.delete(key))
      unfolded.add(key);
    showRows();
  };
}

/** The best candidate of a group that the filters leave, followed by the others if the group is unfolded. */
function rowsOf(key, [best, ...others]) {
  setFold(best, key, others.length);
  rows.get(best).classList.remove("folded");
  for (const other of others) {
    rows.get(other).classList.add("folded");
    rows.get(other).querySelector(".fold").hidden = true;
  }
  return [best, ...(unfolded.has(key) ? sorted(others) : [])];
}

function isUnfolded(groups) {
  return [...groups].every(([key, group]) => group.length === 1 || unfolded.has(key));
}

function showRows() {
  const groups = groupsOf(wanted), byBest = new Map([...groups].map(([key, group]) => [group[0], key]));
  const shown = sorted(byBest.keys()).flatMap((best) => rowsOf(byBest.get(best), groups.get(byBest.get(best))));
  document.querySelector("#ranked tbody")?.replaceChildren(...shown.map((candidate) => rows.get(candidate)));
  byId("unfold").textContent = isUnfolded(groups) ? "Fold all" : "Unfold all";
  byId("unfold").hidden = groups.size === wanted.length;
  tellState();
}

/** Unfolds all groups, or none. */
function unfoldAll() {
  const groups = groupsOf(wanted), wereUnfolded = isUnfolded(groups);
  for (const key of groups.keys())
    if (wereUnfolded)
      unfolded.delete(key);
    else
      unfolded.add(key);
  showRows();
}

// --- the table, and the list ---

function makeRanked(columns) {
  const table = make("table", {}, make("caption", { class: "unseen" }, "Candidates by rank; click a heading to sort"));
  const pick = make("th", { scope: "col" }, make("span", { class: "unseen" }, "draw"));
  table.append(make("thead", {}, make("tr", {}, pick, ...columns.map((column) => makeHeading(column, table)))));
  for (const candidate of ranked)
    rows.set(candidate, makeRow(candidate, columns));
  table.append(make("tbody", {}));
  return table;
}

/** A reason without the name of the strategy, with which the library begins it. */
function reasonOf(candidate) {
  const reason = candidate.reason ?? "no reason given", name = `${candidate.strategy}: `;
  return reason.startsWith(name) ? reason.slice(name.length) : reason;
}

function makeRefusedItem(candidate) {
  return make("li", {}, make("strong", {}, candidate.strategy ?? DASH),
    [` V ${candidate.chunks ?? DASH}, M ${candidate.microbatches ?? DASH}`, optionsText(candidate)].filter(Boolean).join(", "));
}

/** A reason, and all candidates that were refused for it. */
function makeRefused() {
  const groups = new Map();
  for (const candidate of refused) {
    const item = makeRefusedItem(candidate), reason = reasonOf(candidate);
    rows.set(candidate, item);
    if (!groups.has(reason))
      groups.set(reason, make("ul", { class: "items" }));
    groups.get(reason).append(item);
  }
  return [...groups].map(([reason, items]) => make("div", { class: "reason" }, make("p", {}, reason), items));
}

// --- filters ---

function isWanted(candidate, strategy, status) {
  const statusFits = status === "" || status === candidate.status || (status === "timeline" && isShown(candidate.rank));
  return statusFits && (strategy === "" || candidate.strategy === strategy);
}

/** Applies the filters. */
function filterRows() {
  const strategy = byId("filter-strategy").value, status = byId("filter-status").value;
  const show = (candidate) => !(rows.get(candidate).hidden = !isWanted(candidate, strategy, status));
  wanted = ranked.filter(show);
  const shownRefused = refused.filter(show).length;
  byId("refused-box").hidden = shownRefused === 0;
  for (const group of byId("refused").children)
    group.hidden = [...group.querySelectorAll("li")].every((item) => item.hidden);
  byId("ranked").hidden = wanted.length === 0;
  byId("shown").textContent = `${wanted.length + shownRefused} of ${counted(candidates.length, "candidate")}`;
  showRows();
}

function startFilters() {
  const strategies = [...new Set(candidates.map((candidate) => candidate.strategy ?? ""))].filter(Boolean).sort();
  byId("filter-strategy").append(...strategies.map((strategy) => make("option", { value: strategy }, strategy)));
  for (const id of ["filter-strategy", "filter-status"])
    byId(id).addEventListener("change", filterRows);
  byId("unfold").addEventListener("click", unfoldAll);
}

function drawableText() {
  if (makeTimeline !== null)
    return "Click boxes or rows to choose the timelines that are drawn.";
  const drawable = counted(rawTimelines.size, "candidate has its", "candidates have their");
  return rawTimelines.size > 0 ? `${drawable} timeline in this page; click boxes or rows to choose.` : "";
}

/** Fills both lists with the present candidates. */
function showTables() {
  const columns = usefulColumns();
  rows.clear();
  byId("ranked").replaceChildren(...(ranked.length > 0 ? [makeRanked(columns)] : []));
  byId("refused").replaceChildren(...makeRefused());
  byId("constant").textContent = constantText(columns);
  byId("which").textContent = drawableText();
}

/** Replaces the candidates and their ranks by others. */
function takeCandidates(others) {
  candidates = others;
  ranked = candidates.filter((candidate) => candidate.status !== "refused");
  refused = candidates.filter((candidate) => candidate.status === "refused");
  winner = ranked.find((candidate) => candidate.fits) ?? null;
  candidateByRank.clear();
  for (const candidate of candidates)
    candidateByRank.set(candidate.rank, candidate);
  numbers.clear();
  numberCandidates();
}

function startTables() {
  showTables();
  byId("meanings").append(...COLUMNS.flatMap((column) => [make("dt", {}, column.heading), make("dd", {}, column.meaning)]));
  startFilters();
  filterRows();
}
