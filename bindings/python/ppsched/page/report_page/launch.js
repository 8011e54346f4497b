// SPDX-License-Identifier: Apache-2.0
// How to start the chosen candidates: one line per runtime to copy, with the file that it names, and the command that builds
// the schedule again.

/** Copies the selection, as old browsers and pages from files do. */
function copySelected(text) {
  const area = make("textarea", { readonly: true, class: "unseen", "aria-hidden": "true" });
  area.value = text;
  document.body.append(area);
  area.select();
  try {
    return document.execCommand("copy");
  } catch {
    return false;
  } finally {
    area.remove();
  }
}

/** Copies a text in either way; returns whether that worked. */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copySelected(text);
  }
}

/** If copying does not work, the line stays selected for Ctrl+C. */
async function copyLine(button, code) {
  const isCopied = await copy(code.textContent);
  button.focus({ preventScroll: true });
  if (!isCopied)
    getSelection().selectAllChildren(code);
  const words = isCopied ? "Copied" : "Selected: press Ctrl+C";
  button.textContent = words;
  announce(words);
  setTimeout(() => { button.textContent = "Copy"; }, 3000);
}

/** A line that is broken only between words. */
function makeCode(line) {
  return make("code", {}, ...line.split(" ").flatMap((word, i) => [i > 0 ? " " : "", make("span", {}, word)]));
}

/** A line with its button; `what` is a unique name of what the button copies. */
function makeCopied(line, what) {
  const code = makeCode(line);
  const button = makeButton("Copy", `Copy ${what}`, () => copyLine(button, code));
  return make("div", { class: "line" }, code, button);
}

function makeLine(runtime, line, rank) {
  const candidate = candidateOf(rank), of = `of ${numberOf(candidate)} ${nameOf(candidate)}`;
  return [make("h3", {}, runtime), makeCopied(line, `the line for ${runtime} ${of}`),
          makeNamedSave(rank, line, `for ${runtime} ${of}`)].filter(Boolean);
}

function makeReason(runtime, reason) {
  return [make("h3", {}, runtime), make("p", { class: "muted" }, reason ?? "This runtime cannot run the schedule.")];
}

/** [[runtime, {line, reason}]] of a candidate, those with a line first. */
function launchOf(rank) {
  const launch = rawTimeline(rank)?.launch;
  const entries = Object.entries(launch && typeof launch === "object" ? launch : {});
  return entries.sort(([, a], [, b]) => (typeof b.line === "string") - (typeof a.line === "string"));
}

function makeLaunchPanel(rank) {
  const element = make("figure", {}, makeCaption(rank, sizesText(candidateOf(rank))), ...makeDeviceOrder(rank));
  for (const [runtime, { line, reason, ranks }] of launchOf(rank)) {
    element.append(...(typeof line === "string" ? makeLine(runtime, line, rank) : makeReason(runtime, reason)));
    if (typeof line === "string" && typeof ranks === "string")
      element.append(make("p", { class: "muted" }, ranks));
  }
  const order = launchOf(rank).length > 0 ? makeOrder(rank) : null;
  if (order)
    element.append(order);
  const command = rawTimeline(rank)?.command;
  if (typeof command === "string")
    element.append(...makeLine("ppsched, to build the schedule again", command, rank));
  if (element.children.length === 1)
    element.append(make("p", { class: "muted" }, "No launch lines for this candidate."));
  return { element, update() {} };
}

/** Shows the section if any chosen candidate has a line or a reason. */
function showLaunchSection() {
  byId("launch").hidden = !chosenRanks().some((rank) => launchOf(rank).length > 0 || rawTimeline(rank)?.command);
}

function startLaunch() {
  addPart(byId("launch-panels"), makeLaunchPanel);
}
