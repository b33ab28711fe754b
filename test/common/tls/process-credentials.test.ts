/** All files that a process keeps: which they are, what is told of them, and that they are let go. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { MetaAccess } from '../../../src/common/config-meta.ts';
import { fsDisk } from '../../../src/common/fs-disk.ts';
import type { Logger } from '../../../src/common/log.ts';
import { placedriverTlsField } from '../../../src/common/tls/config.ts';
import { keepAllCredentials } from '../../../src/common/tls/process-credentials.ts';
import { ManualClock } from '../../datanode/raftlog/manual-clock.ts';
import { authority, issued, writeFiles } from './made-certificates.ts';

let dir: string;
let clock: WallClock;
let told: string[];

class WallClock extends ManualClock {
  override wallMs(): number {
    return Date.now();
  }
}

const logger: Logger = {
  debug() {},
  info: (text) => void told.push(text),
  warn: (text) => void told.push(text),
  error: (text) => void told.push(text),
  child: () => logger,
};

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'kvorum-kept-'));
  clock = new WallClock();
  told = [];
  for (const name of ['own', 'store']) writeFiles(dir, name, issued({ name }));
  writeFiles(dir, 'ca', authority);
});

afterEach(() => rmSync(dir, { recursive: true, force: true }));

const own = { 'cert-file': 'own.crt', 'key-file': 'own.key', 'ca-file': 'ca.crt' };

function keep(tls: object, meta: MetaAccess = {}, isSecure = true) {
  const world = { clock, disk: fsDisk, logger, configFile: join(dir, 'node.yaml') };
  return keepAllCredentials({ tls: placedriverTlsField.parse(tls), meta }, isSecure, world);
}

test("the store's files are those of its own section, and the others of the section tls", async () => {
  const kept = await keep({ ...own }, { 'cert-file': 'store.crt', 'key-file': 'store.key' });
  expect(kept.doors).toBeUndefined();
  expect(kept.store!.current).toMatchObject({ authorities: authority.certificate });
  expect(kept.store!.current.ends[0]!.subject).toBe('CN=store');
  const renewed = issued({ name: 'store' });
  writeFiles(dir, 'store', renewed);
  await kept.reload!();
  expect(kept.store!.current).toMatchObject(renewed);
  kept.stop();
});

test('the same files are kept, and told of, once', async () => {
  const kept = await keep({ ...own, http: 'optional' });
  expect(kept.store).toBe(kept.doors);
  writeFiles(dir, 'own', issued());
  await kept.reload!();
  expect(told.filter((text) => text.startsWith('new certificates'))).toHaveLength(1);
  kept.stop();
  expect(await clock.step()).toBe(false);
});

test('what has expired for the store is told of, and no reason not to start', async () => {
  writeFiles(dir, 'store', issued({ name: 'store', days: 1, nowMs: Date.now() - 2 * 86_400_000 }));
  const kept = await keep({ ...own }, { 'cert-file': 'store.crt', 'key-file': 'store.key' });
  expect(told).toEqual([expect.stringMatching(/^a certificate has expired/)]);
  const renewed = issued({ name: 'store' });
  writeFiles(dir, 'store', renewed);
  await kept.reload!();
  expect(kept.store!.current).toMatchObject(renewed);
  kept.stop();
});

test('an authority alone may be named, or nothing, and without TLS nothing is read', async () => {
  const kept = await keep({}, { 'ca-file': 'ca.crt' });
  expect(kept.store!.current).toMatchObject({ certificate: undefined, key: undefined });
  kept.stop();
  const nothing = await keep({});
  expect(nothing).toMatchObject({ doors: undefined, store: undefined, reload: undefined });
  const plain = await keep({ 'ca-file': 'absent.crt' }, {}, false);
  expect(plain.store).toBeUndefined();
});

test.each<[string, object, MetaAccess, RegExp]>([
  [
    'a certificate without its key',
    {},
    { 'cert-file': 'own.crt' },
    /^meta\.cert-file: .*go togeth/,
  ],
  ['a key without its certificate', { 'key-file': 'own.key' }, {}, /^tls\.key-file: .*go together/],
  [
    'a file that is not there',
    own,
    { 'ca-file': 'no.crt' },
    /^meta\.ca-file: .*no\.crt: cannot be/,
  ],
  ['a key of another', own, { 'key-file': 'store.key' }, /^meta\.key-file: .*not the key of/],
])('%s is refused, by its setting, and nothing goes on', async (_, tls, meta, text) => {
  const kept = keep({ ...tls, ...('cert-file' in tls && { http: 'optional' }) }, meta);
  await expect(kept).rejects.toMatchObject({
    code: 'BAD_CONFIG',
    message: expect.stringMatching(text),
  });
  expect(await clock.step()).toBe(false);
});

test("days left are told of the doors' files and of those of the store that differ, each once", async () => {
  writeFiles(dir, 'store', issued({ name: 'store', days: 20 }));
  const meta = { 'cert-file': 'store.crt', 'key-file': 'store.key' };
  const told = async (tls: object, ...rest: [MetaAccess?, boolean?]) => {
    const kept = await keep(tls, ...rest);
    kept.stop();
    return kept.daysLeft()?.map(({ file, days }) => `${file} ${Math.round(days)}`);
  };
  const doors = ['cert-file 90', 'ca-file 3650'];
  expect(await told({ ...own, http: 'optional' })).toEqual(doors);
  expect(await told({ ...own, http: 'optional' }, meta)).toEqual([...doors, 'meta.cert-file 20']);
  expect(await told({ ...own }, meta)).toEqual(['meta.cert-file 20', 'ca-file 3650']);
  expect(await told({}, {}, false)).toBeUndefined();
});
