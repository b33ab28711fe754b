import { expect, test } from 'vitest';
import { limits } from '../../../src/common/limits.ts';
import { PostsWaiting } from '../../../src/datanode/pubsub/posts-waiting.ts';
import { fakeLink } from './mesh.ts';

test('a link of whose messages too much waits is not read until none of them waits', () => {
  const posts = new PostsWaiting();
  const [one, other] = [fakeLink(), fakeLink()];
  const half = limits.deliveries.peerBytes / 2;
  for (const link of [one, one, other]) posts.add(link, half);
  expect([one.isPaused, other.isPaused]).toEqual([false, false]);
  posts.add(one, 1);
  expect([one.isPaused, other.isPaused]).toEqual([true, false]);
  posts.remove(one, half);
  posts.remove(one, half);
  expect(one.isPaused).toBe(true);
  posts.remove(one, 1);
  expect(one.isPaused).toBe(false);
});
