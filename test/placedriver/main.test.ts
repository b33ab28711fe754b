import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { localSockets } from '../../src/cli/local-sockets.ts';
import type { Clock, Timer } from '../../src/common/clock.ts';
import { fsDisk } from '../../src/common/fs-disk.ts';
import { limits } from '../../src/common/limits.ts';
import { connectEtcd } from '../../src/meta/etcd.ts';
import { placedriverConfigSchema } from '../../src/placedriver/config.ts';
import { type RunningPlacedriver, startPlacedriver } from '../../src/placedriver/main.ts';
import { authority, issued, writeFiles } from '../common/tls/made-certificates.ts';
import { world } from '../meta/served.ts';
import { freePorts, freeStorePort } from '../ports.ts';

let dataDir: string;
const running: RunningPlacedriver[] = [];

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'kvorum-placedriver-'));
});

afterEach(async () => {
  for (const one of running.splice(0)) await one.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

interface Doors {
  readonly http: number;
  readonly meta: number;
}

async function freeDoors(): Promise<Doors> {
  return { http: (await freePorts(1)).http, meta: await freeStorePort() };
}

/** As process `processId`, beside which every other one that is asked for lives. */
async function start(
  { http, meta }: Doors,
  processId: number,
  host = '127.0.0.1',
  more: object = {},
  clock: Clock = world.clock,
): Promise<RunningPlacedriver> {
  const own = { 'data-dir': dataDir, ports: { http }, meta: { embedded: { port: meta } } };
  const fields = { ...own, ...more };
  const config = placedriverConfigSchema.parse({ name: 'placedriver1', host, ...fields });
  const process = {
    disk: fsDisk,
    processId,
    isAlive: () => true,
    birthOf: () => undefined,
    sockets: localSockets(world.logger),
    configFile: '/nowhere/placedriver.yaml',
    setLogLevel() {},
  };
  const started = await startPlacedriver(config, { ...world, ...process, clock });
  running.push(started);
  return started;
}

async function stop(started: RunningPlacedriver): Promise<void> {
  running.splice(running.indexOf(started), 1);
  await started.stop();
}

async function shownAt(port: number): Promise<string> {
  const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const { fingerprint256 } = socket.getPeerCertificate();
  socket.destroy();
  return fingerprint256;
}

/** Its HTTP, where plain is taken too, and its embedded store. */
function overTls({ meta }: Doors) {
  const file = (name: string) => join(dataDir, name);
  writeFiles(dataDir, 'ca', authority);
  const own = { 'cert-file': file('own.crt'), 'key-file': file('own.key') };
  return {
    tls: { ...own, 'ca-file': file('ca.crt'), http: 'optional' },
    meta: { embedded: { port: meta, tls: true } },
  };
}

test('a start that failed at its store looks at no file any more', async () => {
  writeFiles(dataDir, 'own', issued());
  const looks = new Set<Timer>();
  const clock: Clock = {
    ...world.clock,
    setTimer(delayMs, run) {
      const timer = world.clock.setTimer(delayMs, run);
      if (delayMs !== limits.tlsFilesLookMs) return timer;
      looks.add(timer);
      const cancel = () => {
        looks.delete(timer);
        timer.cancel();
      };
      return { cancel };
    },
  };
  const doors = await freeDoors();
  const taken = createServer().listen(doors.meta, '127.0.0.1');
  await once(taken, 'listening');
  const started = start(doors, 10, '127.0.0.1', overTls(doors), clock);
  await expect(started).rejects.toThrow(/EADDRINUSE/);
  expect([...looks]).toEqual([]);
  taken.close();
});

test('renewed certificates are shown once it is told to read its files anew', async () => {
  writeFiles(dataDir, 'own', issued({ name: 'before' }));
  const doors = await freeDoors();
  const one = await start(doors, 10, '127.0.0.1', overTls(doors));
  const before = await shownAt(one.ports.http);
  expect(await shownAt(one.ports.http)).toBe(before);
  expect(await shownAt(one.ports.meta!)).toBe(before);
  writeFiles(dataDir, 'own', issued({ name: 'after' }));
  await one.reload!();
  expect(await shownAt(one.ports.http)).not.toBe(before);
  // its own client of the store goes on, too
  expect(await shownAt(one.ports.meta!)).not.toBe(before);
  await stop(one);
  const plain = await start(doors, 11);
  expect(plain.reload).toBeUndefined();
});

describe('the data directory of a placedriver with the embedded store', () => {
  test.each([
    ['the same ports', async (doors: Doors) => doors],
    ['other ports', freeDoors],
  ])('is of one process: a second one on %s is refused and changes nothing', async (_, chosen) => {
    const doors = await freeDoors();
    const first = await start(doors, 10);
    const url = `http://127.0.0.1:${doors.meta}`;
    const store = connectEtcd({ ...world, urls: [url] });
    await store.put('/a', '1');
    // as while the log is replaced: to open the store removes it
    const next = join(dataDir, 'meta', 'log-2');
    writeFileSync(next, '');
    await expect(start(await chosen(doors), 11)).rejects.toMatchObject({
      code: 'BAD_CONFIG',
      message: expect.stringMatching(/is in use by process 10; stop it, or give this one its own/),
    });
    expect(existsSync(next)).toBe(true);
    const revision = await store.put('/b', '2');
    await store.close();
    await stop(first);
    const again = await start(doors, 12);
    const reopened = connectEtcd({ ...world, urls: [url] });
    expect([await reopened.get('/a'), await reopened.get('/b')]).toMatchObject([
      { value: '1' },
      { value: '2', modRevision: revision },
    ]);
    await reopened.close();
    await stop(again);
  });

  test('is free again when the start failed, and so is the port of its store', async () => {
    const doors = await freeDoors();
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(doors.http, '127.0.0.1', resolve));
    await expect(start(doors, 10)).rejects.toThrow(
      /EADDRINUSE.*or change ports\.http in the config/,
    );
    await new Promise((resolve) => taken.close(resolve));
    expect(readdirSync(dataDir)).toEqual(['meta']);
    const second = await start(doors, 11);
    expect(second.ports).toEqual({ http: doors.http, meta: doors.meta });
    await stop(second);
    expect(readdirSync(dataDir)).toEqual(['meta']);
  });

  test('is free again when its store cannot listen', async () => {
    const doors = await freeDoors();
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(doors.meta, '127.0.0.1', resolve));
    await expect(start(doors, 10)).rejects.toMatchObject({
      code: 'BAD_CONFIG',
      message: expect.stringMatching(
        /^metadata store: cannot listen on .*EADDRINUSE.*or change meta\.embedded\.port in the config/,
      ),
    });
    await new Promise((resolve) => taken.close(resolve));
    const hosts = { '192.0.2.1': /no such address/, 'nobody.invalid': /of that name/ };
    for (const [host, why] of Object.entries(hosts)) {
      await expect(start(doors, 10, host)).rejects.toThrow(
        new RegExp(
          `cannot listen on ${host}:.*change .listen. or, without it, .host.*${why.source}`,
        ),
      );
    }
    await stop(await start(doors, 11));
  });
});
