// SPDX-License-Identifier: Apache-2.0
// Workers: one ranks all candidates and reports progress; one runs searches, and is ended when another question comes.

// Functions whose text makes up the workers: they call only each other.

/** Answers questions of the page by kind: kinds.NAME({engine, problem, number, isNewest, more}). */
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

/** Processes each candidate, and reports progress now and then, for this part of the work. Returns false if another question has
 * come meanwhile. */
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

/** A candidate with the recompute or offload of the problem. */
function lessOf(plan, row, problem) {
  const made = [];
  const keep = (handle) => { made.push(handle); return handle; };
  try {
    const config = keep(plan.config(row.number)), schedule = keep(keepLess(config.generate(row.strategy), config, problem));
    const timeline = keep(schedule.evaluate(config, { earliestOnly: true })), { metrics } = timeline;
    const lacks = Array.from({ length: config.devices }, (_, device) => timeline.deviceMetrics(device))
      .map((device) => device.peak_memory - device.memory_limit);
    const bound = problem.values.mem_limit ? null : row.bound; // with a limit the bound does not hold for recompute and offload
    return { ...row, ...metrics, bound, step_time: metrics.makespan * (row.step_time / row.makespan), overshoot: Math.max(0, ...lacks),
             fits: metrics.limit_device === null ? 1 : 0 };
  } catch (error) {
    return { ...row, reason: error.message };
  } finally {
    for (const handle of made)
      handle.destroy();
  }
}

/** All candidates with recompute or offload, ranked as in a plan; null if another question has come meanwhile. */
async function rankLess(plan, problem, number, isNewest) {
  const before = plan.ranked(), byNumber = new Map(before.map((row) => [row.number, row])), rows = [];
  const isDone = await eachCandidate(plan, number, isNewest, [0.3, 1], (candidate) => {
    const row = byNumber.get(candidate);
    rows.push(row.reason === null ? lessOf(plan, row, problem) : row);
  });
  const rounded = (value) => Number(value.toPrecision(12)); // nearly as in a plan
  const group = (row) => (row.reason !== null ? 2 : row.fits ? 0 : 1), keys = [(row) => group(row), (row) => (group(row) === 1 ? rounded(row.overshoot) : 0),
    (row) => rounded(row.step_time), (row) => rounded(row.peak_memory), (row) => before.indexOf(byNumber.get(row.number))];
  const order = (a, b) => keys.reduce((sign, key) => sign || key(a) - key(b), 0);
  return isDone ? rows.sort(order) : null;
}

/** If no candidate fits, the least limit under which one does: {limit, candidate}, or null. */
function leastLimitOf(plan, rows) {
  if (rows.some((row) => row.fits))
    return null;
  try {
    return plan.leastLimit();
  } catch {
    return null;
  }
}

/** The questions of the live page: the best of each strategy, and searches. */
function liveKinds(library) {
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

  /** A layout with what was found for it, and the values of its pipeline's problem. */
  const layoutRow = (job, layout) => {
    const found = job.price(layout.number), config = job.config(layout.number, found);
    try {
      return { ...layout, found, values: valuesOf(config, Object.keys(library.Quantity).map((name) => name.toLowerCase())) };
    } finally {
      config.destroy();
    }
  };

  /** The best layouts of a model, with what was found for each. */
  const layouts = ({ engine, problem: { model, job: asked }, number }) => {
    const job = engine.job(model, asked);
    try {
      postMessage({ number, count: job.length, rows: job.run().ranked().map((layout) => layoutRow(job, layout)) });
    } finally {
      job.destroy();
    }
  };

  return { rank, search, layouts };
}

let workerLink = null;

/** Makes a worker that answers these kinds of questions. */
function makeWorker(makeKinds) {
  const text = [makeLibrary, configOf, valuesOf, keepLess, answerQuestions, eachCandidate, evaluateAll, lessOf, rankLess,
                leastLimitOf, makeKinds].join("\n");
  workerLink ??= URL.createObjectURL(new Blob([`${text}\nanswerQuestions(${makeKinds.name});`], { type: "text/javascript" }));
  return new Worker(workerLink);
}

/** The bytes of the library, which the page has packed. */
async function bytesOfLibrary() {
  const packed = Uint8Array.from(atob(byId("library").textContent.trim()), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

/** Asks a worker one question at a time; answers to older ones are dropped. */
class Asker {
  constructor(makeKinds, kind, module, hear) {
    Object.assign(this, { makeKinds, kind, module, hear, number: 0, isBusy: false, worker: null });
  }

  ask(problem, more = {}) {
    this.number += 1;
    if (this.isBusy && this.kind !== "rank")
      this.drop(); // a busy worker does not receive messages
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
