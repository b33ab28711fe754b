/** How a replica reacts to a new configuration, from the log or from a snapshot. */
import { assert } from '../../common/assert.ts';
import { changeConf } from './conf-change.ts';
import { becomeFollower, type Core, setConf } from './core.ts';
import { maybeCommit } from './leader.ts';
import { type ConfChange, type ConfState, NONE } from './message.ts';
import { broadcastAppend, sendAppend } from './replication.ts';

/**
 * Applies a committed change. Returns the configuration as of its entry. Throws when it does not
 * fit.
 */
export function applyConfChange(core: Core, change: ConfChange): ConfState {
  const result = changeConf(core.confBeforeSnapshot ?? core.tracker.conf, change);
  assert(
    result.ok,
    () => `a committed membership change is inadmissible: ${result.ok || result.error}`,
  );
  if (core.confBeforeSnapshot !== undefined) {
    core.confBeforeSnapshot = result.conf;
    return result.conf;
  }
  switchConf(core, result.conf);
  return core.tracker.conf;
}

/** Acts under `conf` from now on. */
export function switchConf(core: Core, conf: ConfState): void {
  setConf(core, conf);
  // What promised was a quorum of the former members.
  core.reads.endLease();
  if (core.role !== 'leader') return;
  const own = core.tracker.progress(core.id);
  if (own === undefined || own.learner) {
    if (core.config.stepDownOnRemoval) becomeFollower(core, core.term, NONE);
    return;
  }
  if (core.tracker.conf.voters.length === 0) return;
  if (maybeCommit(core)) {
    // A smaller quorum may hold more.
    broadcastAppend(core);
  } else {
    // New members are probed at once instead of at the next heartbeat.
    for (const replica of core.tracker.members) {
      if (replica !== core.id) sendAppend(core, replica, false);
    }
  }
  if (core.leadTransferee !== NONE && !core.tracker.isVoter(core.leadTransferee)) {
    core.leadTransferee = NONE;
  }
}
