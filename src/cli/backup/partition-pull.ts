/** One partition's file, from whichever node leads it; begun anew when that is lost. */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { crc32 } from '../../common/checksum.ts';
import { codeOf, KvorumError, messageOf } from '../../common/errors.ts';
import type { Address } from '../../common/network.ts';
import { KVORUM_VERSION } from '../../common/version.ts';
import { encodeRdbFileHead, RDB_END } from '../../datanode/encoding/rdb/rdb-frame.ts';
import type { Reply } from '../../sdk/connection.ts';
import { isHopeless } from '../hopeless.ts';
import { FileWriter } from './file-writer.ts';
import { Gateway, type Login, RefusedError } from './gateway.ts';
import type { BackedFile } from './manifest.ts';
import type { Throttle } from './throttle.ts';

export interface PullGround {
  readonly directory: string;
  readonly login: Login;
  readonly throttle: Throttle;
  /** No partition is begun anew for longer than that. */
  readonly patienceMs: number;
  /** Ends all of it. */
  readonly signal: AbortSignal;
  /** Gateway ports, that of the leader first. */
  gatewaysOf(namespace: string, partition: number): Promise<readonly Address[]>;
  /** `bytes` more are written of it; fewer than none: it is begun anew. */
  onBytes(bytes: number): void;
  onRetry(why: string): void;
}

export interface Place {
  readonly namespace: string;
  readonly partition: number;
  readonly slots: [number, number];
  /** Its file has the libraries of functions as well. */
  readonly withLibraries: boolean;
}

const RETRY_MS = 500;

/** Rejects when it cannot be had. */
export async function pullPartition(ground: PullGround, place: Place): Promise<BackedFile> {
  let untilMs = performance.now() + ground.patienceMs;
  for (let at = 0; ; at++) {
    const written = { bytes: 0 };
    try {
      const gateways = await ground.gatewaysOf(place.namespace, place.partition);
      return await pullFrom(ground, place, gateways[at % gateways.length]!, written);
    } catch (failure) {
      ground.onBytes(-written.bytes);
      const why = `${place.namespace}/${place.partition}: ${messageOf(failure)}`;
      if (!mayPass(failure)) throw new KvorumError('STORE_UNAVAILABLE', why, { cause: failure });
      // what has come some way was no vain attempt
      if (written.bytes > 0) untilMs = performance.now() + ground.patienceMs;
      if (performance.now() >= untilMs || ground.signal.aborted) {
        throw new KvorumError('STORE_UNAVAILABLE', why, { cause: failure });
      }
      ground.onRetry(why);
      await sleep(RETRY_MS);
    }
  }
}

async function pullFrom(
  ground: PullGround,
  place: Place,
  address: Address,
  written: { bytes: number },
): Promise<BackedFile> {
  const { namespace, partition, slots } = place;
  const gateway = new Gateway(address, namespace, ground.login);
  const file = `${namespace}/${partition}.rdb`;
  let writer: FileWriter | undefined;
  try {
    const state = await openState(gateway, place);
    writer = await FileWriter.create(join(ground.directory, file));
    const counts = await copyPages(ground, gateway, state, writer, written);
    const { bytes } = writer;
    const sha256 = await writer.finish();
    await gateway.ask('KV.BACKUP', 'CLOSE', state.text('id')).catch(() => {});
    const [group, index, term] = [
      state.number('group'),
      state.number('index'),
      state.number('term'),
    ];
    const [timeMs, rdbVersion] = [state.number('time-ms'), state.number('rdb-version')];
    return {
      partition,
      slots,
      file,
      group,
      index,
      term,
      timeMs,
      ...counts,
      bytes,
      sha256,
      rdbVersion,
      ...(place.withLibraries && {
        libraries: state.has('libraries') ? state.number('libraries') : null,
      }),
    };
  } catch (failure) {
    await writer?.abandon();
    throw failure;
  } finally {
    gateway.close();
  }
}

/** Held by the leader; a node of an older build knows nothing of libraries. */
async function openState(gateway: Gateway, { partition, withLibraries }: Place): Promise<Fields> {
  const line = ['KV.BACKUP', 'OPEN', partition] as const;
  if (!withLibraries) return fieldsOf(await gateway.ask(...line));
  try {
    return fieldsOf(await gateway.ask(...line, 'LIBRARIES'));
  } catch (failure) {
    const isOlder = failure instanceof RefusedError && TOO_MANY_WORDS.test(failure.message);
    if (!isOlder) throw failure;
    return fieldsOf(await gateway.ask(...line));
  }
}

const TOO_MANY_WORDS = /^ERR wrong number of arguments/;

async function copyPages(
  { throttle, signal, onBytes }: PullGround,
  gateway: Gateway,
  state: Fields,
  writer: FileWriter,
  written: { bytes: number },
): Promise<{ keys: number; expires: number }> {
  const [keys, expires] = [state.number('keys'), state.number('expires')];
  const madeS = Math.floor(state.number('time-ms') / 1_000);
  const version = state.number('rdb-version');
  await writer.write(encodeRdbFileHead({ version, madeS, madeBy: KVORUM_VERSION, keys, expires }));
  const id = state.text('id');
  let [offset, crc] = [0, 0];
  for (;;) {
    signal.throwIfAborted();
    const page = pageOf(await gateway.ask('KV.BACKUP', 'NEXT', id, offset));
    crc = crc32(page.bytes, crc);
    if (crc !== page.crc) throw new KvorumError('CONNECTION_LOST', 'a page arrived damaged');
    await writer.write(page.bytes);
    offset += page.bytes.length;
    written.bytes = offset;
    onBytes(page.bytes.length);
    if (page.isLast) {
      await writer.write(RDB_END);
      await writer.write(writer.crc64());
      return { keys: page.keys, expires: page.expires };
    }
    await throttle.spend(page.bytes.length);
  }
}

function pageOf(reply: Reply) {
  const [bytes, isLast, keys, expires, crc] = reply as readonly [Buffer, ...number[]];
  return { bytes, isLast: isLast === 1, keys: keys!, expires: expires!, crc: crc! };
}

/** Names and values in turn. */
interface Fields {
  text(name: string): string;
  number(name: string): number;
  has(name: string): boolean;
}

function fieldsOf(reply: Reply): Fields {
  const items = reply as readonly Reply[];
  const values = new Map<string, string>();
  for (let at = 0; at < items.length; at += 2) values.set(String(items[at]), String(items[at + 1]));
  const text = (name: string) => values.get(name) ?? '';
  return { text, number: (name) => Number(text(name)), has: (name) => values.has(name) };
}

/** A leader was lost, or many backups are being taken. Damage, and what this user may not do, stay. */
function mayPass(failure: unknown): boolean {
  if (failure instanceof RefusedError) {
    return /^(?:CLUSTERDOWN|TRYAGAIN|LOADING|UNKNOWNOUTCOME)|NOT_FOUND: no backup|CANCELLED:/.test(
      failure.message,
    );
  }
  if (isHopeless(messageOf(failure))) return false;
  const code = codeOf(failure);
  return code === 'CONNECTION_LOST' || code === 'STORE_UNAVAILABLE';
}
