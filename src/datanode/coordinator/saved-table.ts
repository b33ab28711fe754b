/**
 * The last picture of the cluster that this node has seen, in the file `table` of its data directory: a
 * node that starts while the metadata store is away serves from it.
 */
import { readChecked, writeChecked } from '../../common/checked-file.ts';
import { type Clock, sleep } from '../../common/clock.ts';
import type { Disk } from '../../common/disk.ts';
import { messageOf } from '../../common/errors.ts';
import type { Logger } from '../../common/log.ts';
import { type ClusterImage, IMAGE_VERSION } from './cluster-view.ts';

export interface SavedTableWorld {
  readonly clock: Clock;
  readonly disk: Disk;
  readonly dataDir: string;
  readonly logger: Logger;
}

/** Changes of a short while are written together. */
const SAVE_DELAY_MS = 50;

export class SavedTable {
  readonly #world: SavedTableWorld;
  readonly #path: string;
  readonly #stopping: AbortSignal;
  /** What is to be written, asked for when it is; undefined: nothing is. */
  #image: (() => ClusterImage) | undefined;
  #saving: Promise<void> | undefined;

  /** `stopping`: nothing more comes together with what is to be written. */
  constructor(world: SavedTableWorld, stopping: AbortSignal) {
    this.#world = world;
    this.#path = `${world.dataDir}/table`;
    this.#stopping = stopping;
  }

  /**
   * Undefined when there is none. One that is damaged, or cannot be read, is as good as none: the metadata
   * store has the table.
   */
  async read(): Promise<ClusterImage | undefined> {
    const { disk, logger } = this.#world;
    const remedy = 'waiting for the metadata store instead';
    try {
      const image = await readChecked<ClusterImage>(disk, this.#path, remedy);
      if (image === undefined || image.version === IMAGE_VERSION) return image;
      logger.warn('the saved table is of another version', { version: image.version, remedy });
      return undefined;
    } catch (failure) {
      logger.error('the saved table cannot be used', { error: messageOf(failure), remedy });
      return undefined;
    }
  }

  /** Writes what `image` is in a moment; a failure is logged, and the next change tries again. */
  save(image: () => ClusterImage): void {
    this.#image = image;
    this.#saving ??= this.#save();
  }

  /** Resolves when nothing is left to be written. */
  async settled(): Promise<void> {
    await this.#saving;
  }

  async #save(): Promise<void> {
    const { clock, disk, logger } = this.#world;
    while (this.#image !== undefined) {
      await sleep(clock, SAVE_DELAY_MS, this.#stopping).catch(() => {});
      const image = this.#image;
      this.#image = undefined;
      try {
        await writeChecked(disk, this.#path, image());
      } catch (failure) {
        logger.warn('the table could not be saved', { error: messageOf(failure) });
      }
    }
    this.#saving = undefined;
  }
}
