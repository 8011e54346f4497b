// SPDX-License-Identifier: Apache-2.0
// The problem of the page: all its numbers, and the command that made the page, so that anyone can check and repeat it.

const question = data.question && typeof data.question === "object" ? data.question : {};
const MOST_VALUES = 16; // values of a list that are written out

const MEASURES = [[/^mem_/, "memory"], [/_times?$|_latency$/, "time"], [/_bytes$/, "bytes"]];

function measureOf(name) {
  return MEASURES.find(([pattern]) => pattern.test(name))?.[1] ?? null;
}

/** Joins equal neighbours: "1 \u00d7 7, 2.4". */
function runsText(name, values) {
  const runs = [];
  for (const value of values)
    if (runs.length > 0 && runs.at(-1).value === value)
      runs.at(-1).count += 1;
    else
      runs.push({ value, count: 1 });
  const word = ({ value, count }) => (value === null ? "none" : figure(value)) + (count > 1 ? ` \u00d7 ${count}` : "");
  const more = runs.length > MOST_VALUES ? `, and ${runs.length - MOST_VALUES} more` : "";
  const unit = units[measureOf(name)];
  return runs.slice(0, MOST_VALUES).map(word).join(", ") + more + (unit ? ` ${unit}` : "");
}

function numberRow({ name, meaning, values, default: usual }) {
  const text = list(values).length > 0 ? runsText(name, list(values)) : `${usual} (default)`;
  return make("tr", {}, make("th", { scope: "row" }, String(name)), make("td", {}, text),
              make("td", { class: "muted" }, meaning ?? ""));
}

function layerRow(row) {
  const costs = Object.entries(row).filter(([name, value]) => name !== "name" && name !== "count" && isNumber(value));
  const text = costs.map(([name, value]) => `${name} ${figureIn(measureOf(name), value)}`).join(", ");
  return make("tr", {}, make("th", { scope: "row" }, `layer ${row.name}`), make("td", {}, text),
              make("td", { class: "muted" }, `\u00d7 ${row.count ?? 1}`));
}

function settingRows() {
  const { iterations, slices, placement, split_backward: splits, forward_only: forwards } = question;
  const { graph, weight_versions: versions, sender_waits: waits, options, profile } = question;
  const rows = [["placement", Array.isArray(placement) ? placement.join(" ") : placement],
                ...Object.entries(graph ?? {}).map(([name, value]) => [name, JSON.stringify(value)]),
                ["iterations", iterations], ["slices per microbatch", slices > 1 ? slices : null],
                ["backwards", forwards ? "none" : splits === false ? "whole: no strategy may split them" : null],
                ["senders wait", waits === "like_kind" ? "before the next op of the same kind and stage" : null],
                ["weight versions", versions || null],
                ["options", Object.entries(options ?? {}).map(([name, value]) => `${name} ${value}`).join(", ")],
                ["measured times", profile && `${list(profile.files).join(", ")}: ${profile.statistic} of the samples` +
                  (profile.warmup ? `, without ${profile.warmup} warm-up iterations` : "")],
                ["units", Object.entries(units).filter(([, unit]) => unit).map((pair) => pair.join(" in ")).join(", ")],
                ["made by", question.version && `ppsched ${question.version}`]];
  return rows.filter(([, value]) => value !== null && value !== undefined && value !== "")
    .map(([name, value]) => make("tr", {}, make("th", { scope: "row" }, name), make("td", { colspan: 2 }, String(value))));
}

function startQuestion() {
  const numberRows = list(question.numbers).map(numberRow), layerRows = list(question.layers).map(layerRow);
  byId("asked").append(...numberRows, ...layerRows, ...settingRows());
  if (typeof question.command === "string")
    byId("made-by").append(make("h3", {}, "This page again"), makeCopied(question.command, "the command that made this page"));
  byId("question").hidden = byId("asked").children.length === 0;
}
