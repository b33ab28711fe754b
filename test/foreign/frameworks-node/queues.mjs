/** BullMQ: jobs, delays, retries, rate limits, flows and schedules, and the stream that tells of them. */
import { strict as assert } from 'node:assert';
import { FlowProducer, Queue, QueueEvents, Worker } from 'bullmq';
import { Cluster } from 'ioredis';
import {
  attempt,
  cluster,
  connect,
  eventually,
  gateway,
  killDatanode,
  ONE_PARTITION,
} from './place.mjs';

const SECOND = 1_000;
/** One that begins with what comes now misses what comes before its first XREAD. */
const FROM_START = { lastEventId: '0-0' };
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** In a namespace of one partition any prefix does; in others all keys of a queue share a hash tag. */
const PLACES = [
  {
    name: 'one partition',
    database: ONE_PARTITION,
    options: () => ({ connection: { ...gateway, db: ONE_PARTITION }, prefix: 'bull' }),
  },
  { name: 'hash tag', options: () => ({ connection: gateway, prefix: '{bull}' }) },
];
if (cluster !== undefined)
  PLACES.push({
    name: 'cluster',
    options: (opened) => {
      const connection = new Cluster(cluster, { redisOptions: { maxRetriesPerRequest: null } });
      connection.on('error', () => {});
      opened.push({ close: () => connection.disconnect() });
      return { connection, prefix: '{bull}' };
    },
  });

const CASES = {
  'runs jobs, and tells of them': runsJobs,
  'delays jobs': delays,
  'tries jobs again': triesAgain,
  'keeps to a rate': keepsToRate,
  'runs priorities in order': priorities,
  'runs children before their parent': flows,
  'runs children over several queues': flowsOfQueues,
  'runs jobs by schedule': schedules,
  'drops what was added twice': drops,
  'pauses and goes on': pauses,
  'takes over from a dead worker': takesOver,
  'counts what was done': counts,
  'trims its events': trims,
  'hears old events again': hearsAgain,
};

export async function tryQueues() {
  for (const place of PLACES)
    for (const [name, does] of Object.entries(CASES))
      await attempt(`bullmq ${name}, ${place.name}`, () => withQueue(place, name, does));
  for (const place of PLACES)
    await attempt(`bullmq goes on while a datanode is killed, ${place.name}`, () =>
      withQueue(place, 'killed', killed),
    );
}

/** Everything that a case opens is closed again, the youngest first. */
async function withQueue(place, name, does) {
  const opened = [];
  const options = place.options(opened);
  const open = (what) => {
    what.on('error', () => {});
    opened.push(what);
    return what;
  };
  const title = name.replaceAll(/[^a-z]+/g, '-');
  const suite = {
    title,
    database: place.database ?? 0,
    queue: (suffix = '', more = {}) => open(new Queue(title + suffix, { ...options, ...more })),
    worker: (does, more = {}, suffix = '') =>
      open(new Worker(title + suffix, does, { ...options, ...more })),
    events: (more = {}) => open(new QueueEvents(title, { ...options, ...more })),
    flows: () => open(new FlowProducer(options)),
  };
  try {
    const queue = suite.queue();
    queue.setMaxListeners(0);
    await queue.obliterate({ force: true });
    await does(suite, queue);
  } finally {
    for (const one of opened.reverse()) await one.close();
  }
}

async function runsJobs({ worker, events }, queue) {
  const heard = [];
  const listener = events(FROM_START);
  for (const what of ['waiting', 'active', 'progress', 'completed'])
    listener.on(what, ({ jobId }) => heard.push(`${jobId} ${what}`));
  await listener.waitUntilReady();
  worker(async (job) => {
    await job.updateProgress(50);
    return job.data.n * 2;
  });
  const jobs = await queue.addBulk(
    Array.from({ length: 50 }, (_, n) => ({ name: 'job', data: { n }, opts: { jobId: `j${n}` } })),
  );
  const answers = await Promise.all(
    jobs.map((job) => job.waitUntilFinished(listener, 60 * SECOND)),
  );
  assert.deepEqual(
    answers,
    jobs.map((_, n) => n * 2),
  );
  await eventually(() => heard.length === 200);
  for (const job of jobs)
    assert.deepEqual(
      heard.filter((line) => line.startsWith(`${job.id} `)).map((line) => line.split(' ')[1]),
      ['waiting', 'active', 'progress', 'completed'],
    );
  assert.equal(await queue.getCompletedCount(), 50);
}

async function delays({ worker }, queue) {
  const began = Date.now();
  const done = [];
  worker(async (job) => done.push([job.name, Date.now() - began]));
  await queue.add('late', {}, { delay: 2 * SECOND });
  await queue.add('later', {}, { delay: 3 * SECOND });
  await queue.add('now', {});
  const far = await queue.add('far', {}, { delay: 3_600 * SECOND });
  await far.promote();
  await eventually(() => done.length === 4);
  assert.deepEqual(
    done.map(([name]) => name),
    ['now', 'far', 'late', 'later'],
  );
  assert.ok(done[2][1] >= 1_990 && done[3][1] >= 2_990, String(done));
}

