import { beforeEach, describe, expect, test } from 'vitest';
import type { Disk, DiskFile } from '../../../src/common/disk.ts';
import { limits } from '../../../src/common/limits.ts';
import type { Logger } from '../../../src/common/log.ts';
import { datanodeTlsField } from '../../../src/common/tls/config.ts';
import { readCredentials } from '../../../src/common/tls/credentials.ts';
import { CredentialKeeper } from '../../../src/common/tls/keeper.ts';
import { keepCredentials } from '../../../src/common/tls/process-credentials.ts';
import { ManualClock } from '../../datanode/raftlog/manual-clock.ts';
import { authority, issued, newAuthority } from './made-certificates.ts';

const beganMs = Date.now();
const DAY_MS = 86_400_000;
const files = { certificate: '/c.crt', key: '/c.key', authorities: '/ca.crt' };

class WallClock extends ManualClock {
  override wallMs(): number {
    return beganMs + super.wallMs();
  }
}

let contents: Record<string, string | undefined>;
let clock: WallClock;
let told: string[];

const disk = {
  async open(path: string) {
    const text = contents[path];
    if (text === undefined) throw new Error(`ENOENT: no such file, open '${path}'`);
    const bytes = Buffer.from(text, 'latin1');
    const file: Partial<DiskFile> = {
      size: async () => bytes.length,
      pread: async () => bytes,
      close: async () => {},
    };
    return file as DiskFile;
  },
} as Partial<Disk> as Disk;

const logger: Logger = {
  debug: () => {},
  info: (text) => void told.push(`info ${text}`),
  warn: (text, fields) => void told.push(`warn ${text} ${JSON.stringify(fields)}`),
  error: (text, fields) => void told.push(`error ${text} ${JSON.stringify(fields)}`),
  child: () => logger,
};

function put(pair: { certificate: string; key: string }): void {
  contents['/c.crt'] = pair.certificate;
  contents['/c.key'] = pair.key;
}

const open = () =>
  CredentialKeeper.open({
    read: (nowMs) => readCredentials(disk, files, nowMs),
    ...{ clock, logger },
  });

/** Looks until then at the files as often as it does. */
async function wait(ms: number): Promise<void> {
  const untilMs = clock.monotonicMs() + ms;
  let over = false;
  clock.setTimer(ms, () => {
    over = true;
  });
  while (!over && clock.monotonicMs() <= untilMs) await clock.step();
}

beforeEach(() => {
  contents = { '/ca.crt': authority.certificate };
  clock = new WallClock();
  told = [];
  put(issued());
});

describe('what cannot be used at the start is refused, with the setting and the file', () => {
  test.each<[string, () => void, RegExp]>([
    [
      'no certificate',
      () => delete contents['/c.crt'],
      /^tls\.cert-file: \/c\.crt: cannot.*ENOENT/,
    ],
    ['no key', () => delete contents['/c.key'], /^tls\.key-file: \/c\.key: cannot be read/],
    ['no authority', () => delete contents['/ca.crt'], /^tls\.ca-file: \/ca\.crt: cannot be read/],
    [
      'the key of another',
      () => {
        contents['/c.key'] = issued().key;
      },
      /^tls\.key-file: \/c\.key: is not the key of the certificate in \/c\.crt$/,
    ],
    [
      'a certificate in the place of its key',
      () => {
        contents['/c.key'] = contents['/c.crt'];
      },
      /^tls\.key-file: .*is no private key in PEM/,
    ],
    [
      'a key in the place of its certificate',
      () => {
        contents['/c.crt'] = contents['/c.key'];
      },
      /^tls\.cert-file: .*has no certificate in PEM/,
    ],
    [
      'a damaged certificate',
      () => {
        contents['/ca.crt'] = authority.certificate.replace(/\n.{20}/, '\nAAAAAAAAAAAAAAAAAAAA');
      },
      /^tls\.ca-file: .*certificate 1 is damaged/,
    ],
    [
      'one that has expired',
      () => put(issued({ days: 1, nowMs: beganMs - 2 * DAY_MS })),
      /^tls\.cert-file: \/c\.crt: CN=n1 has expired, on /,
    ],
    [
      'one that is not yet valid',
      () => put(issued({ days: 1, nowMs: beganMs + DAY_MS })),
      /^tls\.cert-file: \/c\.crt: CN=n1 is not yet valid, but from /,
    ],
    [
      'one that is too large',
      () => {
        contents['/ca.crt'] = 'x'.repeat(limits.tlsFileBytesMax + 1);
      },
      /^tls\.ca-file: .*1048577 bytes/,
    ],
  ])('%s', async (_name, bend, text) => {
    bend();
    await expect(open()).rejects.toMatchObject({
      code: 'BAD_CONFIG',
      message: expect.stringMatching(text),
    });
  });

  test('what OpenSSL refuses', async () => {
    const pair = issued();
    put({ ...pair, certificate: pair.certificate + pair.certificate.slice(0, 100) });
    const tls = datanodeTlsField.parse({
      ...{ 'cert-file': '/c.crt', 'key-file': '/c.key', http: 'required' },
    });
    const kept = keepCredentials(tls, { clock, disk, logger, configFile: '/node.yaml' });
    await expect(kept).rejects.toThrow(/^tls: \/c\.crt and \/c\.key .*bad end line/);
  });
});

