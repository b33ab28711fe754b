/** What a path names in a document, and changes there. */
import { limits } from '../../../common/limits.ts';
import type { Slices } from '../steps/slices.ts';
import { passes } from './json-filter.ts';
import type { JsonPath } from './json-path.ts';
import type { Filter, PathOperand, PathStep } from './json-steps.ts';
import { isContainer, type Json, type JsonContainer, JsonError, Strides } from './json-value.ts';

/** A value and where it is. */
export interface Spot {
  readonly value: Json;
  /** Undefined: the document itself. */
  readonly within: Within | undefined;
}

interface Within {
  readonly container: JsonContainer;
  readonly at: number | string;
  readonly spot: Spot;
}

/**
 * What paths have passed, found and compared in a document: beyond a bound they are refused, since `$..*..*` passes more values than
 * any document has.
 */
export class PathWalk {
  readonly strides = new Strides();
  readonly root: Json;
  readonly #passMax: number;
  #passed = 0;

  constructor(root: Json, passMax: number = limits.jsonWalkMax) {
    this.root = root;
    this.#passMax = passMax;
  }

  get passed(): number {
    return this.#passed;
  }

  pass(count = 1): void {
    this.#passed += count;
    this.strides.add(count);
    if (this.#passed > this.#passMax) {
      throw new JsonError(`the path passes more than ${this.#passMax} values`);
    }
  }
}

/** All that `path` names in `root`, in the document's order. Throws JsonError where it goes too far. */
export function* findSpots(
  root: Json,
  { steps }: JsonPath,
  walk: PathWalk = new PathWalk(root),
): Slices<Spot[]> {
  let spots: Spot[] = [{ value: root, within: undefined }];
  for (let at = 0; at < steps.length; at++) {
    const step = steps[at]!;
    const found: Spot[] = [];
    for (const spot of spots) {
      const inner = step.kind === 'deep' ? within(spot) : [spot];
      for (const one of inner) {
        if (walk.strides.isDue) yield* walk.strides.rest();
        walk.pass();
        yield* take(one, step.kind === 'deep' ? steps[at + 1]! : step, walk, found);
      }
    }
    if (step.kind === 'deep') at++;
    spots = found;
  }
  return mayRepeat(steps) ? yield* distinct(spots, walk.strides) : spots;
}

/** `spot` and all that is in it, what comes first first. */
function* within(spot: Spot): Iterable<Spot> {
  const waiting: Iterator<Spot>[] = [[spot][Symbol.iterator]()];
  for (;;) {
    const last = waiting.at(-1);
    if (last === undefined) return;
    const step = last.next();
    if (step.done) {
      waiting.pop();
      continue;
    }
    yield step.value;
    if (isContainer(step.value.value)) waiting.push(childrenOf(step.value));
  }
}

function* childrenOf(spot: Spot): Generator<Spot, void> {
  const { value } = spot;
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) yield childOf(spot, value, at, value[at]!);
  } else if (value instanceof Map) {
    for (const [name, inner] of value) yield childOf(spot, value, name, inner);
  }
}

function childOf(spot: Spot, container: JsonContainer, at: number | string, value: Json): Spot {
  return { value, within: { container, at, spot } };
}

/** Adds to `found` what one step leads to from `spot`. */
function* take(spot: Spot, step: PathStep, walk: PathWalk, found: Spot[]): Slices<void> {
  const { value } = spot;
  if (!isContainer(value)) return;
  if (step.kind === 'all' || step.kind === 'filter') {
    for (const child of childrenOf(spot)) {
      if (walk.strides.isDue) yield* walk.strides.rest();
      walk.pass();
      if (step.kind === 'all' || isPassing(step.filter, child, walk)) found.push(child);
    }
  } else if (step.kind === 'names') {
    if (Array.isArray(value)) return;
    const before = found.length;
    for (const name of step.names) {
      const inner = value.get(name);
      if (inner !== undefined) found.push(childOf(spot, value, name, inner));
    }
    // to look up what is not there is work, too
    walk.pass(found.length - before + Math.floor(step.names.length / 8));
  } else if (Array.isArray(value)) {
    const places = placesOf(step, value.length);
    walk.pass(places.length);
    for (const at of places) found.push(childOf(spot, value, at, value[at]!));
  }
}

function placesOf(step: PathStep, length: number): number[] {
  if (step.kind === 'indexes') {
    return step.indexes
      .map((index) => (index < 0 ? length + index : index))
      .filter((at) => at >= 0 && at < length);
  }
  if (step.kind !== 'slice') return [];
  const from = placeOf(step.from ?? 0, length);
  const to = placeOf(step.to ?? length, length);
  const places: number[] = [];
  for (let at = from; at < to; at += step.by) places.push(at);
  return places;
}

