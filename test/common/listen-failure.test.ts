import { describe, expect, test } from 'vitest';
import { listenFailure } from '../../src/common/listen-failure.ts';
import { tcpNetwork } from '../../src/common/tcp.ts';

/** What a door that cannot be opened there says. */
async function told(host: string, port: number): Promise<unknown> {
  const address = { host, port };
  return tcpNetwork
    .listen(address, () => {})
    .then(
      () => 'it listens',
      (failure) => listenFailure(failure, address, 'ports.gateway'),
    );
}

describe('who cannot listen says what to change in the configuration', () => {
  test('the port, when another program has it', async () => {
    const holder = await tcpNetwork.listen({ host: '127.0.0.1', port: 0 }, () => {});
    expect(await told('127.0.0.1', holder.port)).toMatchObject({
      code: 'BAD_CONFIG',
      message: expect.stringMatching(
        /^cannot listen on 127\.0\.0\.1:\d+ \(.*EADDRINUSE.*\); stop the program that does, or change ports\.gateway in the configuration$/,
      ),
    });
    await holder.close();
  });

  test('the host, when it is no address of this machine', async () => {
    expect(await told('192.0.2.1', 7_999)).toMatchObject({
      code: 'BAD_CONFIG',
      message: expect.stringMatching(
        /\(.*EADDRNOTAVAIL.*\); change `listen` or, without it, `host` in the configuration/,
      ),
    });
  });

  test('the host, when its name has no address', async () => {
    expect(await told('nobody.invalid', 7_999)).toMatchObject({
      code: 'BAD_CONFIG',
      message: expect.stringMatching(/cannot listen on nobody\.invalid:7999 .*`host`.*that name/),
    });
  });

  test('nothing, when something else is wrong', () => {
    const failure = Object.assign(new Error('listen EMFILE'), { code: 'EMFILE' });
    expect(listenFailure(failure, { host: '::1', port: 1 }, 'ports.http')).toBe(failure);
  });

  test('the address is written as it is read', () => {
    const failure = Object.assign(new Error('listen EACCES'), { code: 'EACCES' });
    expect(listenFailure(failure, { host: '::1', port: 80 }, 'ports.http')).toMatchObject({
      message:
        'cannot listen on [::1]:80 (listen EACCES); change ports.http in the configuration: ' +
        'this user may not take that port',
    });
  });
});
