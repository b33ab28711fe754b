import { describe, expect, test } from 'vitest';
import {
  credentialFiles,
  datanodeTlsField,
  isUsed,
  placedriverTlsField,
} from '../../../src/common/tls/config.ts';

const pair = { 'cert-file': 'n1.crt', 'key-file': 'n1.key' };

test('without a section nothing speaks TLS', () => {
  const tls = datanodeTlsField.parse(undefined);
  expect(tls).toMatchObject({ clients: 'off', nodes: 'off', http: 'off' });
  expect(tls).toMatchObject({ 'client-certificates': 'ignore', 'client-certificate-user': 'off' });
  expect([isUsed(tls), isUsed(placedriverTlsField.parse(undefined))]).toEqual([false, false]);
});

test.each([
  { clients: 'optional' },
  { http: 'required' },
  { nodes: 'accept', 'ca-file': 'ca.crt' },
])('%j is TLS, and needs a certificate and its key', (section) => {
  expect(isUsed(datanodeTlsField.parse({ ...pair, ...section }))).toBe(true);
  for (const missing of ['cert-file', 'key-file']) {
    const { error } = datanodeTlsField.safeParse({ ...pair, ...section, [missing]: undefined });
    expect(error?.issues[0]?.message).toBe('TLS needs both cert-file and key-file');
  }
});

test('a placedriver has no ports of clients or nodes', () => {
  expect(placedriverTlsField.safeParse({ ...pair, clients: 'optional' }).success).toBe(false);
  expect(isUsed(placedriverTlsField.parse({ ...pair, http: 'optional' }))).toBe(true);
  expect(placedriverTlsField.safeParse({ http: 'optional' }).success).toBe(false);
});

describe('who is to check certificates of others must know an authority', () => {
  test.each([
    [{ nodes: 'dial' }, 'ca-file'],
    [{ clients: 'optional', 'client-certificates': 'optional' }, 'ca-file'],
    [{ clients: 'optional', 'client-certificate-user': 'common-name' }, 'client-certificate-user'],
  ])('%j', (section, path) => {
    const { error } = datanodeTlsField.safeParse({ ...pair, ...section });
    expect(error?.issues.map((issue) => issue.path.join('.'))).toEqual([path]);
  });
});

test('files lie beside the configuration, or where a whole path says', () => {
  const tls = datanodeTlsField.parse({ ...pair, 'ca-file': '/etc/ca.crt', clients: 'required' });
  expect(credentialFiles(tls, '/etc/kvorum')).toEqual({
    certificate: '/etc/kvorum/n1.crt',
    key: '/etc/kvorum/n1.key',
    authorities: '/etc/ca.crt',
  });
  const { 'ca-file': _, ...without } = tls;
  expect(credentialFiles(without, '.')).toEqual({ certificate: 'n1.crt', key: 'n1.key' });
});
