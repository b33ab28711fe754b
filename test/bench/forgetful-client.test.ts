import { type AddressInfo, createServer, type Server } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ForgetfulClient } from '../../bench/holds/forgetful-client.ts';
import { measureHold } from '../../bench/holds/measure.ts';

const RUNS = { min: 1, max: 1, enoughMs: 5, runningMs: 1_000, limitMs: Infinity };
const END = '$7\r\nthe end\r\n';
let server: Server;
let client: ForgetfulClient;

/** Refuses every command that has the word `wrong`. */
beforeEach(async () => {
  server = createServer((socket) => {
    socket.on('data', (bytes) => {
      socket.write((bytes.includes('wrong') ? '-ERR no such thing\r\n' : '+OK\r\n') + END);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  client = new ForgetfulClient((server.address() as AddressInfo).port);
});

afterEach(() => {
  client.end();
  server.close();
});

test('a command that is answered with an error has no hold, nor one behind such a one', async () => {
  const right = await measureHold(client, { before: [['DEL', 'x']], lines: [['GET', 'a']] }, RUNS);
  expect(right).toMatchObject({ runs: 1, reply: '+OK' });
  for (const held of [
    { before: [], lines: [['GET', 'wrong']] },
    { before: [['GET', 'wrong']], lines: [['GET', 'a']] },
  ]) {
    await expect(measureHold(client, held, RUNS)).rejects.toThrow(
      'GET wrong … is answered with an error: -ERR no such thing',
    );
  }
  await expect(client.call(['GET', 'wrong'])).rejects.toThrow('is answered with an error');
});
