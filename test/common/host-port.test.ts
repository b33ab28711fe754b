import { expect, test } from 'vitest';
import { hostPort } from '../../src/common/host-port.ts';

test('an address of IPv6 stands in brackets, nothing else does', () => {
  expect(hostPort({ host: '::1', port: 7_001 })).toBe('[::1]:7001');
  expect(hostPort({ host: '10.1.0.1', port: 7_001 })).toBe('10.1.0.1:7001');
  expect(hostPort({ host: 'n1.example', port: 7_001 })).toBe('n1.example:7001');
});
