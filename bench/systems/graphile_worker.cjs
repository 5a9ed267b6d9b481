// Graphile Worker: PostgreSQL job queue for Node.js (npm `graphile-worker`), with its local queue.
// Speaks the protocol that bench/program.py describes.
"use strict";

const { Logger, makeWorkerUtils, run, runMigrations } = require("graphile-worker");
const { version } = require("graphile-worker/package.json");
const { createInterface } = require("node:readline");

const CONCURRENCY = 24;
const LOCAL_QUEUE_SIZE = 500;
const WARM_UP_SUBMISSIONS = 20;

const quiet = new Logger(() => (level, message) => {
  if (level === "error" || level === "warning") process.stderr.write(`${message}\n`);
});

function say(event, facts = {}) {
  process.stdout.write(`${JSON.stringify({ event, ...facts })}\n`);
}

function nowNs() {
  return Number(process.hrtime.bigint());
}

function closed(stream) {
  return new Promise((resolve) => {
    stream.resume();
    stream.on("end", resolve);
  });
}

function describe() {
  say("described", {
    name: "Graphile Worker",
    version,
    workloads: ["drain-one-stage", "submit-bulk", "submit-single", "latency"],
    settings: {
      runtime: `Node.js ${process.versions.node}`,
      concurrentJobs: CONCURRENCY,
      maxPoolSize: CONCURRENCY + 1,
      "localQueue.size": LOCAL_QUEUE_SIZE,
      completeJobBatchDelay: 0,
      failJobBatchDelay: 0,
      "finished jobs": "are deleted",
    },
    unfinished: "select count(*) from graphile_worker._private_jobs",
    finished: null,
  });
}

async function prepare({ url }) {
  await runMigrations({ connectionString: url, logger: quiet });
  say("prepared");
}

function submitter(url) {
  return makeWorkerUtils({ connectionString: url, maxPoolSize: 1, logger: quiet });
}

async function submit({ url, jobs, per_call: perCall }) {
  const utils = await submitter(url);
  const payloads = Array.from({ length: jobs }, (_, n) => ({ n }));
  let started;
  if (perCall === 1) {
    for (let n = 0; n < WARM_UP_SUBMISSIONS; n += 1) await utils.addJob("job", { n });
    started = process.hrtime.bigint();
    for (const payload of payloads) await utils.addJob("job", payload);
  } else {
    const specs = payloads.map((payload) => ({ identifier: "job", payload }));
    started = process.hrtime.bigint();
    for (let from = 0; from < specs.length; from += perCall) {
      await utils.addJobs(specs.slice(from, from + perCall));
    }
  }
  const seconds = Number(process.hrtime.bigint() - started) / 1e9;
  await utils.release();
  say("submitted", { seconds });
}

async function runWorker(url, job) {
  const runner = await run({
    preset: {
      worker: {
        connectionString: url,
        concurrentJobs: CONCURRENCY,
        maxPoolSize: CONCURRENCY + 1,
        localQueue: { size: LOCAL_QUEUE_SIZE },
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0,
        logger: quiet,
      },
    },
    taskList: { job },
    noHandleSignals: true,
  });
  await closed(process.stdin);
  await runner.stop();
}

async function work({ url, jobs }) {
  let firstNs = 0;
  let runs = 0;
  await runWorker(url, () => {
    if (runs === 0) firstNs = nowNs();
    runs += 1;
    if (runs === jobs) say("ran", { first_ns: firstNs, last_ns: nowNs() });
  });
  say("stopped", { runs });
}

async function answer({ url }) {
  let runs = 0;
  await runWorker(url, (payload) => {
    const waitedNs = nowNs() - payload.n;
    runs += 1;
    say("started", { waited_ns: waitedNs });
  });
  say("stopped", { runs });
}

async function ask({ url }) {
  const utils = await submitter(url);
  say("ready");
  for await (const _line of createInterface({ input: process.stdin })) {
    await utils.addJob("job", { n: nowNs() });
  }
  await utils.release();
}

const [verb, options] = process.argv.slice(2);
const VERBS = { describe, prepare, submit, work, answer, ask };
Promise.resolve(VERBS[verb](JSON.parse(options))).catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exitCode = 1;
});
