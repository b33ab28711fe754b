import { afterEach, expect, test } from 'vitest';
import { limits } from '../../../src/common/limits.ts';
import { badFrame } from '../../../src/datanode/transport/frame.ts';
import type { PostLink, PubSubHandlers } from '../../../src/datanode/transport/transport.ts';
import { allReachable, eventually, introduce, startNode, type TestNode } from './nodes.ts';

const started: TestNode[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map(({ transport }) => transport.close()));
});

/** What happened on the channel of one node, in order. */
async function start(name: string, settings = {}, onPost?: PubSubHandlers['onPost']) {
  const log: string[] = [];
  const pubsub: PubSubHandlers = {
    onOpen: (to) => log.push(`open ${to}`),
    onClosed: (to, unsent) => log.push(`closed ${to}`, ...unsent.map((body) => `unsent ${body}`)),
    onPost: onPost ?? ((from, body) => log.push(`${from}: ${body}`)),
    onLost: (from) => log.push(`lost ${from}`),
  };
  const node = await startNode(name, { settings, pubsub });
  started.push(node);
  return { node, log };
}

test('posts arrive in order, from the opening of the link on', async () => {
  const [a, b] = [await start('a'), await start('b')];
  expect(a.node.transport.post('b', Buffer.from('nobody'))).toBe(false);
  introduce(a.node, b.node);
  await eventually('open', () => a.log.includes('open b') && b.log.includes('open a'));
  for (let at = 0; at < 500; at++)
    expect(a.node.transport.post('b', Buffer.from(`${at}`))).toBe(true);
  await eventually('all', () => b.log.includes('a: 499'));
  expect(b.log.filter((line) => line.startsWith('a:'))).toEqual(
    Array.from({ length: 500 }, (_, at) => `a: ${at}`),
  );
  expect(a.node.transport.post('nobody', Buffer.from('x'))).toBe(false);
});

test('both sides hear of the end of a link', async () => {
  const [a, b] = [await start('a'), await start('b')];
  introduce(a.node, b.node);
  await eventually('open', () => a.log.includes('open b') && b.log.includes('open a'));
  await b.node.transport.close();
  await eventually('closed', () => a.log.includes('closed b') && a.log.includes('lost b'));
  expect(a.node.transport.post('b', Buffer.from('x'))).toBe(false);
});

test('what was posted and never left is given back', async () => {
  const [a, b] = [await start('a'), await start('b')];
  introduce(a.node, b.node);
  await eventually('open', () => a.log.includes('open b'));
  for (const text of ['x', 'y']) a.node.transport.post('b', Buffer.from(text));
  a.node.transport.setPeers(new Map());
  const ends = a.log.filter((line) => /^(?:closed|unsent)/.test(line));
  expect(ends).toEqual(['closed b', 'unsent x', 'unsent y']);
});

test('a peer that takes nothing costs no more memory than the bound', async () => {
  const [a, b] = [
    await start('a', { postBytesMax: 1_000_000, silenceMs: 60_000 }),
    await start('b'),
  ];
  introduce(a.node, b.node);
  await eventually('open', () => a.log.includes('open b') && allReachable(a.node, b.node));
  const body = Buffer.alloc(100_000);
  let taken = 0;
  // Nothing leaves before the end of the turn.
  while (a.node.transport.post('b', body)) taken++;
  expect(taken).toBe(9);
  await eventually('they leave', () => a.node.transport.post('b', body));
  expect(a.node.transport.post('b', Buffer.alloc(limits.frameBytesMax + 1))).toBe(false);
});

test('a body that cannot be read ends the link, and it is made again', async () => {
  let reads = 0;
  const [a, b] = [
    await start('a'),
    await start('b', {}, () => {
      if (reads++ === 0) throw badFrame('not a body');
    }),
  ];
  introduce(a.node, b.node);
  await eventually('open', () => a.log.includes('open b'));
  a.node.transport.post('b', Buffer.from('bad'));
  await eventually('again', () => a.log.filter((line) => line === 'open b').length === 2);
  expect(b.log).toContain('lost a');
  a.node.transport.post('b', Buffer.from('good'));
  await eventually('read', () => reads === 2);
});

test('what waits at the one who takes posts holds back who posts, and all of it arrives', async () => {
  let link: PostLink | undefined;
  let taken = 0;
  const settings = { postBytesMax: 4_000_000, silenceMs: 200, untakenMs: 60_000 };
  const [a, b] = [
    await start('a', settings),
    await start('b', settings, (_from, _body, from) => {
      link = from;
      if (++taken === 1) from.pause();
    }),
  ];
  introduce(a.node, b.node);
  await eventually('open', () => a.log.includes('open b') && allReachable(a.node, b.node));
  const body = Buffer.alloc(100_000);
  let posted = 0;
  await eventually('held back', () => {
    while (posted < 1_000 && a.node.transport.post('b', body)) posted++;
    return link !== undefined && posted > 40 && !a.node.transport.post('b', body);
  });
  // longer than silence may last: it is not closed for being paused
  await new Promise((resolve) => setTimeout(resolve, 600));
  while (a.node.transport.post('b', body)) posted++;
  expect(taken).toBeLessThan(posted / 2);
  link!.resume();
  await eventually('all', () => taken === posted);
  expect(b.log).not.toContain('lost a');
});
