/**
 * `kvorum datanode` and `kvorum placedriver`: one process from its config file, until a signal. Each
 * role is loaded by who plays it: what the other needs costs a third of a start, and memory.
 */

import os from 'node:os';
import { dirname, resolve } from 'node:path';
import { isatty } from 'node:tty';
import { getHeapStatistics } from 'node:v8';
import { smallBufferPools } from '../common/buffer-pools.ts';
import { systemClock } from '../common/clock.ts';
import { messageOf } from '../common/errors.ts';
import { fsDisk } from '../common/fs-disk.ts';
import type { Logger } from '../common/log.ts';
import { systemRandom } from '../common/random.ts';
import { tcpNetwork } from '../common/tcp.ts';
import { credentialFiles, type PlacedriverTls } from '../common/tls/config.ts';
import { KVORUM_VERSION } from '../common/version.ts';
import { yieldingCompactions } from './compactions.ts';
import { loadConfig } from './config-file.ts';
import { endNow } from './end-now.ts';
import { localSockets } from './local-sockets.ts';
import { createLogger } from './logger.ts';
import { tuneHeap } from './node-flags.ts';
import { openFilesMax } from './open-files.ts';
import { preparePlaces } from './places.ts';
import { plainGlobals } from './plain-globals.ts';
import { birthOf, isAlive, type RunFile, tellRunFile } from './run-file.ts';

export interface ProcessOptions {
  readonly config: string;
  /** End with standard input: the parent has gone. Set by `kvorum start`. */
  readonly lifeLine?: boolean;
}

/** Each is looked up when it is read: the heap alone is, all the time, and costs no call of the system. */
function processUsage() {
  return {
    get rssBytes() {
      return process.memoryUsage.rss();
    },
    get heapBytes() {
      const { used_heap_size, external_memory } = getHeapStatistics();
      return used_heap_size + external_memory;
    },
    get cpuUserSeconds() {
      return process.cpuUsage().user / 1e6;
    },
    get cpuSystemSeconds() {
      return process.cpuUsage().system / 1e6;
    },
  };
}

interface Running {
  readonly ports: RunFile['ports'];
  /** `handOver` false: the whole cluster stops, nobody takes over. */
  stop(options: { readonly handOver: boolean }): Promise<void>;
  /** What a SIGHUP asks for of a process without a terminal; absent: that it stops. */
  readonly reload?: (() => Promise<void>) | undefined;
}

const STOP_MS = 15_000;
const PARENT_ENDED = 'the parent ended';
/** Asked at the start: one that has gone is none. */
const onTerminal = [0, 1, 2].some((fd) => isatty(fd));

