/**
 * The judge of pipelines: what one Redis would answer to SET, GET, INCR and DEL on few keys. A write
 * whose outcome is unknown leaves its key in one of two states until a later reply decides.
 */
export type Step =
  | { readonly op: 'set'; readonly key: string; readonly value: string }
  | { readonly op: 'get' | 'incr' | 'del'; readonly key: string };

export type Answer =
  | { readonly kind: 'reply'; readonly value: string | number | null }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'refused' };

type Value = string | null;

export class PipelineModel {
  readonly #states = new Map<string, ReadonlySet<Value>>();

  /** Folds one answer in; returns what is wrong with it, or undefined. */
  judge(step: Step, answer: Answer): string | undefined {
    const before = this.#states.get(step.key) ?? new Set<Value>([null]);
    if (answer.kind === 'refused') return undefined;
    const after = new Set<Value>();
    for (const value of before) {
      const { next, reply } = run(step, value);
      if (answer.kind === 'unknown') {
        after.add(value);
        after.add(next);
      } else if (reply === answer.value) {
        after.add(next);
      }
    }
    if (after.size === 0) {
      const possible = [...before].map((value) => JSON.stringify(run(step, value).reply));
      const got = JSON.stringify(answer);
      return `${step.op} ${step.key}: answered ${got}, possible were ${possible.join(' or ')}`;
    }
    this.#states.set(step.key, after);
    return undefined;
  }
}

const NOT_AN_INTEGER = 'ERR value is not an integer or out of range';

function run(step: Step, value: Value): { next: Value; reply: string | number | null } {
  switch (step.op) {
    case 'set':
      return { next: step.value, reply: 'OK' };
    case 'get':
      return { next: value, reply: value };
    case 'del':
      return { next: null, reply: value === null ? 0 : 1 };
    case 'incr': {
      const number = value === null ? 0 : Number(value);
      if (!Number.isInteger(number)) return { next: value, reply: NOT_AN_INTEGER };
      return { next: String(number + 1), reply: number + 1 };
    }
  }
}
