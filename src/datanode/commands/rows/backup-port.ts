/** What a backup of a partition is to those who ask for it, on whichever node its state is held. */
import type { GroupId, LogIndex, Namespace, PartitionId, Slot, Term } from '../../../common/ids.ts';

/** One state of a partition that is held. */
export interface BackupState {
  /** For `page` and `close`; names the node as well. */
  readonly id: string;
  readonly partition: PartitionId;
  readonly group: GroupId;
  /** Its last entry. */
  readonly index: LogIndex;
  readonly term: Term;
  /** The group's time at which what is due is left out: milliseconds since 1970. */
  readonly timeMs: number;
  /** Some that are due are among them. */
  readonly keys: number;
  readonly expires: number;
  /** What the engine has on the disk, about. */
  readonly approximateBytes: number;
  /** Of the file that its keys are for. */
  readonly rdbVersion: number;
  /** Libraries of functions, which come before its keys; undefined: they are not given out with it. */
  readonly libraries?: number | undefined;
}

export interface BackupPage {
  readonly bytes: Buffer;
  /** Nothing follows. */
  readonly isLast: boolean;
  /** Written until now, and CRC-32 of all bytes until now. */
  readonly keys: number;
  readonly expires: number;
  readonly crc: number;
}

/** A partition as whoever backs up all of a namespace has to know it. */
export interface BackedPartition {
  readonly partition: PartitionId;
  readonly firstSlot: Slot;
  readonly lastSlot: Slot;
}

/** Rejects with KvorumError. */
export interface BackupPort {
  /** Of a namespace. */
  partitions(namespace: Namespace): readonly BackedPartition[];
  /**
   * Holds a state in which is all that was acknowledged before, on the node that leads. Of a namespace's
   * libraries of functions each partition has all: one is asked for them. A node of an older build
   * gives none out.
   */
  open(namespace: Namespace, partition: PartitionId, withLibraries: boolean): Promise<BackupState>;
  /** The page behind the first `offset` bytes; a state of which nobody asks for a minute is let go. */
  page(id: string, offset: number): Promise<BackupPage>;
  close(id: string): Promise<void>;
  /** 40 hex digits that nobody can know before: what the end of a file is told by. */
  mark(): string;
}
