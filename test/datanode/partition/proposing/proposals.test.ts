import { describe, expect, test } from 'vitest';
import { limits } from '../../../../src/common/limits.ts';
import { DONE } from '../../../../src/datanode/commands/sessions/kept-reply.ts';
import { encodeExec } from '../../../../src/datanode/commands/transactions/exec-line.ts';
import type { CommandBatch, LineResult } from '../../../../src/datanode/partition/entries/batch.ts';
import { Proposals } from '../../../../src/datanode/partition/proposing/proposals.ts';
import { integer, OK } from '../../../../src/datanode/resp/reply.ts';

function batch(lines: number, bytes = 1, deadlineMs = 1_000): CommandBatch {
  return {
    namespace: 'default',
    partition: 0,
    kind: 'write',
    lines: Array.from({ length: lines }, () => [Buffer.from('SET'), Buffer.alloc(bytes)]),
    protocol: 2,
    term: undefined,
    deadlineMs,
  };
}

/** Flushes with entries from `index` on in `term`; returns how many lines each entry has. */
function flush(proposals: Proposals, index: number, term = 1, nowMs = 0): number[] {
  const sizes: number[] = [];
  proposals.flush(
    nowMs,
    (lines) => Buffer.from([sizes.push(lines.length)]),
    () => ({ ok: true, term, index }),
  );
  return sizes;
}

const values = (results: readonly LineResult[]) =>
  results.map((result) => (result.ok ? result.reply : result.code));