describe('files that change', () => {
  test('are taken at the next look, as a whole, and told of', async () => {
    const keeper = await open();
    const before = keeper.current;
    await wait(3 * limits.tlsFilesLookMs);
    expect(keeper.current).toBe(before);
    expect(told).toEqual([]);
    const next = issued();
    put(next);
    await wait(limits.tlsFilesLookMs);
    expect(keeper.current).toMatchObject({ certificate: next.certificate, key: next.key });
    contents['/ca.crt'] += newAuthority().certificate;
    await wait(limits.tlsFilesLookMs);
    expect(keeper.current.ends).toHaveLength(3);
    expect(told).toEqual(Array(2).fill('info new certificates: new connections get them'));
  });

  test('one after the other are no fault', async () => {
    const keeper = await open();
    const next = issued();
    contents['/c.crt'] = next.certificate;
    await wait(limits.tlsFilesLookMs);
    contents['/c.key'] = next.key;
    await wait(2 * limits.tlsFilesAgainMs);
    expect(keeper.current.key).toBe(next.key);
    expect(told).toHaveLength(1);
  });

  test('and are broken leave the old ones, told of once with name and reason', async () => {
    const keeper = await open();
    const before = keeper.current;
    contents['/c.key'] = 'broken';
    await wait(10 * limits.tlsFilesLookMs);
    expect(keeper.current).toBe(before);
    expect(told).toHaveLength(1);
    expect(told[0]).toMatch(
      /^error .*what was read before goes on.*tls\.key-file: \/c\.key: is no/,
    );
    contents['/c.key'] = undefined;
    await wait(2 * limits.tlsFilesLookMs);
    expect(told).toHaveLength(2);
    expect(told[1]).toContain('ENOENT');
    put(issued());
    await wait(2 * limits.tlsFilesLookMs);
    expect(keeper.current).not.toBe(before);
    contents['/c.key'] = 'broken';
    await wait(2 * limits.tlsFilesLookMs);
    expect(told).toHaveLength(4);
  });

  test('are looked at when an operator says so, and what is wrong is told at once', async () => {
    const keeper = await open();
    const next = issued();
    put(next);
    await keeper.reload();
    expect(keeper.current.key).toBe(next.key);
    contents['/c.key'] = 'broken';
    for (let times = 0; times < 2; times++) await keeper.reload();
    expect(told.filter((line) => line.startsWith('error'))).toHaveLength(2);
    expect(clock.monotonicMs()).toBe(0);
  });

  test('are looked at no more behind the end', async () => {
    const keeper = await open();
    keeper.stop();
    const before = keeper.current;
    put(issued());
    await keeper.reload();
    expect(keeper.current).toBe(before);
    expect(await clock.step()).toBe(false);
  });
});

describe('how long certificates are valid yet', () => {
  test('is told of the first of each file', async () => {
    const long = issued({ days: 90 });
    const short = issued({ days: 20 });
    put({ ...long, certificate: long.certificate + short.certificate });
    const days = (await open()).daysLeft();
    expect(days.map(({ file }) => file)).toEqual(['cert-file', 'ca-file']);
    expect(days[0]!.days).toBeCloseTo(20, 2);
    expect(days[1]!.days).toBeCloseTo(3_650, 1);
  });

  test('is warned of once at 30 and once at 7 days, and is an error behind the end', async () => {
    put(issued({ days: 31, nowMs: beganMs }));
    const keeper = await open();
    const lines = async (day: number) => {
      clock.spend(day * DAY_MS - clock.monotonicMs());
      await wait(3 * limits.tlsFilesLookMs);
      return told.splice(0).map((line) => line.replace(/ \{.*"days":(-?\d+).*/, ' $1'));
    };
    expect(await lines(0.5)).toEqual([]);
    expect(await lines(2.5)).toEqual(['warn a certificate expires soon: renew it 28']);
    expect(await lines(20)).toEqual([]);
    expect(await lines(25.5)).toEqual(['warn a certificate expires soon: renew it 5']);
    const [expired, ...more] = await lines(32);
    expect(more).toEqual([]);
    expect(expired).toMatch(/^error .*CN=n1 has expired/);
    put(issued({ days: 5, by: newAuthority(clock.wallMs()), nowMs: clock.wallMs() }));
    expect(await lines(32.5)).toEqual(
      [
        'warn a certificate expires soon: renew it 4',
        'info new certificates: new connections get them',
      ].reverse(),
    );
    expect(keeper.daysLeft()[0]!.days).toBeGreaterThan(3);
  });

  test('is an error for an authority that has expired', async () => {
    const old = newAuthority(beganMs - 10 * DAY_MS, 5);
    contents['/ca.crt'] += old.certificate;
    await open();
    expect(told).toEqual([expect.stringMatching(/^error a certificate has expired.*ca-file/)]);
  });
});

test('a process does not take a file that ends within a certificate', async () => {
  const tls = datanodeTlsField.parse({
    ...{ 'cert-file': '/c.crt', 'key-file': '/c.key', 'ca-file': '/ca.crt', nodes: 'required' },
  });
  const kept = await keepCredentials(tls, { clock, disk, logger, configFile: '/node.yaml' });
  const before = kept!.current;
  const renewed = issued();
  const [, cutOff] = renewed.certificate.match(/^([\s\S]{100})/)!;
  put({ ...renewed, certificate: `${renewed.certificate}${cutOff}` });
  await kept!.reload();
  expect(kept!.current).toBe(before);
  expect(told.at(-1)).toMatch(/cannot be used \(.*bad end line\)/);
  put(renewed);
  await kept!.reload();
  expect(kept!.current.certificate).toBe(renewed.certificate);
  kept!.stop();
});
