import { expect, test } from 'vitest';
import { isHopeless } from '../../src/cli/hopeless.ts';

const asked = 'no datanode tells the partitions: ';

test.each([
  [true, 'WRONGPASS invalid username-password pair or user is disabled.'],
  [true, 'n1:6379: its certificate is not accepted: certificate has expired (see the option tls)'],
  [true, `${asked}n1:1: NOAUTH Authentication required.; n2:1: WRONGPASS invalid`],
  [false, `${asked}n1:1: NOAUTH Authentication required.; n2:1: connect ECONNREFUSED 127.0.0.1:1`],
  [false, `${asked}n1:1: LOADING the node starts`],
  [false, 'CLUSTERDOWN NO_LEADER: no leader known'],
  [false, 'read ECONNRESET'],
])('%s: %s', (expected, text) => {
  expect(isHopeless(text)).toBe(expected);
});