async function triesAgain({ worker, events }, queue) {
  const listener = events(FROM_START);
  const failed = [];
  listener.on('retries-exhausted', ({ jobId }) => failed.push(jobId));
  await listener.waitUntilReady();
  worker(async (job) => {
    if (job.name === 'never' || job.attemptsMade < 2) throw new Error('as it should');
    return 'at last';
  });
  const backoff = { type: 'exponential', delay: 200 };
  const third = await queue.add('third', {}, { attempts: 3, backoff });
  const never = await queue.add('never', {}, { attempts: 2, backoff: 100 });
  assert.equal(await third.waitUntilFinished(listener, 60 * SECOND), 'at last');
  await assert.rejects(never.waitUntilFinished(listener, 60 * SECOND), /as it should/);
  await eventually(() => failed.includes(never.id));
  const [job] = await queue.getFailed();
  assert.deepEqual([job.id, job.attemptsMade, job.failedReason], [never.id, 2, 'as it should']);
  await job.remove();
  assert.equal(await queue.getFailedCount(), 0);
}

async function keepsToRate({ worker }, queue) {
  const done = [];
  worker(async () => done.push(Date.now()), { limiter: { max: 5, duration: SECOND } });
  await queue.addBulk(Array.from({ length: 15 }, () => ({ name: 'job', data: {} })));
  await eventually(() => done.length === 15);
  assert.ok(done[14] - done[0] >= 1_900, `15 jobs in ${done[14] - done[0]} ms`);
}

async function priorities({ worker }, queue) {
  for (const priority of [5, 3, 9, 1, 7]) await queue.add('job', { priority }, { priority });
  await queue.add('job', { priority: 0 });
  const done = [];
  worker(async (job) => done.push(job.data.priority), { concurrency: 1 });
  await eventually(() => done.length === 6);
  assert.deepEqual(done, [0, 1, 3, 5, 7, 9]);
}

async function flows({ worker, flows, events, title }) {
  const listener = events(FROM_START);
  await listener.waitUntilReady();
  worker(async (job) => {
    const children = Object.values(await job.getChildrenValues());
    return children.reduce((sum, value) => sum + value, job.data.n);
  });
  const leaf = (n) => ({ name: 'leaf', queueName: title, data: { n } });
  const branch = (n) => ({ ...leaf(n), name: 'branch', children: [leaf(n * 10), leaf(n * 20)] });
  const tree = await flows().add({
    name: 'root',
    queueName: title,
    data: { n: 1_000 },
    children: [branch(1), branch(2), branch(3)],
  });
  assert.equal(await tree.job.waitUntilFinished(listener, 60 * SECOND), 1_000 + 6 + 180);
}

async function flowsOfQueues({ worker, queue: queueOf, flows, title }) {
  const children = queueOf('-children');
  await children.obliterate({ force: true });
  const done = [];
  worker(async (job) => done.push([job.name, Object.values(await job.getChildrenValues())]));
  worker(async (job) => job.data.n, {}, '-children');
  await flows().add({
    name: 'parent',
    queueName: title,
    children: [1, 2, 3].map((n) => ({
      name: 'child',
      queueName: `${title}-children`,
      data: { n },
    })),
  });
  await eventually(() => done.length === 1);
  assert.deepEqual([done[0][0], done[0][1].toSorted()], ['parent', [1, 2, 3]]);
}

async function schedules({ worker }, queue) {
  const done = [];
  worker(async (job) => done.push(job.name));
  await queue.upsertJobScheduler('often', { every: 500 }, { name: 'often' });
  await queue.upsertJobScheduler('each', { pattern: '* * * * * *' }, { name: 'each' });
  await queue.upsertJobScheduler('twice', { every: 300, limit: 2 }, { name: 'twice' });
  const times = (name) => done.filter((one) => one === name).length;
  await eventually(() => times('often') >= 4 && times('each') >= 2 && times('twice') === 2);
  assert.equal((await queue.getJobSchedulers()).length >= 2, true);
  assert.equal(await queue.removeJobScheduler('often'), true);
  assert.equal(await queue.removeJobScheduler('each'), true);
  await wait(700);
  const before = done.length;
  await wait(1_500);
  assert.deepEqual([done.length, times('twice')], [before, 2]);
}

async function drops({ worker, events }, queue) {
  const listener = events(FROM_START);
  const heard = [];
  listener.on('duplicated', ({ jobId }) => heard.push(['duplicated', jobId]));
  listener.on('deduplicated', ({ jobId, deduplicationId }) => heard.push([deduplicationId, jobId]));
  await listener.waitUntilReady();
  await queue.add('job', {}, { jobId: 'mine' });
  await queue.add('job', {}, { jobId: 'mine' });
  const first = await queue.add('job', {}, { deduplication: { id: 'one', ttl: 60 * SECOND } });
  await queue.add('job', {}, { deduplication: { id: 'one', ttl: 60 * SECOND } });
  assert.equal(await queue.count(), 2);
  await eventually(() => heard.length === 2);
  assert.deepEqual(heard, [
    ['duplicated', 'mine'],
    ['one', first.id],
  ]);
  const done = [];
  worker(async (job) => done.push(job.id));
  await eventually(() => done.length === 2);
}

