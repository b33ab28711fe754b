/**
 * What a simulated placedriver answers to clients that ask for the partitions: the product's own view
 * and shapes, without the routes of its HTTP server, which want sockets.
 */
import type { Clock } from '../../src/common/clock.ts';
import { codeOf, messageOf } from '../../src/common/errors.ts';
import { GroupStates } from '../../src/placedriver/balance/group-states.ts';
import { balanceView } from '../../src/placedriver/balance-view.ts';
import {
  holdingsOf,
  nodeAnswer,
  nodeNames,
  partitionAnswer,
  partitionsOf,
} from '../../src/placedriver/http/v1-shapes.ts';
import { zanNamespace } from '../../src/placedriver/http/zan-shapes.ts';
import { defaultPlacementSettings } from '../../src/placedriver/term.ts';
import type { ClusterView } from '../../src/placedriver/view/cluster-view.ts';
import type { Answered } from './sim-http.ts';

export function driverDoor(view: ClusterView, clock: Clock): (url: URL) => Answered {
  return (url) => {
    try {
      return answer(view, clock, url);
    } catch (failure) {
      const status = codeOf(failure) === 'STORE_UNAVAILABLE' ? 503 : 500;
      return { status, body: { message: messageOf(failure) } };
    }
  };
}

function answer(view: ClusterView, clock: Clock, { pathname, searchParams }: URL): Answered {
  const { picture } = view;
  const [root, word, name = '', what] = pathname.slice(1).split('/');
  if (root === 'query' && word !== undefined) {
    const epoch = view.epochOf(word);
    if (!picture.namespace(word)?.ready) return missing(`no namespace ${word}`);
    if (searchParams.get('epoch') === String(epoch)) return { status: 304 };
    return { status: 200, body: zanNamespace(picture, word, epoch) };
  }
  if (pathname === '/v1/nodes') {
    const holdings = holdingsOf(picture);
    const nowMs = clock.wallMs();
    const states = () => new GroupStates(balanceView(picture, defaultPlacementSettings, nowMs));
    const answer = (one: string) => nodeAnswer(picture, one, holdings, nowMs, states);
    const nodes = nodeNames(picture).map(answer);
    return { status: 200, body: { nodes } };
  }
  if (root === 'v1' && word === 'namespaces' && what === 'partitions') {
    const records = partitionsOf(picture, name);
    const partitions = records.map((record) => partitionAnswer(picture, record));
    return { status: 200, body: { partitions } };
  }
  return missing(`no route ${pathname}`);
}

function missing(message: string): Answered {
  return { status: 404, body: { message } };
}
