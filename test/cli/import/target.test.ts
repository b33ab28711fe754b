/** Clusters that do not let an import in: it ends at once, where it would wait for one that is away. */
import { once } from 'node:events';
import { createServer as createHttpsServer } from 'node:https';
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { afterEach, expect, test } from 'vitest';
import { Target, type TargetFlags } from '../../../src/cli/import/target.ts';
import { issued } from '../../common/tls/made-certificates.ts';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  ends.push(() => server.close());
  await once(server, 'listening');
  return (server.address() as { port: number }).port;
}

/** A node that answers by a command's first word, with '' not at all. */
function node(answers: Readonly<Record<string, string>>): Server {
  return createServer((socket: Socket) => {
    socket.on('error', () => {});
    ends.push(() => socket.destroy());
    socket.on('data', (chunk) => {
      for (const request of chunk.toString('latin1').split(/(?=\*\d+\r\n\$)/)) {
        const word = request.split('\r\n')[2]!.toUpperCase();
        const answer = answers[word] ?? '+OK';
        if (answer !== '') socket.write(`${answer}\r\n`);
      }
    });
  });
}

async function entering(flags: TargetFlags): Promise<string> {
  const target = new Target(flags);
  ends.push(() => target.giveUp());
  return target.client('default').then(
    () => 'in',
    (failure: Error) => failure.message,
  );
}

test('a wrong password ends it at once', async () => {
  const AUTH = '-WRONGPASS invalid username-password pair or user is disabled.';
  const port = await listening(node({ AUTH, CLUSTER: '-NOAUTH Authentication required.' }));
  const told = await entering({ to: `redis://importer:wrong@127.0.0.1:${port}` });
  expect(told).toMatch(/^the cluster does not let this client in: .*WRONGPASS/);
});

test('so does none where one is asked for', async () => {
  const port = await listening(node({ CLUSTER: '-NOAUTH Authentication required.' }));
  const told = await entering({ to: `redis://127.0.0.1:${port}` });
  expect(told).toMatch(/^the cluster does not let this client in: .*NOAUTH/);
});

test('and a certificate that nobody vouches for, of a datanode and of a placedriver', async () => {
  const { certificate: cert, key } = issued();
  const secure = createTlsServer({ cert, key }, (socket) => socket.on('error', () => {}));
  secure.on('tlsClientError', () => {});
  const to = `rediss://127.0.0.1:${await listening(secure)}`;
  expect(await entering({ to })).toMatch(
    /does not let this client in: .*its certificate is not accepted/,
  );
  const http = createHttpsServer({ cert, key });
  const url = [`https://127.0.0.1:${await listening(http)}`];
  expect(await entering({ url })).toMatch(/does not let this client in: .*certificate/);
});

test('a node without TLS where it is spoken', async () => {
  const port = await listening(
    createServer((socket) =>
      socket.on('data', () => socket.end('-ERR Protocol error\r\n')).on('error', () => {}),
    ),
  );
  expect(await entering({ to: `rediss://127.0.0.1:${port}` })).toMatch(
    /does not let this client in: .*does not speak TLS/,
  );
});

test('one that is away, or starts, is waited for', async () => {
  const answers: Record<string, string> = { CLUSTER: '-LOADING the node starts' };
  const port = await listening(node(answers));
  const told = entering({ to: `redis://127.0.0.1:${port}` });
  const early = new Promise((resolve) => setTimeout(resolve, 700, 'waits'));
  expect(await Promise.race([told, early])).toBe('waits');
  answers['CLUSTER'] = '-ERR This instance has cluster support disabled';
  answers['EXISTS'] = ':0';
  expect(await told).toBe('in');
});

test('whoever waits for a wrong address is told of it', async () => {
  const closed = createServer();
  const port = await listening(closed);
  closed.close();
  const line = new Promise<string>((resolve) => {
    const target = new Target({ to: `redis://127.0.0.1:${port}` }, resolve);
    ends.push(() => target.giveUp());
    target.client('default').catch(() => {});
  });
  expect(await line).toMatch(new RegExp(`^waiting for the cluster: .*:${port}.*ECONNREFUSED`));
});

test('what fails is told at once, and not when what else is under way has ended', async () => {
  const CLUSTER = '-ERR This instance has cluster support disabled';
  const port = await listening(node({ CLUSTER, EXISTS: ':0', SET: '' }));
  const away = await listening(node({ CLUSTER: '-LOADING the node starts' }));
  for (const at of [port, away]) {
    const target = new Target({ to: `redis://127.0.0.1:${at}` });
    ends.push(() => target.giveUp());
    const told = target.during(async () => {
      const client = target.client('default');
      const write = client.then((one) => one.set('a', 'b'));
      write.catch(() => {});
      if (at === port) await client;
      throw new Error('another failed');
    });
    const late = new Promise((resolve) => setTimeout(resolve, 2_000, 'waits'));
    await expect(Promise.race([told, late])).rejects.toThrow('another failed');
    await expect(target.client('other')).rejects.toThrow('what failed before has ended it');
  }
});

test('what was well done ends as its writes do', async () => {
  const CLUSTER = '-ERR This instance has cluster support disabled';
  const port = await listening(node({ CLUSTER, EXISTS: ':0' }));
  const target = new Target({ to: `redis://127.0.0.1:${port}` });
  const written: unknown[] = [];
  await target.during(async () => {
    const client = await target.client('default');
    void client.set('a', 'b').then((reply) => written.push(reply));
  });
  expect(written).toEqual(['OK']);
});