async function pauses({ worker, events }, queue) {
  const listener = events(FROM_START);
  const heard = [];
  for (const what of ['paused', 'resumed', 'drained']) listener.on(what, () => heard.push(what));
  await listener.waitUntilReady();
  await queue.pause();
  const done = [];
  worker(async (job) => done.push(job.id));
  for (let i = 0; i < 5; i++) await queue.add('job', {});
  await wait(SECOND);
  assert.equal(done.length, 0);
  await queue.resume();
  await eventually(() => done.length === 5);
  await eventually(() => heard.includes('drained'));
  assert.deepEqual(heard.slice(0, 2), ['paused', 'resumed']);
}

/** A worker that renews no lock is taken for dead. */
async function takesOver({ worker, events }, queue) {
  const listener = events(FROM_START);
  const heard = [];
  listener.on('stalled', ({ jobId }) => heard.push(jobId));
  await listener.waitUntilReady();
  let end;
  const dead = worker(() => new Promise((resolve) => (end = resolve)), {
    lockDuration: SECOND,
    skipLockRenewal: true,
    skipStalledCheck: true,
  });
  const job = await queue.add('job', {});
  await eventually(() => end !== undefined);
  worker(async () => 'taken over', { stalledInterval: SECOND });
  assert.equal(await job.waitUntilFinished(listener, 60 * SECOND), 'taken over');
  assert.deepEqual(heard, [job.id]);
  end();
  await dead.close(true);
}

async function counts({ worker }, queue) {
  const metrics = { maxDataPoints: 60 };
  worker(
    async (job) => {
      await job.log('line');
      if (job.data.fails) throw new Error('as it should');
    },
    { metrics },
  );
  for (let i = 0; i < 10; i++) await queue.add('job', { fails: i % 5 === 0 });
  await eventually(async () => (await queue.getJobCountByTypes('completed', 'failed')) === 10);
  const { completed, failed, waiting } = await queue.getJobCounts();
  assert.deepEqual([completed, failed, waiting], [8, 2, 0]);
  const [job] = await queue.getCompleted();
  assert.deepEqual((await queue.getJobLogs(job.id)).logs, ['line']);
  await queue.retryJobs({ state: 'failed' });
  await eventually(async () => (await queue.getFailedCount()) === 2);
  assert.equal((await queue.clean(0, 100, 'failed')).length, 2);
  assert.equal((await queue.getWorkersCount()) >= 1, true);
}

/** Its events are kept by about so many, whole nodes of a hundred. */
async function trims({ worker, database, queue: queueOf }) {
  const queue = queueOf('', { streams: { events: { maxLen: 100 } } });
  const done = [];
  // one after the other each waits for the one before it, which takes long on a busy machine
  worker(async (job) => done.push(job.id), { concurrency: 10 });
  for (let i = 0; i < 4; i++)
    await queue.addBulk(Array.from({ length: 50 }, () => ({ name: 'job', data: {} })));
  await eventually(() => done.length === 200);
  await queue.add('last', {});
  await eventually(async () => (await queue.getCompletedCount()) === 201);
  const kept = await eventsOf(queue, database);
  assert.ok(kept >= 100, `${kept} events`);
  const removed = await queue.trimEvents(10);
  assert.ok(removed >= 0);
  assert.ok((await eventsOf(queue, database)) < 10 + 100 + 10);
}

/** All that is seen at a cluster port is seen at a gateway's. */
async function eventsOf(queue, database) {
  const client = await connect({ database });
  const length = await client.xLen(`${queue.opts.prefix}:${queue.name}:events`);
  await client.close();
  return length;
}

async function hearsAgain({ events }, queue) {
  for (let i = 0; i < 3; i++) await queue.add('job', { i });
  const heard = [];
  const listener = events({ ...FROM_START, autorun: false });
  listener.on('added', ({ jobId, name }, id) => heard.push([name, jobId, id]));
  listener.run().catch(() => {});
  await eventually(() => heard.length === 3);
  assert.ok(heard.every(([name, , id]) => name === 'job' && /^\d+-\d+$/.test(id)));
  const live = await queue.add('live', {});
  await eventually(() => heard.length === 4);
  assert.deepEqual(heard[3].slice(0, 2), ['live', live.id]);
}

/** No job that was acknowledged is lost, and who listens goes on hearing. */
async function killed({ worker, events }, queue) {
  const listener = events(FROM_START);
  const heard = new Set();
  listener.on('completed', ({ jobId }) => heard.add(jobId));
  await listener.waitUntilReady();
  const done = new Set();
  worker(async (job) => done.add(job.id), { concurrency: 4, stalledInterval: 2 * SECOND });
  const added = [];
  for (let i = 0; i < 300; i++) {
    if (i === 100) killDatanode('datanode1');
    await queue.add('job', {}).then(
      (job) => added.push(job.id),
      () => wait(100),
    );
  }
  assert.ok(added.length > 200, `${added.length} added`);
  await eventually(() => added.every((id) => done.has(id)));
  const last = await queue.add('last', {});
  await eventually(() => heard.has(last.id));
}
