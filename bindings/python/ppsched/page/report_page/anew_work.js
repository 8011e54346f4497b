// SPDX-License-Identifier: Apache-2.0
// The worker of a report that ranks again: it makes candidates and timelines in the form of the report.

/** Answers a report's questions; makeLibrary and the functions of work.js come before it. */
function reportKinds({ Runtime }) {
  const OVERLAPPED_FLAG = 1;
  let plan = null, planned = null; // the plan, and the JSON of its problem

  /** A candidate as in `compare --json`. */
  const rowOf = (row, given) => {
    const isRefused = row.status !== "ok", { bubble_of_total: ofTotal, bubble_of_ideal: ofIdeal, bubble_of_span: ofSpan } = row;
    const status = isRefused ? "refused" : row.fits ? "fits" : "over limit";
    const lack = `device ${row.limit_device} is over its limit; the largest overshoot of a device is `
      + Number(row.overshoot.toPrecision(6));
    const auto = { placement: row.placement, objective: given.objective, ...(given.effort ? { effort: given.effort } : {}) };
    const { rank, number, strategy, placement, chunks, stages, microbatches, slices } = row;
    const sizes = { rank, number, strategy, placement, chunks, stages, microbatches, slices, status, fits: status === "fits",
                    options: strategy === "auto" ? auto : row.group_size ? { group_size: row.group_size } : {},
                    memory_limit: Number.isFinite(row.memory_limit) ? row.memory_limit : null,
                    reason: isRefused ? row.reason : row.fits ? null : lack };
    if (isRefused)
      return sizes;
    const { step_time, makespan, span, peak_memory, peak_device, overshoot, bound, bytes, transfers, imbalance } = row;
    return { ...sizes, step_time, makespan, span, peak_memory, peak_device, overshoot, bound, bytes, transfers, imbalance,
             bubble: { of_total: ofTotal, of_ideal: ofIdeal, of_span: ofSpan } };
  };

  /** Adds to each candidate's own bound the least bound of all candidates under the same limit. */
  const withLeastBounds = (rows) => {
    const least = new Map();
    for (const { bound, memory_limit: limit } of rows)
      if (bound > 0)
        least.set(limit, Math.min(bound, least.get(limit) ?? Infinity));
    return rows.map((row) => (row.bound === undefined ? row : { ...row, least_bound: least.get(row.memory_limit) ?? null }));
  };

  /** The critical path as pairs of a device and a position in its queue, where an overlapped pair counts as one. */
  const criticalOf = (schedule, timeline) => {
    const places = Array.from({ length: schedule.devices }, (_, device) => {
      let place = -1, isSecond = false;
      return Array.from(schedule.ops(device), ({ flags }) => {
        place += isSecond ? 0 : 1;
        isSecond = Boolean(flags & OVERLAPPED_FLAG);
        return place;
      });
    });
    return timeline.criticalPath().map(({ device, position }) => [device, places[device][position]]);
  };

  const launchOf = (schedule) => Object.fromEntries(Object.keys(Runtime).map((runtime) => {
    try {
      return [runtime.toLowerCase(), { line: schedule.launchArguments(runtime), reason: null }];
    } catch (error) {
      return [runtime.toLowerCase(), { line: null, reason: error.message }];
    }
  }));

  /** A timeline in the form of the report's data. */
  const drawnOf = ({ rank, number, strategy }) => {
    const config = plan.config(number), schedule = config.generate(strategy), timeline = schedule.evaluate(config);
    const devices = Array.from({ length: schedule.devices }, (_, device) => device);
    const limits = devices.map((device) => timeline.deviceMetrics(device).memory_limit);
    const raw = { rank, schedule: JSON.parse(schedule.export("json", timeline)),
                  memory: devices.map((device) => timeline.memoryCurve(device)),
                  memory_limits: limits.map((limit) => (Number.isFinite(limit) ? limit : null)),
                  critical: criticalOf(schedule, timeline), slack: { devices: timeline.deviceSlack() },
                  launch: launchOf(schedule) };
    for (const handle of [timeline, schedule, config])
      handle.destroy();
    return raw;
  };

  /** Lists and evaluates the candidates, unless that was done for the same problem. */
  const prepare = async ({ engine, problem, number, isNewest }) => {
    if (planned === JSON.stringify(problem))
      return true;
    plan?.destroy();
    planned = plan = null;
    const config = configOf(engine, problem);
    try {
      plan = config.plan(problem.plan);
    } finally {
      config.destroy();
    }
    if (!await evaluateAll(plan, number, isNewest))
      return false;
    planned = JSON.stringify(problem);
    return true;
  };

  const candidatesOf = (problem) => withLeastBounds(plan.ranked().map((row) => rowOf(row, problem.plan)));

  /** The best candidate, and the baseline. */
  const firstOf = (rows, { strategy, chunks }) => {
    const able = rows.filter((row) => row.status !== "refused");
    const base = able.find((row) => row.strategy === strategy && (chunks === null || row.chunks === chunks));
    return { base: base?.rank ?? null, first: [...new Set([able[0], base ?? able[1]].filter(Boolean))] };
  };

  return {
    rank: async (asked) => {
      const { problem, number } = asked;
      if (!await prepare(asked))
        return;
      const candidates = candidatesOf(problem), { base, first } = firstOf(candidates, problem.baseline);
      const least = leastLimitOf(plan, candidates), closest = candidates.find((row) => row.number === least?.candidate);
      postMessage({ number, candidates, baseline: base, timelines: first.map(drawnOf),
                    least_limit: least && { limit: least.limit, rank: closest?.rank } });
    },
    draw: async (asked) => {
      if (await prepare(asked))
        postMessage({ number: asked.number, drawn: drawnOf(candidatesOf(asked.problem)[asked.rank]) });
    },
  };
}
