/**
 * The open streams of this process. One query reads the new events of all organizations with open streams. A stream pulls: it keeps
 * a position and no queue, so a client that reads slowly costs no memory. It takes the events of the last poll, or, when it is
 * further behind, reads a page of its own.
 */

import { createFairQueue } from '../../kernel/concurrency/fair-queue.ts';
import type { AccessCheck } from '../../kernel/http/route.ts';
import type { FeedPosition } from '../audit/log/feed.ts';
import type { AuditEvent } from '../audit/schema.ts';
import type { EventStreamDeps } from './feature.ts';
import { endText, heartbeatText, type Message, messageOf, openingText, positionId } from './messages.ts';

export interface Subscription {
  readonly organizationId: string;
  readonly start: FeedPosition;
  /** The end of the organization's events; `start` is not after it. */
  readonly end: FeedPosition;
  matches(action: string): boolean;
  /**
   * The text instead of the event's own, for readers who may not read the audit log: empty when the event is not for them. Such a
   * stream has no ids, since they would tell how much the organization does; it always starts now.
   */
  textFor?(event: AuditEvent): Promise<string>;
  /** Aborted when the response has ended. */
  readonly ended: AbortSignal;
  recheckAccess(): Promise<AccessCheck>;
}

export interface EventStreams {
  /** The text of a stream, until the client, the server or `checkAccess` ends it. */
  follow(subscription: Subscription): AsyncIterable<string>;
  /** Reads new events. True when there are more. */
  poll(): Promise<boolean>;
  /** Ends streams whose token no longer opens them; the others get a heartbeat. */
  checkAccess(): Promise<void>;
}

interface Stream extends Subscription {
  readonly organization: Organization;
  position: FeedPosition;
  /** The sequence of the last id that the client got. */
  sentSequence: number;
  heartbeatDue: boolean;
  endReason: string | undefined;
  /** Something has changed since the stream last waited. */
  isWoken: boolean;
  resume(): void;
}

/** An organization with open streams. */
interface Organization {
  readonly organizationId: string;
  readonly streams: Set<Stream>;
  /** All events up to here were polled, or are before the first stream. */
  end: FeedPosition;
  /** The events of the last poll that found some, and the sequence after which they begin. */
  last: { readonly after: number; readonly messages: readonly Message[] };
}

const eventsPerPoll = 200;
/** About one chunk, so that little is read twice. */
const eventsPerPage = 50;
const organizationsPerPoll = 50;
const chunkLength = 32_768;
const checksAtOnce = 50;
/** Streams that are behind read their pages in this queue. */
const catchUpLimits = { concurrency: 2, maxQueue: 50 } as const;

