/** The streams of an organization, and what their receivers ask of them (SSF §8). Polls are in poll.ts. */
import { isDeepStrictEqual } from 'node:util';
import { limits } from '../../contract/limits.ts';
import { type Caller, refuseBorrowedScope } from '../../kernel/caller.ts';
import { isoTime } from '../../kernel/clock.ts';
import type { Tx } from '../../kernel/data/db.ts';
import { lockExclusive } from '../../kernel/data/locks.ts';
import { fail } from '../../kernel/fail.ts';
import { organization } from '../../kernel/policy.ts';
import { opaque, type SubjectId, verification } from './event-types.ts';
import type { SignalStreamDeps } from './feature.ts';
import { createOwnedStreams, listedFor, streamEvent } from './owned-streams.ts';
import {
  type NewDelivery,
  type NewStream,
  pollMethod,
  pushMethod,
  type StatusChange,
  type Stream,
  type StreamChange,
  type StreamReplacement,
  type StreamStatus,
  type SubjectChange,
  type VerificationRequest,
} from './schema.ts';
import { emptyQueue, fillQueue, insertVerification } from './signals-store.ts';
import {
  describeStatus,
  describeStream,
  methodOf,
  pollDelivery,
  requireDelivery,
  requireOwnFields,
  requirePollStream,
  requireShortSubject,
  timeoutOf,
} from './stream-config.ts';
import {
  countStreams,
  deleteStream,
  excludeSubject,
  findExclusion,
  includeSubject,
  insertStream,
  listStreams,
  type StoredStream,
  updateStream,
} from './streams-store.ts';

export interface SignalService {
  create(caller: Caller, input: NewStream): Promise<Stream>;
  list(caller: Caller): Promise<Stream[]>;
  get(caller: Caller, streamId: string): Promise<Stream>;
  change(caller: Caller, change: StreamChange): Promise<Stream>;
  replace(caller: Caller, replacement: StreamReplacement): Promise<Stream>;
  remove(caller: Caller, streamId: string): Promise<void>;
  status(caller: Caller, streamId: string): Promise<StreamStatus>;
  setStatus(caller: Caller, change: StatusChange): Promise<StreamStatus>;
  verify(caller: Caller, request: VerificationRequest): Promise<void>;
  addSubject(caller: Caller, change: SubjectChange): Promise<void>;
  removeSubject(caller: Caller, change: SubjectChange): Promise<void>;
}

const { signals: bounds } = limits;