/** Negative ones count from the end; beyond: cut. */
export function placeOf(index: number, length: number): number {
  return Math.min(Math.max(index < 0 ? length + index : index, 0), length);
}

function isPassing(filter: Filter, spot: Spot, walk: PathWalk): boolean {
  const { root } = walk;
  const all = new PathWalk(root, limits.jsonFilterMax);
  const find = ({ from, steps }: PathOperand) => {
    const own = new PathWalk(root, limits.jsonFilterWalkMax);
    const found = first(from === 'root' ? root : spot.value, steps, own);
    all.pass(own.passed);
    return found;
  };
  const isPassed = passes(filter, { find, spend: (values) => all.pass(values) });
  walk.pass(all.passed);
  return isPassed;
}

/** The first value that the steps name from `value` on. */
function first(value: Json, steps: readonly PathStep[], walk: PathWalk): Json | undefined {
  const [step, ...rest] = steps;
  walk.pass();
  if (step === undefined) return value;
  const spot: Spot = { value, within: undefined };
  const inner = step.kind === 'deep' ? within(spot) : [spot];
  const [own, others] = step.kind === 'deep' ? [rest[0]!, rest.slice(1)] : [step, rest];
  for (const one of inner) {
    walk.pass();
    for (const found of taken(one, own, walk)) {
      const ended = first(found.value, others, walk);
      if (ended !== undefined) return ended;
    }
  }
  return undefined;
}

/** As `take`, at once: a filter's own paths are short, and what they pass is counted. */
function taken(spot: Spot, step: PathStep, walk: PathWalk): readonly Spot[] {
  const found: Spot[] = [];
  const steps = take(spot, step, walk, found);
  while (!steps.next([]).done);
  return found;
}

/** Whether a value may be met on several ways. */
function mayRepeat(steps: readonly PathStep[]): boolean {
  const lists = steps.filter(
    (step) =>
      step.kind === 'deep' ||
      (step.kind === 'names' && step.names.length > 1) ||
      (step.kind === 'indexes' && step.indexes.length > 1),
  );
  return lists.length > 1 || (lists.length === 1 && lists[0]!.kind !== 'deep');
}

/** Each once. */
function* distinct(spots: readonly Spot[], strides: Strides): Slices<Spot[]> {
  const seen = new Map<JsonContainer | undefined, Set<number | string>>();
  const kept: Spot[] = [];
  for (const spot of spots) {
    if (strides.isDue) yield* strides.rest();
    const container = spot.within?.container;
    const at = spot.within?.at ?? '';
    const places = seen.get(container) ?? new Set();
    if (places.has(at)) continue;
    seen.set(container, places.add(at));
    kept.push(spot);
  }
  return kept;
}

/** Those that lie in none of the others: what is above them is changed as a whole. */
export function* outermost(spots: readonly Spot[]): Slices<Spot[]> {
  if (spots.length < 2) return [...spots];
  const strides = new Strides();
  const named = new Set(spots.map(keyOf));
  const kept: Spot[] = [];
  for (const spot of spots) {
    if (strides.isDue) yield* strides.rest();
    let up = spot.within?.spot;
    while (up !== undefined && !named.has(keyOf(up))) up = up.within?.spot;
    if (up === undefined) kept.push(spot);
  }
  return kept;
}

/** Containers are told apart by what they are: no other spot has the same one. */
function keyOf({ value, within }: Spot): unknown {
  return isContainer(value) ? value : (within ?? value);
}

/** Puts `value` there; returns the document, which is another when the spot is its root. */
export function replaceAt(root: Json, { within }: Spot, value: Json): Json {
  if (within === undefined) return value;
  const { container, at } = within;
  if (Array.isArray(container)) container[at as number] = value;
  else container.set(at as string, value);
  return root;
}

/** Takes out values none of which lies in another; none is the document itself. */
export function removeAll(spots: readonly Spot[]): void {
  const elements = new Map<Json[], Set<number>>();
  for (const { within } of spots) {
    if (within === undefined) continue;
    const { container, at } = within;
    if (!Array.isArray(container)) {
      container.delete(at as string);
      continue;
    }
    const places = elements.get(container);
    if (places === undefined) elements.set(container, new Set([at as number]));
    else places.add(at as number);
  }
  for (const [array, places] of elements) {
    refill(
      array,
      array.filter((_, at) => !places.has(at)),
    );
  }
}

/** Makes the same array hold `items`. */
export function refill(array: Json[], items: readonly Json[]): void {
  array.length = 0;
  for (const item of items) array.push(item);
}
