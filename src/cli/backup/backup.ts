/** `kvorum backup`: every partition's keys into a file of its own, and a manifest behind them. */
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { KvorumError, messageOf } from '../../common/errors.ts';
import { KVORUM_VERSION } from '../../common/version.ts';
import { Api, type ApiFlags } from '../admin/api.ts';
import { bytesText, durationText, ProgressLine, tell } from '../admin/print.ts';
import type { NamespaceAnswer } from '../admin/shapes.ts';
import { makeDirs } from '../places.ts';
import { ClusterPlaces } from './cluster-places.ts';
import type { Login } from './gateway.ts';
import {
  type BackedFile,
  INCOMPLETE,
  MANIFEST,
  type Manifest,
  newManifest,
  readManifest,
  writeManifest,
} from './manifest.ts';
import { type Place, pullPartition } from './partition-pull.ts';
import { resumedNamespaces } from './resumed-namespaces.ts';
import { Throttle } from './throttle.ts';
import { saveUsers } from './users-file.ts';
import { fileProblem } from './verify.ts';

export interface BackupFlags extends ApiFlags, Login {
  readonly namespace?: readonly string[];
  readonly parallel: number;
  readonly rate: number;
  readonly patience: number;
  readonly resume?: boolean;
}

/** Rejects when one partition cannot be had: then there is no manifest, and `--resume` goes on. */
export async function backup(directory: string, flags: BackupFlags): Promise<void> {
  const api = new Api(flags);
  const places = new ClusterPlaces(api);
  const clusterId = await places.clusterId();
  const before = await prepareDirectory(directory, clusterId, flags.resume === true);
  const wanted = resumedNamespaces(before?.namespaces ?? [], flags.namespace);
  const namespaces = await namespacesOf(api, wanted);
  const manifest = before ?? newManifest(KVORUM_VERSION, clusterId, Date.now());
  const run = new BackupRun(directory, manifest, places, flags);
  await run.save();
  await run.pullAll(namespaces);
  manifest.users = await saveUsers(directory, await places.gateways(), namespaces[0]!.name, flags);
  manifest.endedMs = Date.now();
  await writeManifest(directory, MANIFEST, manifest);
  await rm(join(directory, INCOMPLETE), { force: true });
  tell(flags, summaryOf(directory, manifest), manifest);
}

function summaryOf(directory: string, { namespaces, begunMs, endedMs, users }: Manifest): string {
  const files = namespaces.flatMap((one) => one.files);
  const keys = files.reduce((sum, file) => sum + file.keys, 0);
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const libraries = files.reduce((sum, file) => sum + (file.libraries ?? 0), 0);
  const isLacking = files.some((file) => file.libraries === null);
  const ofFunctions = libraries > 0 ? `, ${libraries} libraries of functions` : '';
  const lacking = isLacking
    ? '; without libraries of functions, which older nodes give nobody'
    : '';
  const told = users === null ? '; without the users, whom this one may not see' : '';
  return (
    `${directory}: ${keys} keys of ${files.length} partitions${ofFunctions}, ${bytesText(bytes)}, ` +
    `in ${durationText(endedMs - begunMs)}${lacking}${told}`
  );
}

/** It is made if it is not there yet. */
async function namesIn(directory: string): Promise<readonly string[]> {
  try {
    makeDirs(directory);
    return await readdir(directory);
  } catch (cause) {
    const text = `${directory} cannot be used (${messageOf(cause)}); choose another directory`;
    throw new KvorumError('BAD_ARGUMENT', text, { cause });
  }
}

/** What there is of a backup that goes on. */
async function prepareDirectory(
  directory: string,
  clusterId: string,
  resume: boolean,
): Promise<Manifest | undefined> {
  const names = await namesIn(directory);
  if (names.includes(MANIFEST)) {
    throw new KvorumError('CONFLICT', `${directory} has a backup already: give another directory`);
  }
  if (names.length === 0) return undefined;
  const before = await readManifest(directory, INCOMPLETE);
  if (before === undefined) {
    throw new KvorumError('CONFLICT', `${directory} is not empty, and has no backup: give another`);
  }
  if (before.clusterId !== clusterId) {
    throw new KvorumError('CONFLICT', `${directory} has a part of a backup of another cluster`);
  }
  if (resume) return before;
  throw new KvorumError(
    'CONFLICT',
    `${directory} has a part of a backup: --resume goes on with it, files that are whole stay`,
  );
}

async function namespacesOf(
  api: Api,
  wanted: readonly string[] | undefined,
): Promise<readonly NamespaceAnswer[]> {
  const { namespaces } = await api.get<{ namespaces: NamespaceAnswer[] }>('/v1/namespaces');
  const ready = namespaces.filter(({ state }) => state === 'ready');
  const missing = wanted?.find((name) => !ready.some((one) => one.name === name));
  if (missing !== undefined) throw new KvorumError('NOT_FOUND', `there is no namespace ${missing}`);
  const chosen = ready.filter(({ name }) => wanted?.includes(name) ?? true);
  if (chosen.length === 0) throw new KvorumError('NOT_FOUND', 'there is no namespace');
  return chosen;
}