export function createSignalService(deps: SignalStreamDeps): SignalService {
  const { db, clock, ids, ledger, issuer, vault, pushEnabled, requirePermission, distribution } = deps;
  const { require, lockVisible, requireChangeable, lockChangeable } = createOwnedStreams(deps);
  const describe = (stream: StoredStream) => describeStream(stream, issuer);

  const record = (
    tx: Tx,
    caller: Caller,
    event: 'created' | 'updated' | 'deleted',
    stream: StoredStream,
    more: Record<string, unknown> = {},
  ) => ledger.record(tx, caller, `signal_stream.${event}`, streamEvent(stream, more));

  /** A push stream keeps sending to its address, as a webhook does. */
  const requirePush = async (caller: Caller, method: NewDelivery['method']) => {
    if (method !== pushMethod) return;
    if (!pushEnabled)
      fail('FORBIDDEN', { message: 'Push delivery is switched off on this instance: poll the stream.' });
    await requirePermission(caller, 'webhooks:write', organization(caller.organizationId), {
      message: 'A push stream sends to an address of yours, as a webhook does.',
    });
    refuseBorrowedScope(
      caller,
      'webhooks:write',
      'A delegated token can make or change a push stream only if your own agent may hold webhooks:write.',
    );
  };

  const requireCapacity = async (tx: Tx, { organizationId, agentId }: Caller) => {
    const { perAgent, perOrganization } = bounds.maxStreams;
    const { ofAgent, ofOrganization } = await countStreams(tx, organizationId, agentId);
    const limit =
      ofAgent >= perAgent ? perAgent : ofOrganization >= perOrganization ? perOrganization : undefined;
    if (limit === undefined) return;
    fail('SIGNAL_STREAM_LIMIT_EXCEEDED', {
      message: `An agent may have at most ${perAgent} signal streams, and an organization ${perOrganization}; delete one that is not needed.`,
      details: { limit },
    });
  };

  /** The header goes to the address that it was given for, and to no other. */
  const deliveryFields = (
    streamId: string,
    { method, endpoint_url, authorization_header }: NewDelivery,
    before?: StoredStream,
  ): Pick<StoredStream, 'method' | 'endpointUrl' | 'authorizationHeader'> => {
    if (method === pollMethod) return { method: 'poll', endpointUrl: null, authorizationHeader: null };
    const kept = before?.endpointUrl === endpoint_url ? (before?.authorizationHeader ?? null) : null;
    return {
      method: 'push',
      endpointUrl: endpoint_url ?? null,
      authorizationHeader:
        authorization_header === undefined ? kept : vault.seal(authorization_header, streamId),
    };
  };

  /**
   * `methodAfter` is the method that the right to push is needed for. That right is checked before the stream is locked: the check uses a
   * connection of its own, so requests that wait for the lock of one stream could take all connections. Begins again when another request
   * has changed the method in between.
   */
  const changeStream = async <Result>(
    caller: Caller,
    streamId: string,
    methodAfter: (stream: StoredStream) => NewDelivery['method'],
    apply: (tx: Tx, before: StoredStream) => Promise<Result>,
  ): Promise<Result> => {
    const checked = methodAfter(await requireChangeable(caller, streamId));
    await requirePush(caller, checked);
    const applied = await db.transaction(async (tx) => {
      const before = await lockChangeable(tx, caller, streamId);
      // Earlier signals are for the stream as it is now.
      await distribution.distributeIn(tx, before.organizationId);
      return methodAfter(before) === checked ? { result: await apply(tx, before) } : undefined;
    });
    return applied ? applied.result : changeStream(caller, streamId, methodAfter, apply);
  };

  const save = (
    caller: Caller,
    change: StreamChange,
    next: (before: StoredStream) => Partial<StoredStream>,
  ): Promise<Stream> => {
    const plan = (before: StoredStream): StoredStream => {
      requireOwnFields(change, describe(before));
      if (change.delivery) requireDelivery(change.delivery, issuer, before);
      const after: StoredStream = { ...before, ...next(before), updatedAt: isoTime(clock) };
      requirePollStream(change.inactivity_timeout, methodOf(after));
      return after;
    };
    return changeStream(
      caller,
      change.stream_id,
      (stream) => methodOf(plan(stream)),
      async (tx, before) => {
        const after = plan(before);
        if (isDeepStrictEqual({ ...after, updatedAt: before.updatedAt }, before)) return describe(before);
        await updateStream(tx, after);
        await record(tx, caller, 'updated', after);
        return describe(after);
      },
    );
  };

  /**
   * Signals of later ends are in the queue already. Without the organization's lock: ends, also those of other organizations, would wait
   * while thousands of signals are copied.
   */
  const fill = async (caller: Caller, stream: StoredStream, now: string) => {
    const since = new Date(clock.now() - bounds.keptSeconds * 1_000).toISOString();
    try {
      await fillQueue(db, stream.streamId, since, now);
    } catch (error) {
      // Its receiver would take an incomplete stream for a complete one.
      await db.transaction(async (tx) => {
        await deleteStream(tx, stream.streamId);
        await record(tx, caller, 'deleted', stream, { reason: 'incomplete' });
      });
      throw error;
    }
  };

  return {
    async create(caller, { delivery = pollDelivery, events_requested, description, inactivity_timeout }) {
      requireDelivery(delivery, issuer);
      requirePollStream(inactivity_timeout, delivery.method);
      await requirePush(caller, delivery.method);
      const { organizationId, agentId } = caller;
      const streamId = ids.uuid();
      const now = isoTime(clock);
      const stream: StoredStream = {
        streamId,
        organizationId,
        agentId,
        ...deliveryFields(streamId, delivery),
        eventsRequested: events_requested ?? null,
        description: description ?? null,
        status: 'enabled',
        statusReason: null,
        inactivityTimeout: timeoutOf(delivery.method, inactivity_timeout),
        createdAt: now,
        updatedAt: now,
      };
      await db.transaction(async (tx) => {
        await lockExclusive(tx, 'signalsOfOrganization', [organizationId]);
        await requireCapacity(tx, caller);
        await insertStream(tx, stream);
        await record(tx, caller, 'created', stream);
      });
      await fill(caller, stream, now);
      return describe(stream);
    },

    list: async (caller) => (await listStreams(db, listedFor(caller))).map(describe),

    get: async (caller, streamId) => describe(await require(caller, streamId)),

    change: (caller, change) =>
      save(caller, change, (before) => ({
        ...(change.delivery && deliveryFields(before.streamId, change.delivery, before)),
        ...(change.events_requested && { eventsRequested: change.events_requested }),
        ...(change.description !== undefined && { description: change.description }),
        ...((change.delivery || change.inactivity_timeout !== undefined) && {
          inactivityTimeout: timeoutOf(
            change.delivery?.method ?? methodOf(before),
            change.inactivity_timeout ?? before.inactivityTimeout ?? undefined,
          ),
        }),
      })),

    replace(caller, { delivery = pollDelivery, ...replacement }) {
      const { events_requested, description, inactivity_timeout } = replacement;
      return save(caller, { delivery, ...replacement }, ({ streamId }) => ({
        ...deliveryFields(streamId, delivery),
        eventsRequested: events_requested ?? null,
        description: description ?? null,
        inactivityTimeout: timeoutOf(delivery.method, inactivity_timeout),
      }));
    },

    async remove(caller, wantedId) {
      const { streamId } = await db.transaction(async (tx) => {
        const stream = await lockVisible(tx, caller, wantedId);
        await deleteStream(tx, stream.streamId);
        await record(tx, caller, 'deleted', stream);
        return stream;
      });
      await emptyQueue(db, streamId);
    },

    status: async (caller, streamId) => describeStatus(await require(caller, streamId)),

    setStatus: (caller, { stream_id, status, reason }) =>
      changeStream(
        caller,
        stream_id,
        // To stop a stream is always possible.
        (stream) => (status === 'enabled' ? methodOf(stream) : pollMethod),
        async (tx, before) => {
          const { streamId } = before;
          const after: StoredStream = {
            ...before,
            status,
            statusReason: reason ?? null,
            updatedAt: isoTime(clock),
          };
          if (after.status === before.status && after.statusReason === before.statusReason)
            return describeStatus(before);
          await updateStream(tx, after);
          // A disabled stream keeps nothing for later (SSF §8.1.2).
          if (status === 'disabled') await emptyQueue(tx, streamId);
          await record(tx, caller, 'updated', after, { status });
          return describeStatus(after);
        },
      ),

    async verify(caller, { stream_id, state }) {
      const stream = await requireChangeable(caller, stream_id);
      await requirePush(caller, methodOf(stream));
      if (stream.status === 'disabled') return;
      const { streamId, organizationId } = stream;
      const now = isoTime(clock);
      const signal = {
        signalId: ids.uuidV7(clock.now()),
        organizationId,
        eventType: verification,
        subject: opaque(streamId),
        details: state === undefined ? {} : { state },
        occurredAt: now,
      };
      await db.transaction((tx) => insertVerification(tx, streamId, signal, now));
    },

    addSubject: (caller, { stream_id, subject }) =>
      db.transaction(async (tx) => {
        const stream = await lockChangeable(tx, caller, stream_id);
        const { isExcluded, count } = await findExclusion(tx, stream.streamId, subject as SubjectId);
        if (!isExcluded) return;
        await includeSubject(tx, stream.streamId, subject as SubjectId);
        await record(tx, caller, 'updated', stream, { excludedSubjects: count - 1 });
      }),

    async removeSubject(caller, { stream_id, subject }) {
      requireShortSubject(subject);
      await db.transaction(async (tx) => {
        const stream = await lockChangeable(tx, caller, stream_id);
        const { isExcluded, count } = await findExclusion(tx, stream.streamId, subject as SubjectId);
        if (isExcluded) return;
        const most = bounds.maxExcludedSubjects;
        if (count >= most)
          fail('SIGNAL_STREAM_LIMIT_EXCEEDED', {
            message: `A stream can leave out at most ${most} subjects; add some of them again.`,
            details: { limit: most },
          });
        await excludeSubject(tx, stream.streamId, subject as SubjectId);
        await record(tx, caller, 'updated', stream, { excludedSubjects: count + 1 });
      });
    },
  };
}