/** The machine's, or what a container may have of it. */
function memoryBytes(): number {
  return Math.min(os.totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
}

export async function runDatanode(options: ProcessOptions): Promise<void> {
  plainGlobals();
  smallBufferPools();
  tuneHeap();
  const files = openFilesMax();
  const { assertOpenFiles } = await import('../datanode/clients-room.ts');
  // what comes next opens hundreds
  assertOpenFiles(files);
  const [{ datanodeConfigSchema }, { startDatanode }] = await Promise.all([
    import('../datanode/config.ts'),
    import('../datanode/main.ts'),
  ]);
  const config = loadConfig(options.config, datanodeConfigSchema);
  preparePlaces(options.config, config);
  const logger = createLogger(config.name, config.log);
  logStart(logger, options, config);
  const world = {
    ...hostWorld(logger),
    network: tcpNetwork,
    configFile: options.config,
    os: `${os.type()} ${os.release()} ${os.machine()}`,
    systemMemoryBytes: memoryBytes(),
    openFilesMax: files,
    usage: processUsage,
  };
  await run(config, 'datanode', options, logger, async () => {
    const thread = await yieldingCompactions();
    if (typeof thread === 'string')
      logger.debug('compactions as urgent as requests', { why: thread });
    return await startDatanode(config, world);
  });
}

export async function runPlacedriver(options: ProcessOptions): Promise<void> {
  const [{ placedriverConfigSchema }, { startPlacedriver }] = await Promise.all([
    import('../placedriver/config.ts'),
    import('../placedriver/main.ts'),
  ]);
  const config = loadConfig(options.config, placedriverConfigSchema);
  preparePlaces(options.config, config);
  const logger = createLogger(config.name, config.log);
  logStart(logger, options, config);
  const configFile = options.config;
  const world = { ...hostWorld(logger), configFile, setLogLevel: logger.setLevel };
  await run(config, 'placedriver', options, logger, () => startPlacedriver(config, world));
}

/** What processes of either role are given of the host. */
function hostWorld(logger: Logger) {
  return {
    clock: systemClock,
    random: systemRandom(),
    disk: fsDisk,
    logger,
    processId: process.pid,
    isAlive,
    birthOf,
    sockets: localSockets(logger),
    fatal: (error: Error) => die(logger, error),
  };
}

/** A log outlives its processes: what follows is of this one, and of this build. */
function logStart(
  logger: Logger,
  { config }: ProcessOptions,
  { 'data-dir': dataDir }: { readonly 'data-dir': string },
): void {
  const { pid, version: node } = process;
  logger.info('starting', { version: KVORUM_VERSION, pid, config, dataDir, node });
}

async function run(
  config: {
    readonly name: string;
    readonly host: string;
    readonly 'run-file'?: string | undefined;
    readonly tls: PlacedriverTls;
  },
  role: RunFile['role'],
  options: ProcessOptions,
  logger: Logger,
  start: () => Promise<Running>,
): Promise<void> {
  process.on('uncaughtException', (error) => die(logger, error));
  process.on('unhandledRejection', (reason) =>
    die(logger, reason instanceof Error ? reason : new Error(messageOf(reason))),
  );
  let running: Running | undefined;
  const reload = () => (onTerminal ? undefined : running?.reload);
  onEnd(options.lifeLine === true, reload, (why) => stop(running, logger, why));
  running = await start();
  if (config['run-file'] !== undefined) {
    const { name, host } = config;
    const { pid } = process;
    const https = httpsOf(config.tls, options.config);
    const own = { name, role, pid, birth: birthOf(pid), host, ...https, ports: running.ports };
    tellRunFile(config['run-file'], own, logger);
  }
  logger.info('ready', { ports: running.ports });
}

/** What the run file tells of TLS at the HTTP port: those who ask are on this machine, as its files are. */
function httpsOf(tls: PlacedriverTls, config: string): Pick<RunFile, 'https'> {
  if (tls.http === 'off') return {};
  const { authorities } = credentialFiles(tls, dirname(resolve(config)));
  return { https: { mode: tls.http, ...(authorities !== undefined && { authorities }) } };
}

/** Calls `end` once, at the first reason to stop; listens from before the start on. */
function onEnd(
  lifeLine: boolean,
  reload: () => (() => Promise<void>) | undefined,
  end: (why: string) => void,
): void {
  let ended = false;
  const once = (why: string) => {
    if (ended) return;
    ended = true;
    end(why);
  };
  process.on('SIGTERM', () => once('SIGTERM'));
  if (lifeLine) {
    // The terminal's Ctrl-C, and that it closes, reach the whole group; the parent alone decides the order.
    process.on('SIGINT', () => {});
    process.on('SIGHUP', () => void reload()?.());
    process.stdin.resume();
    process.stdin.on('end', () => once(PARENT_ENDED));
    process.stdin.on('error', () => once(PARENT_ENDED));
  } else {
    // SIGHUP: the terminal closes. `nohup` cannot be known: Node.js takes back that it is ignored.
    process.on('SIGINT', () => once('SIGINT'));
    process.on('SIGHUP', () => {
      const again = reload();
      if (again === undefined) once('SIGHUP');
      else void again();
    });
  }
}

/** A process that is still starting (it may wait for the metadata store) just ends. */
function stop(running: Running | undefined, logger: Logger, why: string): void {
  logger.info('stopping', { why });
  if (running === undefined) return exit(why);
  setTimeout(() => {
    die(logger, new Error(`not stopped within ${STOP_MS} ms`));
  }, STOP_MS).unref();
  running.stop({ handOver: why !== PARENT_ENDED }).then(
    () => exit(why),
    (failure) => die(logger, failure instanceof Error ? failure : new Error(messageOf(failure))),
  );
}

/** Node.js sets its terminal back as it exits, and aborts where that has gone (SIGHUP). */
function exit(why: string): never {
  return why === 'SIGHUP' && onTerminal ? endNow() : process.exit(0);
}

function die(logger: Logger, error: Error): never {
  try {
    tell(logger, error);
  } catch {
    // it ends all the same: where its words go may be what has failed
  }
  return endNow();
}

function tell(logger: Logger, error: Error): void {
  logger.error('fatal', { error: error.message, stack: error.stack });
  process.stderr.write(`kvorum: ${error.message}\n`);
}
