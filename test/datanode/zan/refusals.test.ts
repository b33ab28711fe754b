import { expect, test } from 'vitest';
import { integer } from '../../../src/datanode/resp/reply.ts';
import { asZanSays, NOT_LEADER, refusal } from '../../../src/datanode/zan/refusals.ts';

const line = ['set', 'ns:t:k', 'secret'].map((word) => Buffer.from(word));
const error = (text: string) => ({ kind: 'error' as const, text });

test('a refusal begins as clients expect it, and ends with command and key', () => {
  expect(refusal(NOT_LEADER, line)).toEqual(
    error(
      'ERR_CLUSTER_CHANGED: partition of the namespace is not leader on the node ' +
        ': ERR handle command set, ns:t:k',
    ),
  );
});

test('no line ends early, and none is long', () => {
  const { text } = refusal('x', [Buffer.from('a\r\n-b'), Buffer.alloc(1_000, 'k')]) as {
    text: string;
  };
  expect(text).not.toMatch(/[\r\n]/);
  expect(text.length).toBeLessThan(300);
});

test('only what did not happen may be sent again', () => {
  const down = error('CLUSTERDOWN no leader');
  expect(asZanSays(down, 'not-proposed', line)).toEqual(
    error(
      'ERR_CLUSTER_CHANGED: raft group not ready: CLUSTERDOWN no leader ' +
        ': ERR handle command set, ns:t:k',
    ),
  );
  const unknown = asZanSays(error('UNKNOWNOUTCOME lost'), 'unknown', line) as { text: string };
  expect(unknown.text).toMatch(/^context deadline exceeded: UNKNOWNOUTCOME lost/);
  const own = error('WRONGTYPE it is');
  expect(asZanSays(own, 'done', line)).toBe(own);
  expect(asZanSays(integer(1), 'done', line)).toEqual(integer(1));
  const refused = error('ERR too large');
  expect(asZanSays(refused, 'not-proposed', line)).toBe(refused);
});
