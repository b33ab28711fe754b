/** What peers posted and has not been taken: a link of which too much waits is not read. */
import { limits } from '../../common/limits.ts';
import type { PostLink } from '../transport/transport.ts';

export class PostsWaiting {
  readonly #bytes = new Map<PostLink, number>();

  /** A message of the link is to wait. */
  add(link: PostLink, bytes: number): void {
    const waiting = (this.#bytes.get(link) ?? 0) + bytes;
    this.#bytes.set(link, waiting);
    if (waiting > limits.deliveries.peerBytes) link.pause();
  }

  /** It has been taken: the link is read again when none of its messages waits. */
  remove(link: PostLink, bytes: number): void {
    const waiting = (this.#bytes.get(link) ?? 0) - bytes;
    if (waiting > 0) {
      this.#bytes.set(link, waiting);
      return;
    }
    this.#bytes.delete(link);
    link.resume();
  }
}
