import { describe, expect, test } from 'vitest';
import { parseEtcdUrls } from '../../src/cli/etcd-flag.ts';

describe('--etcd', () => {
  test('is taken by the rules of meta.endpoints, each member once', () => {
    expect(parseEtcdUrls('http://a:1/, b:2,http://a:1')).toEqual(['http://a:1', 'http://b:2']);
    expect(parseEtcdUrls('https://[::1]:2379')).toEqual(['https://[::1]:2379']);
  });

  test.each([
    ['http://a', /--etcd http:\/\/a: each must be an address as .* port/],
    ['http://a:1,', /--etcd http:\/\/a:1,: each must be an address/],
    ['http://a:99999', /from 1 to 65535/],
    ['http://a:1,https://b:1', /must be either all http or all https/],
  ])('%s is refused', (text, message) => {
    expect(() => parseEtcdUrls(text)).toThrow(
      expect.objectContaining({ code: 'BAD_CONFIG', message: expect.stringMatching(message) }),
    );
  });
});