describe('proposals', () => {
  test('of one turn share an entry and get their own replies', async () => {
    const proposals = new Proposals();
    const first = proposals.gather(batch(2));
    const second = proposals.gather(batch(1));
    expect(flush(proposals, 5)).toEqual([3]);
    proposals.settle(5, 1, [integer(1), integer(2), integer(3)]);
    expect(values(await first)).toEqual([integer(1), integer(2)]);
    expect(values(await second)).toEqual([integer(3)]);
    expect(proposals.count).toBe(0);
  });

  test('tell their entries and their places in them to who asks for that, and to no other', async () => {
    const proposals = new Proposals();
    const asked = proposals.gather({ ...batch(2), witness: true });
    const other = proposals.gather(batch(1));
    const last = proposals.gather({ ...batch(3), witness: true });
    flush(proposals, 5, 4);
    const kept = {
      kind: 'kept',
      resp2: Buffer.from(':1\r\n'),
      resp3: Buffer.from(':1\r\n'),
    } as const;
    proposals.settle(5, 4, [integer(1), integer(2), integer(3), integer(4), kept, DONE]);
    const places = async (results: Promise<readonly LineResult[]>) =>
      (await results).map((one) => (one.ok ? one.witness : undefined));
    const at = (line: number) => ({ term: 4, index: 5, upTo: 5, at: line });
    expect(await places(asked)).toEqual([at(0), at(1)]);
    expect(await places(other)).toEqual([undefined]);
    // what an earlier try left says nothing of where that was
    expect(await places(last)).toEqual([at(3), undefined, undefined]);
  });

  test('few scripts share an entry, those of a transaction or a session’s batch do', () => {
    const { scriptsPerEntryMax: most } = limits;
    const script = ['EVAL', 's', '0'].map((word) => Buffer.from(word));
    const scripts = (count: number) => ({ ...batch(0), lines: Array(count).fill(script) });
    const proposals = new Proposals();
    void proposals.gather(scripts(most + 1));
    void proposals.gather(batch(5));
    void proposals.gather(scripts(most - 1));
    void proposals.gather(scripts(1));
    expect(flush(proposals, 5)).toEqual([most, 1 + 5 + most - 1, 1]);
    void proposals.gather({ ...batch(1), lines: [encodeExec(Array(most + 1).fill(script))] });
    void proposals.gather(scripts(1));
    const once = { id: Buffer.from('id'), sequence: 1, low: 1 };
    void proposals.gather({ ...scripts(most + 1), once });
    void proposals.gather(batch(2));
    expect(flush(proposals, 8)).toEqual([1, 1, most + 1 + 2]);
  });

  test('are split into entries of bounded size, in order', async () => {
    const proposals = new Proposals();
    const large = proposals.gather(batch(3, limits.entryBytesMax / 2));
    expect(flush(proposals, 5)).toEqual([1, 1, 1]);
    proposals.settle(5, 1, [integer(1)]);
    proposals.settle(6, 1, [integer(2)]);
    proposals.settle(7, 1, [integer(3)]);
    expect(values(await large)).toEqual([integer(1), integer(2), integer(3)]);
  });

  test('that no entry can hold are refused before anything is appended, and nothing else is', async () => {
    const proposals = new Proposals();
    const half = limits.entryBytesHardMax / 2;
    const before = proposals.gather(batch(1));
    const large = proposals.gather(batch(1, 2 * half));
    const between = proposals.gather(batch(2, half));
    const once = { id: Buffer.from('session'), sequence: 1, low: 1 };
    const together = proposals.gather({ ...batch(2, half), once });
    const after = proposals.gather(batch(1));
    expect(flush(proposals, 5)).toEqual([1, 1, 1, 1]);
    expect(values(await large)).toEqual(['TOO_LARGE']);
    expect(values(await together)).toEqual(['TOO_LARGE', 'TOO_LARGE']);
    for (const at of [1, 2, 3, 4]) proposals.settle(4 + at, 1, [integer(at)]);
    expect(values(await before)).toEqual([integer(1)]);
    expect(values(await between)).toEqual([integer(2), integer(3)]);
    expect(values(await after)).toEqual([integer(4)]);
    const alone = proposals.gather(batch(1, 2 * half));
    expect(flush(proposals, 9)).toEqual([]);
    expect(values(await alone)).toEqual(['TOO_LARGE']);
    expect(proposals.count).toBe(0);
  });

  test('of a leader that came back wait beside those of its earlier term', async () => {
    const proposals = new Proposals();
    const old = [proposals.gather(batch(1)), proposals.gather(batch(1))];
    flush(proposals, 10, 3);
    const older = proposals.gather(batch(1));
    flush(proposals, 11, 3);
    // its log was cut to 8 by another, and it leads again
    const young = proposals.gather(batch(1));
    flush(proposals, 9, 5);
    const younger = proposals.gather(batch(1));
    flush(proposals, 10, 5);
    // others had kept those of the earlier term, and one of them leads
    proposals.settle(9, 3, []);
    expect(values(await young)).toEqual(['TERM_CHANGED']);
    proposals.settle(10, 3, [integer(1), integer(2)]);
    for (const results of old) expect(values(await results)[0]).toMatchObject({ kind: 'integer' });
    expect(values(await younger)).toEqual(['TERM_CHANGED']);
    proposals.settle(11, 6, []);
    expect(values(await older)).toEqual(['TERM_CHANGED']);
    expect(proposals.count).toBe(0);
  });

  test('whose place another leader’s entry took were not proposed', async () => {
    const proposals = new Proposals();
    const lost = proposals.gather(batch(1));
    flush(proposals, 5, 3);
    proposals.settle(4, 2, []);
    proposals.settle(5, 4, []);
    expect(values(await lost)).toEqual(['TERM_CHANGED']);
  });

  test('behind an entry of a later term were not proposed, however short its log is', async () => {
    const proposals = new Proposals();
    const lost = [proposals.gather(batch(1)), proposals.gather(batch(1))];
    flush(proposals, 8, 3);
    const alsoLost = proposals.gather(batch(2));
    flush(proposals, 9, 3);
    // it leads again, behind what another wrote
    const own = proposals.gather(batch(1));
    flush(proposals, 7, 5);
    proposals.settle(6, 4, []);
    for (const results of [...lost, alsoLost]) {
      expect(new Set(values(await results))).toEqual(new Set(['TERM_CHANGED']));
    }
    expect(proposals.count).toBe(1);
    proposals.settle(7, 5, [OK]);
    expect(values(await own)).toEqual([OK]);
    expect(proposals.count).toBe(0);
  });

  test('whose outcome this replica cannot tell name their entries', async () => {
    const proposals = new Proposals();
    const [one, two] = [proposals.gather(batch(1)), proposals.gather(batch(2))];
    flush(proposals, 5, 3);
    proposals.skipTo({ index: 5, term: 4 });
    const unknown = (at: number) => ({
      ok: false,
      code: 'OUTCOME_UNKNOWN',
      place: { term: 3, index: 5, at },
    });
    expect(await one).toMatchObject([unknown(0)]);
    expect(await two).toMatchObject([unknown(1), unknown(2)]);
    const last = proposals.gather(batch(1));
    flush(proposals, 6, 5);
    proposals.stop();
    expect(await last).toMatchObject([{ ...unknown(0), place: { term: 5, index: 6, at: 0 } }]);
  });

  test('behind a snapshot of a later term were not proposed', async () => {
    const proposals = new Proposals();
    const [within, beside] = [proposals.gather(batch(1)), proposals.gather(batch(1))];
    flush(proposals, 5, 3);
    const beyond = proposals.gather(batch(1));
    flush(proposals, 6, 3);
    proposals.skipTo({ index: 5, term: 4 });
    expect(values(await within)).toEqual(['OUTCOME_UNKNOWN']);
    expect(values(await beside)).toEqual(['OUTCOME_UNKNOWN']);
    expect(values(await beyond)).toEqual(['TERM_CHANGED']);
  });

  test('wait beyond their deadline for what the log tells, within a bound', async () => {
    const proposals = new Proposals();
    const early = proposals.gather(batch(1, 1, 100));
    flush(proposals, 5);
    const late = proposals.gather(batch(1, 1, 100));
    flush(proposals, 6);
    proposals.expire(99 + limits.outcomeWaitMs, 4);
    expect(proposals.count).toBe(2);
    proposals.settle(5, 1, [OK]);
    expect(values(await early)).toEqual([OK]);
    proposals.expire(100 + limits.outcomeWaitMs, 5);
    expect(values(await late)).toEqual(['OUTCOME_UNKNOWN']);
  });

  test('who can ask again under a session is told at the deadline, the others wait on', async () => {
    const proposals = new Proposals();
    const once = { id: Buffer.from('session-1'), sequence: 1, low: 1 };
    const forwarded = proposals.gather({ ...batch(2, 1, 100), once });
    const plain = proposals.gather(batch(1, 1, 100));
    const lines = [
      ['kv.once', 'session-2', '1', '1', 'INCR', 'a'].map((word) => Buffer.from(word)),
    ];
    const sdk = proposals.gather({ ...batch(1, 1, 100), lines });
    flush(proposals, 5);
    proposals.expire(99, 4);
    expect(proposals.count).toBe(4);
    proposals.expire(100, 4);
    expect(values(await forwarded)).toEqual(['OUTCOME_UNKNOWN', 'OUTCOME_UNKNOWN']);
    expect(values(await sdk)).toEqual(['OUTCOME_UNKNOWN']);
    proposals.expire(200, 4);
    proposals.settle(5, 1, [integer(1), integer(2), integer(3), integer(4)]);
    expect(values(await plain)).toEqual([integer(3)]);
    expect(proposals.count).toBe(0);
  });

  test('wait beyond it while what is committed is being applied', async () => {
    const proposals = new Proposals();
    const large = proposals.gather(batch(1, 1, 100));
    flush(proposals, 5);
    const behind = proposals.gather(batch(1, 1, 100));
    flush(proposals, 6);
    proposals.expire(60_000, 5);
    expect(proposals.count).toBe(2);
    proposals.settle(5, 1, [OK]);
    expect(values(await large)).toEqual([OK]);
    proposals.expire(100 + limits.outcomeWaitMs, 5);
    expect(values(await behind)).toEqual(['OUTCOME_UNKNOWN']);
  });

  test('are given up when they are committed and never applied', async () => {
    const proposals = new Proposals();
    const stuck = proposals.gather(batch(1, 1, 100));
    flush(proposals, 5);
    proposals.expire(99 + limits.applyWaitMs, 5);
    expect(proposals.count).toBe(1);
    proposals.expire(100 + limits.applyWaitMs, 5);
    expect(values(await stuck)).toEqual(['OUTCOME_UNKNOWN']);
  });

  test('past their deadline before the turn ends are never proposed', async () => {
    const proposals = new Proposals();
    const dead = proposals.gather(batch(1, 1, 100));
    expect(flush(proposals, 5, 1, 100)).toEqual([]);
    expect(values(await dead)).toEqual(['CANCELLED']);
  });

  test('a refusal concerns the whole turn', async () => {
    const proposals = new Proposals();
    const both = [proposals.gather(batch(1)), proposals.gather(batch(2))];
    proposals.flush(
      0,
      () => Buffer.alloc(0),
      () => ({ ok: false, refusal: 'uncommitted-limit' }),
    );
    expect((await Promise.all(both)).flatMap(values)).toEqual(['BUSY', 'BUSY', 'BUSY']);
  });

  test('are bounded in number', async () => {
    const proposals = new Proposals();
    const waiting = proposals.gather(batch(limits.proposalsPerPartitionMax));
    expect(values(await proposals.gather(batch(1)))).toEqual(['BUSY']);
    proposals.stop();
    expect((await waiting)[0]).toMatchObject({ ok: false, code: 'STOPPING' });
  });
});

test('a proposal that fails in its midst leaves nobody waiting', async () => {
  const proposals = new Proposals();
  const results = proposals.gather(batch(1));
  const failing = () => {
    throw new Error('no memory');
  };
  expect(() => proposals.flush(0, failing, failing)).toThrow('no memory');
  expect(await results).toEqual([
    { ok: false, code: 'OUTCOME_UNKNOWN', message: 'proposing failed: no memory' },
  ]);
});
