import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { Command } from 'commander';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { balance as balanceVerb, stableNodes, upgrade } from '../../../src/cli/admin/control.ts';
import { move, rebuild, transferLeader } from '../../../src/cli/admin/moves.ts';
import {
  createNamespace,
  deleteNamespace,
  updateNamespace,
} from '../../../src/cli/admin/namespaces.ts';
import { drain } from '../../../src/cli/admin/nodes.ts';
import { addAdminVerbs } from '../../../src/cli/admin/verbs.ts';

/** The answer of a placedriver that does not know of it. */
const unknown = { message: 'no node n1' };

/** What a placedriver answers to one path after the other; the last answer stays. */
let answers: Map<string, object[]>;
let written: string[];
let bodies: unknown[];
let server: Server;
let flags: { url: string[]; data: string; wait: boolean };
let said: string;

beforeEach(async () => {
  answers = new Map();
  written = [];
  bodies = [];
  said = '';
  server = createServer((request, response) => {
    if (request.method !== 'GET') written.push(`${request.method} ${request.url}`);
    const read: Buffer[] = [];
    request.on('data', (chunk: Buffer) => read.push(chunk));
    request.on('end', () => read.length > 0 && bodies.push(JSON.parse(`${Buffer.concat(read)}`)));
    const known = answers.get(`${request.method} ${request.url}`) ?? [{}];
    const answer = known.length > 1 ? known.shift() : known[0];
    if (answer === unknown) response.statusCode = 404;
    response.end(JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  flags = { url: [`http://127.0.0.1:${port}`], data: tmpdir(), wait: true };
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    said += String(text);
    return true;
  });
  answers.set('GET /v1/cluster', [cluster()]);
});

const cluster = (more: object = {}) => ({
  stability: { frozen: null, unbalanced: null },
  nodes: { alive: 4, stable: 4, draining: 0 },
  balance: { enabled: false, window: null },
  upgrade: { on: true, sinceMs: 1 },
  ...more,
});

afterEach(async () => {
  vi.restoreAllMocks();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const place = '/v1/namespaces/default/partitions/3';
const settled = (...nodes: string[]) => ({
  ...{ namespace: 'default', partition: 3, epoch: 1, settled: true },
  wanted: nodes.map((node, at) => ({ replica: at + 1, node })),
  leader: { node: nodes[0], term: 1 },
  actual: { voters: [1], learners: [], joint: false },
});
const draining = (left: number) => ({
  ...{ name: 'n1', alive: true, replicas: left, leaders: 0 },
  draining: { replicas: 4, left, progress: 1 - left / 4, etaMs: null },
});

describe('a placedriver that has not heard of what its master has written', () => {
  test('does not end a move before it has begun', async () => {
    const moving = { ...settled('n1', 'n4'), settled: false };
    answers.set(`GET ${place}`, [settled('n1', 'n2'), moving, settled('n1', 'n4')]);
    await move('default/3', 'n2', 'n4', flags);
    expect(answers.get(`GET ${place}`)).toHaveLength(1);
    expect(said).toContain('default/3 has moved from n2 to n4\n');
  });

  test('does not say that upgrade mode, balancing or the stable node count are as before', async () => {
    const balance = { enabled: true, window: { from: '22:00', to: '06:00' } };
    const nodes = { alive: 4, stable: 6, draining: 0 };
    const before = cluster({ upgrade: { on: false, sinceMs: null }, balance, nodes });
    answers.set('GET /v1/moves/planned', [{ frozen: null, unbalanced: null, moves: [] }]);
    const told = [];
    for (const act of [
      () => upgrade('begin', flags),
      () => balanceVerb('off', { ...flags, window: 'any' }),
      () => stableNodes(4, flags),
    ]) {
      answers.set('GET /v1/cluster', [before, before, cluster()]);
      said = '';
      await act();
      told.push(said);
    }
    expect(told).toEqual([
      'upgrade mode: no replica moves until kvorum upgrade done\n',
      'replicas do not move to be more even\nnothing is to move\n',
      'stable node count 4, 4 datanodes alive\n',
    ]);
  });

  test('does not end a drain either', async () => {
    const before = { ...draining(4), draining: null };
    answers.set('GET /v1/nodes/n1', [before, before, draining(4), draining(0)]);
    await drain('n1', flags);
    expect(said).toContain('n1 holds nothing any more');
    expect(said).not.toContain('took that back');
  });

  test('but a drain that is taken back ends', async () => {
    answers.set('GET /v1/nodes/n1', [draining(4), { ...draining(4), draining: null }]);
    await drain('n1', flags);
    expect(said).toContain('n1 is not drained any more: somebody took that back');
  });
});

test('a leader that is taken back is not waited for, and the text says what to do', async () => {
  const named = { ...settled('n2', 'n1'), leader: { node: 'n1', term: 1 } };
  answers.set(`GET ${place}`, [settled('n1', 'n2'), named, settled('n1', 'n2')]);
  await expect(transferLeader('default/3', 'n2', flags)).rejects.toThrow(/kvorum balance off/);
});

test('a move that is given up is not waited for, and the text says where to look', async () => {
  const moving = { ...settled('n1', 'n4'), settled: false };
  answers.set(`GET ${place}`, [settled('n1', 'n2'), moving, settled('n1', 'n2')]);
  const moved = move('default/3', 'n2', 'n4', flags);
  await expect(moved).rejects.toThrow(/default\/3 stays on n2: .* look at the log of n4/);
});

test('a move that ends on another node is none, and the text says where the replicas are', async () => {
  const moving = { ...settled('n1', 'n4'), settled: false };
  const redirected = { ...settled('n1', 'n5'), settled: false };
  answers.set(`GET ${place}`, [settled('n1', 'n2'), moving, redirected, settled('n1', 'n5')]);
  const moved = move('default/3', 'n2', 'n4', flags);
  await expect(moved).rejects.toMatchObject({
    code: 'CONFLICT',
    message: expect.stringMatching(/has left n2, but not for n4: its replicas are on n1, n5; /),
  });
  expect(said).not.toContain('has moved');
});

test('a drain that waits for groups that nobody leads says so', async () => {
  const { draining: goes, ...node } = draining(2);
  const waiting = {
    ...node,
    draining: { ...goes, waitsFor: 'default/3 cannot move: nobody leads' },
  };
  answers.set('GET /v1/nodes/n1', [draining(4), waiting, draining(0)]);
  await drain('n1', flags);
  expect(said).toContain('2 of 4 replicas left; default/3 cannot move: nobody leads\n');
});

describe('a drained node that is away is forgotten once it holds nothing', () => {
  test('which is what a drain waits for', async () => {
    answers.set('GET /v1/nodes/n1', [draining(4), draining(1), unknown]);
    await drain('n1', flags);
    expect(said).toContain('n1 holds nothing any more: it may be stopped for good\n');
  });

  test('also when that is before the first look', async () => {
    answers.set('GET /v1/nodes/n1', [unknown]);
    await drain('n1', { ...flags, wait: false });
    expect(said).toContain('n1 is being emptied');
    await drain('n1', flags);
    expect(said).toContain('n1 holds nothing any more');
  });

  test('and programs are told so', async () => {
    answers.set('GET /v1/nodes/n1', [draining(4), unknown]);
    await drain('n1', { ...flags, json: true });
    expect(JSON.parse(said)).toMatchObject({ name: 'n1', replicas: 0, draining: { left: 0 } });
  });

  test('but the one that was never known is an error', async () => {
    answers.set('POST /v1/nodes/n1/drain', [unknown]);
    await expect(drain('n1', flags)).rejects.toThrow(/^no node n1$/);
  });
});

describe('--json', () => {
  test('a verb that changes something prints one JSON document, and no progress', async () => {
    const json = { ...flags, json: true };
    const now = async (verb: Promise<void>): Promise<unknown> => {
      await verb;
      const text = said;
      said = '';
      return JSON.parse(text);
    };
    const waiting = { ...settled('n1', 'n4'), settled: false };
    answers.set(`GET ${place}`, [waiting, settled('n1', 'n4')]);
    expect(await now(move('default/3', 'n2', 'n4', json))).toEqual(settled('n1', 'n4'));
    const noWait = { ...json, wait: false };
    expect(await now(move('default/3', 'n2', 'n4', noWait))).toEqual(settled('n1', 'n4'));
    expect(await now(transferLeader('default/3', 'n1', json))).toEqual(settled('n1', 'n4'));
    expect(await now(transferLeader('default/3', 'n1', noWait))).toEqual(settled('n1', 'n4'));
    const meant = { survivor: 'n1', confirm: 'lose-data-of default/3' };
    expect(await now(rebuild('default/3', { ...json, ...meant }))).toEqual(settled('n1', 'n4'));
    answers.set('GET /v1/nodes/n1', [draining(2), draining(0)]);
    expect(await now(drain('n1', json))).toEqual(draining(0));
    expect(await now(drain('n1', noWait))).toEqual(draining(0));
    expect(await now(drain('n1', { ...json, cancel: true }))).toEqual(draining(0));
    const spec = { partitions: 2, replicas: 1 };
    expect(await now(createNamespace('a', { ...json, ...spec }))).toEqual({
      ...{ name: 'a', state: 'ready', ...spec },
    });
    expect(await now(updateNamespace('a', { ...json, replicas: 3 }))).toEqual({
      ...{ name: 'a', state: 'ready', replicas: 3 },
    });
    expect(await now(deleteNamespace('a', { ...json, yes: true }))).toEqual({
      ...{ name: 'a', state: 'deleting' },
    });
    expect(written).toHaveLength(11);
  });
});

test('no verb takes the usual data directory for one that was named', () => {
  const program = new Command();
  addAdminVerbs(program);
  const all = program.commands.flatMap((verb) => [verb, ...verb.commands]);
  const withData = all.filter(({ options }) => options.some(({ long }) => long === '--data'));
  expect(withData.length).toBeGreaterThan(8);
  expect(withData.map((verb) => verb.opts()['data'])).toEqual(withData.map(() => undefined));
});

test('no verb takes an empty data directory: it would be the current one', () => {
  const program = new Command();
  addAdminVerbs(program);
  const all = program.commands.flatMap((verb) => [verb, ...verb.commands]);
  const withData = all.flatMap(({ options }) => options.filter(({ long }) => long === '--data'));
  expect(withData.length).toBeGreaterThan(8);
  for (const { parseArg } of withData) {
    expect(() => parseArg!('', undefined)).toThrow('must name a directory');
    expect(parseArg!('d', undefined)).toBe('d');
  }
});

describe('an option before the arguments takes none of them', () => {
  const rebuild = ['rebuild', '--survivor', 'n1', '--confirm', 'lose-data-of default/3'];
  const noWait = '--no-wait';
  const verbs: readonly (readonly [verb: string[], args: string[], wrote: string])[] = [
    [['balance'], ['off'], 'PUT /v1/control/balance'],
    [['upgrade'], ['begin'], 'PUT /v1/control/upgrade'],
    [['stable-nodes'], ['4'], 'PUT /v1/control/stable-nodes'],
    [['drain', noWait], ['n1'], 'POST /v1/nodes/n1/drain'],
    [['move', noWait], ['default/3', 'n1', 'n2'], `POST ${place}/move`],
    [['transfer-leader', noWait], ['default/3', 'n1'], `POST ${place}/transfer-leader`],
    [rebuild, ['default/3'], `POST ${place}/rebuild`],
    [['namespaces', 'create'], ['a'], 'POST /v1/namespaces'],
    [['namespaces', 'update', '--replicas', '1'], ['a'], 'PATCH /v1/namespaces/a'],
    [['namespaces', 'delete', '--yes'], ['a'], 'DELETE /v1/namespaces/a'],
  ];
  test.each(verbs)('%j %j', async (verb, args, wrote) => {
    await run(...verb, '--json', '--url', flags.url[0]!, ...args);
    expect(written).toEqual([wrote]);
  });

  test.each(['create', 'update'])('a tag of namespaces %s does not either', async (verb) => {
    await run('namespaces', verb, '--json', `--url=${flags.url[0]}`, '--tag', 'ssd', 'a');
    expect(bodies).toMatchObject([{ tags: ['ssd'] }]);
  });

  test('nor does that of a verb that reads', async () => {
    answers.set('GET /v1/namespaces/a/partitions', [{ partitions: [] }]);
    await run('partitions', '--json', '--url', flags.url[0]!, 'a');
    expect(JSON.parse(said)).toEqual({ partitions: [] });
  });
});

test('the help of namespaces create names what a placedriver refuses to do without', () => {
  const program = new Command('kvorum');
  addAdminVerbs(program);
  const namespaces = program.commands.find((command) => command.name() === 'namespaces')!;
  const help = namespaces.commands
    .find((command) => command.name() === 'create')!
    .helpInformation();
  expect(help).toContain('--partitions and --replicas must be given');
});

test('several urls and tags are given by commas, or again', async () => {
  const [url] = flags.url;
  answers.set('GET /v1/cluster', [{ upgrade: { on: true } }]);
  const nobody = 'http://nobody.invalid:18001';
  await run('namespaces', '--url', `${nobody}, ${url}`, 'update', 'a', '--tag', 'x,y=1', '--tag=z');
  await run('upgrade', '--json', '--url', nobody, '--url', url!, 'begin');
  expect(bodies).toEqual([{ tags: ['x', 'y=1', 'z'] }, { on: true }]);
});

async function run(...line: string[]): Promise<void> {
  const program = new Command('kvorum').exitOverride();
  addAdminVerbs(program);
  await program.parseAsync(line, { from: 'user' });
}