export function createEventStreams({ feed, log, metrics }: EventStreamDeps): EventStreams {
  const organizations = new Map<string, Organization>();
  const runQueued = createFairQueue({ ...catchUpLimits, measured: { metrics, name: 'event_streams' } });

  const add = (subscription: Subscription): Stream => {
    const { organizationId, start, end, ended } = subscription;
    const organization = organizations.get(organizationId) ?? {
      organizationId,
      streams: new Set(),
      end,
      last: { after: end.sequence, messages: [] },
    };
    const stream: Stream = {
      ...subscription,
      organization,
      position: start,
      sentSequence: start.sequence,
      heartbeatDue: false,
      endReason: undefined,
      isWoken: false,
      resume() {},
    };
    const remove = () => {
      organization.streams.delete(stream);
      if (organization.streams.size === 0) organizations.delete(organizationId);
      endStream(stream, 'the server closes');
    };
    if (ended.aborted) {
      endStream(stream, 'the server closes');
      return stream;
    }
    organizations.set(organizationId, organization);
    organization.streams.add(stream);
    ended.addEventListener('abort', remove, { once: true });
    return stream;
  };

  /** Empty when the stream has all events that were polled. */
  const messagesAfter = async ({ position, organization }: Stream): Promise<readonly Message[]> => {
    const { organizationId, end, last } = organization;
    if (position.sequence >= end.sequence) return [];
    if (position.sequence >= last.after)
      return last.messages.filter(({ sequence }) => sequence > position.sequence);
    const page = await runQueued(organizationId, () =>
      feed.read([{ organizationId, ...position }], eventsPerPage),
    );
    return page.map(messageOf);
  };

  /** Also before each chunk: no event is sent that was recorded after the token had ended. Ends the stream otherwise. */
  const isAllowed = async (stream: Stream): Promise<boolean> => {
    try {
      const check = await stream.recheckAccess();
      if (check === 'allowed') return true;
      endStream(
        stream,
        check === 'noScope'
          ? 'the agent may no longer read the audit log'
          : 'the access token is no longer valid',
      );
    } catch {
      // Fails closed; the client gets the reason when it reconnects.
      endStream(stream, 'the server cannot check the access token now');
    }
    return false;
  };

  async function* textOf(stream: Stream): AsyncGenerator<string> {
    yield openingText(idOf(stream));
    while (stream.endReason === undefined) {
      if (stream.heartbeatDue) {
        yield takeHeartbeat(stream);
        continue;
      }
      const messages = await messagesAfter(stream);
      if (messages.length === 0) await untilWoken(stream);
      else {
        const chunk = await takeChunk(stream, messages);
        if (chunk !== '' && (await isAllowed(stream))) yield chunk;
      }
    }
    yield endText(stream.endReason);
  }

  /** A client that is cut off resumes; it gets a clean end all the same. */
  async function* withCleanEnd(stream: Stream): AsyncGenerator<string> {
    try {
      yield* textOf(stream);
    } catch (error) {
      log.info(
        { err: error, organizationId: stream.organizationId },
        'event stream ended; the client resumes',
      );
      yield endText('the server cannot read events now');
    }
  }

  const checkOne = async (stream: Stream) => {
    if (!(await isAllowed(stream))) return;
    stream.heartbeatDue = true;
    wake(stream);
  };

  return {
    follow: (subscription) => withCleanEnd(add(subscription)),

    async poll() {
      const all = [...organizations.values()];
      let hasMore = false;
      for (let start = 0; start < all.length; start += organizationsPerPoll) {
        const part = all.slice(start, start + organizationsPerPoll);
        const positions = part.map(({ organizationId, end }) => ({ organizationId, ...end }));
        const found = Map.groupBy(await feed.read(positions, eventsPerPoll), (entry) => entry.organizationId);
        for (const organization of part) {
          const entries = found.get(organization.organizationId) ?? [];
          publish(organization, entries.map(messageOf));
          hasMore ||= entries.length === eventsPerPoll;
        }
      }
      return hasMore;
    },

    async checkAccess() {
      const streams = [...organizations.values()].flatMap((organization) => [...organization.streams]);
      for (let start = 0; start < streams.length; start += checksAtOnce)
        await Promise.all(streams.slice(start, start + checksAtOnce).map(checkOne));
    },
  };
}

function publish(organization: Organization, messages: readonly Message[]): void {
  const newest = messages.at(-1);
  if (!newest) return;
  organization.last = { after: organization.end.sequence, messages };
  organization.end = { sequence: newest.sequence, day: newest.day };
  for (const stream of organization.streams) wake(stream);
}

/** Moves the position over the messages until the chunk is long enough. Empty when the stream wants none of them. */
async function takeChunk(stream: Stream, messages: readonly Message[]): Promise<string> {
  let chunk = '';
  for (const { sequence, day, event, text } of messages) {
    stream.position = { sequence, day };
    if (event === undefined || !stream.matches(event.action)) continue;
    chunk += stream.textFor ? await stream.textFor(event) : text;
    stream.sentSequence = sequence;
    if (chunk.length >= chunkLength) break;
  }
  return chunk;
}

/** Undefined for a stream without ids. */
const idOf = ({ organizationId, position, textFor }: Stream): string | undefined =>
  textFor ? undefined : positionId(organizationId, position.sequence);

function takeHeartbeat(stream: Stream): string {
  const { sequence } = stream.position;
  const id = sequence === stream.sentSequence ? undefined : idOf(stream);
  stream.heartbeatDue = false;
  stream.sentSequence = sequence;
  return heartbeatText(id);
}

function wake(stream: Stream): void {
  stream.isWoken = true;
  stream.resume();
}

function endStream(stream: Stream, reason: string): void {
  stream.endReason ??= reason;
  wake(stream);
}

async function untilWoken(stream: Stream): Promise<void> {
  if (!stream.isWoken) await new Promise<void>((resolve) => (stream.resume = resolve));
  stream.isWoken = false;
}
