/**
 * Answers of /query as they were last written, one per namespace: every client asks anew at the same
 * moment, when something has changed. An epoch stands for one answer as long as one view tells it.
 */
import type { Namespace, Revision } from '../../common/ids.ts';
import type { Picture } from '../picture.ts';
import { zanNamespace } from './zan-shapes.ts';

export class QueryAnswers {
  readonly #written = new Map<Namespace, { readonly epoch: Revision; readonly body: string }>();

  /** JSON, of a namespace that is there; those of namespaces that went are dropped. */
  of(picture: Picture, namespace: Namespace, epoch: Revision): string {
    const known = this.#written.get(namespace);
    if (known?.epoch === epoch) return known.body;
    for (const name of this.#written.keys()) {
      if (!picture.namespace(name)?.ready) this.#written.delete(name);
    }
    const body = JSON.stringify(zanNamespace(picture, namespace, epoch));
    this.#written.set(namespace, { epoch, body });
    return body;
  }
}
