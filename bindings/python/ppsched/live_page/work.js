// SPDX-License-Identifier: Apache-2.0
// Workers: one ranks all candidates and tells how far it is; one runs searches, and is ended when another question comes.

/** What a worker does; it has makeLibrary and problem.js before it. */
function runWorker() {
  const { load, Quantity } = makeLibrary();
  let engine = null, newest = 0;

  const breathe = () => new Promise((resolve) => setTimeout(resolve));

  const valuesOf = (config) => Object.fromEntries(Object.keys(Quantity).map((name) => [name.toLowerCase(), config.get(name)])
    .filter(([, values]) => values.length > 0));

  /** The best of each strategy, with what it takes to draw it. */
  const rowsOf = (plan) => {
    const seen = new Set(), rows = [];
    let refused = 0;
    for (const row of plan.ranked()) {
      refused += row.reason === null ? 0 : 1;
      if (row.reason !== null || seen.has(row.strategy))
        continue;
      seen.add(row.strategy);
      const config = plan.config(row.number);
      rows.push({ ...row, values: valuesOf(config) });
      config.destroy();
    }
    return { rows, candidates: plan.length, refused };
  };

  const rank = async (problem, number) => {
    const config = configOf(engine, { ...problem, options: {}, placement: "default" }), plan = config.plan();
    try {
      let told = performance.now();
      for (let candidate = 0; candidate < plan.length; candidate += 1) {
        plan.evaluate(candidate);
        if (performance.now() - told < 40)
          continue;
        told = performance.now();
        postMessage({ number, share: (candidate + 1) / plan.length });
        await breathe();
        if (number !== newest)
          return;
      }
      const answer = rowsOf(plan.run());
      if (answer.rows.every((row) => !row.fits))
        try {
          answer.least = plan.leastLimit().limit;
        } catch { /* there is none */ }
      postMessage({ number, ...answer });
    } finally {
      plan.destroy();
      config.destroy();
    }
  };

  const search = (problem, number) => {
    const config = configOf(engine, problem), schedule = config.generate(problem.strategy);
    postMessage({ number, schedule: schedule.export("json") });
    schedule.destroy();
    config.destroy();
  };

  onmessage = async ({ data: { kind, module, problem, number } }) => {
    newest = number;
    try {
      engine ??= await load(module);
      if (newest === number)
        await (kind === "rank" ? rank : search)(problem, number);
    } catch (error) {
      postMessage({ number, error: error.message });
    }
  };
}

let workerLink = null;

function makeWorker() {
  const text = [makeLibrary, plainProblem, configOf, runWorker].join("\n");
  workerLink ??= URL.createObjectURL(new Blob([`${text}\nrunWorker();`], { type: "text/javascript" }));
  return new Worker(workerLink);
}

/** Asks one question at a time of a worker; an answer to an older one is dropped. */
class Asker {
  constructor(kind, module, hear) {
    Object.assign(this, { kind, module, hear, number: 0, isBusy: false, worker: null });
  }

  ask(problem) {
    this.number += 1;
    if (this.isBusy && this.kind === "search")
      this.drop(); // it would not hear us
    if (!this.worker) {
      this.worker = makeWorker();
      this.worker.onmessage = ({ data: answer }) => {
        if (answer.number !== this.number)
          return;
        this.isBusy = answer.share !== undefined;
        this.hear(answer);
      };
      this.worker.onerror = (event) => this.hear({ error: event.message ?? "the worker did not start" });
    }
    this.isBusy = true;
    this.worker.postMessage({ kind: this.kind, module: this.module, problem, number: this.number });
  }

  drop() {
    this.worker?.terminate();
    this.worker = null;
    this.isBusy = false;
  }
}
