/** What the doors of a datanode may be told by its configuration. */
import { limits } from '../../common/limits.ts';

export interface ServerSettings {
  readonly clientsMax: number;
  /** Longest argument of a command, in bytes. */
  readonly valueBytesMax: number;
  /** How long a request waits for its partition to have a leader (decision 11). */
  readonly holdMs: number;
}

export const defaultServerSettings: ServerSettings = {
  clientsMax: limits.clientsMax,
  valueBytesMax: limits.valueBytesMax,
  holdMs: limits.holdMs,
};