/** On a terminal one line is written over; elsewhere each is a new one. */
const SHOWN_MS = process.stdout.isTTY ? 500 : 10_000;

class BackupRun {
  readonly #directory: string;
  readonly #manifest: Manifest;
  readonly #places: ClusterPlaces;
  readonly #flags: BackupFlags;
  readonly #line: ProgressLine;
  readonly #throttle: Throttle;
  readonly #ended = new AbortController();
  readonly #startedMs = performance.now();
  #saving: Promise<void> = Promise.resolve();
  #bytes = 0;
  #done = 0;
  #all = 0;
  #shownMs = 0;

  constructor(directory: string, manifest: Manifest, places: ClusterPlaces, flags: BackupFlags) {
    this.#directory = directory;
    this.#manifest = manifest;
    this.#places = places;
    this.#flags = flags;
    this.#line = new ProgressLine(flags);
    this.#throttle = new Throttle(flags.rate);
  }

  save(): Promise<void> {
    this.#saving = this.#saving.then(() =>
      writeManifest(this.#directory, INCOMPLETE, this.#manifest),
    );
    return this.#saving;
  }

  /** The first failure that no waiting mends ends all of it. */
  async pullAll(namespaces: readonly NamespaceAnswer[]): Promise<void> {
    const left = await this.#prepare(namespaces);
    this.#all = left.length;
    const failures: unknown[] = [];
    const work = async () => {
      for (let next = left.shift(); next !== undefined; next = left.shift()) {
        try {
          await this.#pull(next);
        } catch (failure) {
          failures.push(failure);
          this.#ended.abort(new KvorumError('CANCELLED', 'another partition failed'));
          return;
        }
      }
    };
    await Promise.all(Array.from({ length: this.#flags.parallel }, work));
    this.#line.end();
    if (failures.length === 0) return;
    const more = `${this.#directory} is no backup yet: --resume goes on with it`;
    throw new KvorumError('STORE_UNAVAILABLE', `${messageOf(failures[0])}; ${more}`);
  }

  /** The partitions whose files are still to be made. */
  async #prepare(namespaces: readonly NamespaceAnswer[]): Promise<Place[]> {
    const before = this.#manifest.namespaces;
    const now: Manifest['namespaces'] = [];
    const left: Place[] = [];
    for (const { name, partitions, replicas, hash, reads, tags } of namespaces) {
      const all = await this.#places.partitions(name);
      const groups = new Map(all.map((one) => [one.partition, one.group]));
      const kept: BackedFile[] = [];
      for (const file of before.find((one) => one.name === name)?.files ?? []) {
        const isSame = groups.get(file.partition) === file.group;
        // as older builds have begun it
        if (file.partition === all[0]?.partition && typeof file.libraries !== 'number') continue;
        if (isSame && (await fileProblem(this.#directory, file)) === undefined) kept.push(file);
      }
      now.push({ name, partitions, replicas, hash, reads, tags: [...tags], files: kept });
      for (const { partition, slots } of all) {
        if (kept.some((file) => file.partition === partition)) continue;
        const withLibraries = partition === all[0]!.partition;
        left.push({ namespace: name, partition, slots: [slots[0], slots[1]], withLibraries });
      }
    }
    this.#manifest.namespaces = now;
    return left;
  }

  async #pull(place: Place): Promise<void> {
    const file = await pullPartition(
      {
        directory: this.#directory,
        login: this.#flags,
        throttle: this.#throttle,
        patienceMs: this.#flags.patience * 1_000,
        signal: this.#ended.signal,
        gatewaysOf: (...asked) => this.#places.gatewaysOf(...asked),
        onBytes: (bytes) => this.#show(bytes),
        onRetry: (why) => {
          if (!this.#flags.json) process.stderr.write(`begun anew: ${why}\n`);
        },
      },
      place,
    );
    const { files } = this.#manifest.namespaces.find(({ name }) => name === place.namespace)!;
    files.push(file);
    files.sort((a, b) => a.partition - b.partition);
    this.#done++;
    await this.save();
  }

  #show(bytes: number): void {
    this.#bytes += bytes;
    const nowMs = performance.now();
    if (nowMs - this.#shownMs < SHOWN_MS) return;
    this.#shownMs = nowMs;
    const rate = (this.#bytes * 1_000) / Math.max(1, nowMs - this.#startedMs);
    this.#line.show(
      `${this.#done} of ${this.#all} partitions, ${bytesText(this.#bytes)}, ${bytesText(rate)}/s`,
    );
  }
}
