/** Clients that asked are told where slots are led now. */
import { expect, test } from 'vitest';
import { openDoors, RawClient } from './doors.ts';

test('SMIGRATED tells of moved leaders, to RESP3 clients of the cluster port that asked', async () => {
  const doors = await openDoors();
  for (const group of [1, 2, 3, 4]) doors.routes.setLeader(group, 'a', 7);
  const asked = await RawClient.open(doors.cluster);
  const silent = await RawClient.open(doors.cluster);
  const ask = 'CLIENT MAINT_NOTIFICATIONS ON moving-endpoint-type external-ip';
  expect(await asked.ask(ask, '-ERR')).toMatch(/^-ERR CLIENT MAINT_NOTIFICATIONS needs RESP3/);
  expect(await asked.ask('CLIENT MAINT_NOTIFICATIONS ON x y', '-')).toBe('-ERR syntax error\r\n');
  for (const client of [asked, silent]) {
    client.send('HELLO 3', 'PING');
    await client.until((text) => text.endsWith('+PONG\r\n'));
  }
  expect(await asked.ask(ask, '+OK\r\n')).toBe('+OK\r\n');
  const before = asked.text.length;
  doors.routes.setLeader(1, 'b', 8);
  doors.routes.setLeader(3, 'b', 8);
  doors.routes.setLeader(2, 'a', 8);
  await asked.until((text) => text.length > before);
  const triple = ['127.0.0.1:7001', '127.0.0.1:7002', '0-4095,8192-12287'];
  const bulks = triple.map((one) => `$${one.length}\r\n${one}\r\n`).join('');
  const push = asked.text.slice(before);
  expect(push.replace(/:\d+/, ':1')).toBe(`>3\r\n$9\r\nSMIGRATED\r\n:1\r\n*1\r\n*3\r\n${bulks}`);
  expect(await asked.ask('CLIENT MAINT_NOTIFICATIONS OFF', '+OK\r\n')).toBe('+OK\r\n');
  doors.routes.setLeader(1, 'a', 9);
  expect(await asked.ask('PING', '+PONG\r\n')).toBe('+PONG\r\n');
  expect(silent.text).not.toContain('SMIGRATED');
  asked.end();
  silent.end();
  await doors.close();
});
