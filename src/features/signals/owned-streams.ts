/** The streams that a caller may see, and their events in the log. */
import { type Caller, tenantOf } from '../../kernel/caller.ts';
import { isoTime } from '../../kernel/clock.ts';
import type { Queryable, Tx } from '../../kernel/data/db.ts';
import { fail } from '../../kernel/fail.ts';
import { isUuid } from '../../kernel/ids.ts';
import type { SignalStreamDeps } from './feature.ts';
import {
  findStream,
  lockStream,
  recordActivity,
  type StoredStream,
  type StreamOwner,
} from './streams-store.ts';

/** An agent has the streams that it created; one that may manage webhooks also sees and deletes the others of its organization. */
const ownerFor = (caller: Caller): StreamOwner => ({
  organizationId: tenantOf(caller),
  agentId: caller.scopes.has('webhooks:write') ? undefined : caller.agentId,
});

/** A list is of one organization, also for operators. */
export const listedFor = (caller: Caller): StreamOwner => ({
  ...ownerFor(caller),
  organizationId: caller.organizationId,
});

/** SIGNAL_STREAM_NOT_FOUND unless the caller may see the stream. Each use by its agent shows that the receiver is there (SSF §8.1.1). */
export function createOwnedStreams({ db, clock }: Pick<SignalStreamDeps, 'db' | 'clock'>) {
  const found = async (
    tx: Queryable,
    caller: Caller,
    stream: StoredStream | undefined,
  ): Promise<StoredStream> => {
    if (!stream) return fail('SIGNAL_STREAM_NOT_FOUND');
    if (stream.agentId === caller.agentId) await recordActivity(tx, stream.streamId, isoTime(clock));
    return stream;
  };
  const lockVisible = async (tx: Tx, caller: Caller, streamId: string): Promise<StoredStream> =>
    found(tx, caller, isUuid(streamId) ? await lockStream(tx, ownerFor(caller), streamId) : undefined);
  const require = async (caller: Caller, streamId: string): Promise<StoredStream> =>
    found(db, caller, isUuid(streamId) ? await findStream(db, ownerFor(caller), streamId) : undefined);
  return {
    require,
    lockVisible,
    /** FORBIDDEN for the stream of another agent that the caller may see. */
    requireChangeable: async (caller: Caller, streamId: string): Promise<StoredStream> =>
      refuseForeign(caller, await require(caller, streamId)),
    /** As `requireChangeable`, and locked until the transaction ends. */
    lockChangeable: async (tx: Tx, caller: Caller, streamId: string): Promise<StoredStream> =>
      refuseForeign(caller, await lockVisible(tx, caller, streamId)),
    /** Its signals are for the agent that created it: another one that acknowledged them would hide them from that agent. */
    requireOwn: async (caller: Caller, streamId: string): Promise<StoredStream> =>
      found(db, caller, await findStream(db, caller, streamId)),
  };
}

/** The receiver does not notice a pause or a subject that is left out: with them another agent would keep its own end from an API. */
function refuseForeign(caller: Caller, stream: StoredStream): StoredStream {
  if (stream.agentId === caller.agentId) return stream;
  return fail('FORBIDDEN', {
    message:
      'Only the agent that created the stream changes it. You can delete it: its receiver then creates another one.',
  });
}

/** Of the address only the origin, because its path is often a secret of the receiver. */
export function streamEvent(stream: StoredStream, more: Record<string, unknown>) {
  const { organizationId, agentId, streamId, method, endpointUrl, eventsRequested } = stream;
  return {
    organizationId,
    agentId,
    metadata: {
      streamId,
      method,
      ...(endpointUrl !== null && { target: new URL(endpointUrl).origin }),
      ...(eventsRequested && { events: eventsRequested }),
      ...more,
    },
  };
}
