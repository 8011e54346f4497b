// SPDX-License-Identifier: Apache-2.0
// Workers: one ranks all candidates and tells how far it is; one runs searches, and is ended when another question comes.

const NO_DEVICE = 0xFFFFFFFF; // PPSCHED_NONE

// Functions that workers are made of, by their text: they call each other and nothing else.

/** Answers the questions of the page, by their kind: kinds.NAME({engine, problem, number, isNewest, more}). */
function answerQuestions(makeKinds) {
  const library = makeLibrary(), kinds = makeKinds(library);
  let engine = null, newest = 0;
  onmessage = async ({ data: { kind, module, problem, number, ...more } }) => {
    newest = number;
    try {
      engine ??= await library.load(module);
      if (newest === number)
        await kinds[kind]({ engine, problem, number, isNewest: () => newest === number, ...more });
    } catch (error) {
      postMessage({ number, error: error.message });
    }
  };
}

/** Does something with each candidate, and tells now and then how far it is, of that part of the work; false where another
 * question has come meanwhile. */
async function eachCandidate(plan, number, isNewest, [from, to], act) {
  let told = performance.now();
  for (let candidate = 0; candidate < plan.length; candidate += 1) {
    act(candidate);
    if (performance.now() - told < 40)
      continue;
    told = performance.now();
    postMessage({ number, share: from + (to - from) * (candidate + 1) / plan.length });
    await new Promise((resolve) => setTimeout(resolve));
    if (!isNewest())
      return false;
  }
  return true;
}

/** Evaluates all candidates. */
async function evaluateAll(plan, number, isNewest, part = [0, 1]) {
  const isDone = await eachCandidate(plan, number, isNewest, part, (candidate) => plan.evaluate(candidate));
  if (isDone)
    plan.run();
  return isDone;
}

/** A candidate that recomputes or offloads as the problem says. */
function lessOf(plan, row, problem) {
  const made = [];
  const keep = (handle) => { made.push(handle); return handle; };
  try {
    const config = keep(plan.config(row.number)), schedule = keep(keepLess(config.generate(row.strategy), config, problem));
    const timeline = keep(schedule.evaluate(config, { earliestOnly: true })), { metrics } = timeline;
    const lacks = Array.from({ length: config.devices }, (_, device) => timeline.deviceMetrics(device))
      .map((device) => device.peak_memory - device.memory_limit);
    const bound = problem.values.mem_limit ? null : row.bound; // that of a limit, which these may hold in other ways
    return { ...row, ...metrics, bound, step_time: metrics.makespan * (row.step_time / row.makespan), overshoot: Math.max(0, ...lacks),
             fits: metrics.limit_device === NO_DEVICE ? 1 : 0 };
  } catch (error) {
    return { ...row, reason: error.message };
  } finally {
    for (const handle of made)
      handle.destroy();
  }
}

/** All candidates with what is kept less, ranked as a plan ranks; null where another question has come meanwhile. */
async function rankLess(plan, problem, number, isNewest) {
  const before = plan.ranked(), byNumber = new Map(before.map((row) => [row.number, row])), rows = [];
  const isDone = await eachCandidate(plan, number, isNewest, [0.3, 1], (candidate) => {
    const row = byNumber.get(candidate);
    rows.push(row.reason === null ? lessOf(plan, row, problem) : row);
  });
  const rounded = (value) => Number(value.toPrecision(12)); // about as a plan does
  const group = (row) => (row.reason !== null ? 2 : row.fits ? 0 : 1), keys = [(row) => group(row), (row) => (group(row) === 1 ? rounded(row.overshoot) : 0),
    (row) => rounded(row.step_time), (row) => rounded(row.peak_memory), (row) => before.indexOf(byNumber.get(row.number))];
  const order = (a, b) => keys.reduce((sign, key) => sign || key(a) - key(b), 0);
  return isDone ? rows.sort(order) : null;
}

/** The least limit under which a candidate fits, where none does: {limit, candidate}, or null. */
function leastLimitOf(plan, rows) {
  if (rows.some((row) => row.fits))
    return null;
  try {
    return plan.leastLimit();
  } catch {
    return null;
  }
}

/** What the live page asks: the best of each strategy, and searches. */
function liveKinds() {
  /** The best of each strategy. */
  const rowsOf = (plan, ranked) => {
    const seen = new Set(), rows = [];
    let refused = 0;
    for (const row of ranked) {
      refused += row.reason === null ? 0 : 1;
      if (row.reason !== null || seen.has(row.strategy))
        continue;
      seen.add(row.strategy);
      rows.push(row);
    }
    return { rows, candidates: plan.length, refused };
  };

  const rank = async ({ engine, problem, number, isNewest }) => {
    const config = configOf(engine, { ...problem, options: {}, placement: "default" }), plan = config.plan();
    try {
      const keepsAll = !problem.recompute && !problem.offload;
      if (!await evaluateAll(plan, number, isNewest, [0, keepsAll ? 1 : 0.3]))
        return;
      const ranked = keepsAll ? plan.ranked() : await rankLess(plan, problem, number, isNewest);
      if (ranked === null)
        return;
      const answer = rowsOf(plan, ranked);
      postMessage({ number, ...answer, least: keepsAll ? leastLimitOf(plan, answer.rows)?.limit : undefined });
    } finally {
      plan.destroy();
      config.destroy();
    }
  };

  const search = ({ engine, problem, number }) => {
    const config = configOf(engine, problem);
    let told = performance.now();
    config.onProgress(({ share, best }) => {
      if (performance.now() - told < 100)
        return;
      told = performance.now();
      postMessage({ number, share, best });
    });
    const schedule = config.generate(problem.strategy);
    postMessage({ number, schedule: schedule.export("json") });
    schedule.destroy();
    config.destroy();
  };

  return { rank, search };
}

let workerLink = null;

/** A worker that answers the questions of these kinds. */
function makeWorker(makeKinds) {
  const text = [`const NO_DEVICE = ${NO_DEVICE};`, makeLibrary, configOf, keepLess, answerQuestions, eachCandidate, evaluateAll, lessOf, rankLess,
                leastLimitOf, makeKinds].join("\n");
  workerLink ??= URL.createObjectURL(new Blob([`${text}\nanswerQuestions(${makeKinds.name});`], { type: "text/javascript" }));
  return new Worker(workerLink);
}

/** The bytes of the library, which the page has packed. */
async function bytesOfLibrary() {
  const packed = Uint8Array.from(atob(byId("library").textContent.trim()), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

/** Asks one question at a time of a worker; an answer to an older one is dropped. */
class Asker {
  constructor(makeKinds, kind, module, hear) {
    Object.assign(this, { makeKinds, kind, module, hear, number: 0, isBusy: false, worker: null });
  }

  ask(problem, more = {}) {
    this.number += 1;
    if (this.isBusy && this.kind === "search")
      this.drop(); // it would not hear us
    if (!this.worker) {
      this.worker = makeWorker(this.makeKinds);
      this.worker.onmessage = ({ data: answer }) => {
        if (answer.number !== this.number)
          return;
        this.isBusy = answer.share !== undefined;
        this.hear(answer);
      };
      this.worker.onerror = (event) => this.hear({ error: event.message ?? "the worker did not start" });
    }
    this.isBusy = true;
    this.worker.postMessage({ kind: this.kind, module: this.module, problem, number: this.number, ...more });
  }

  drop() {
    this.worker?.terminate();
    this.worker = null;
    this.isBusy = false;
  }
}
