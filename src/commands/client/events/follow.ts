/**
 * Follows GET /events without losing or repeating an event: after the connection has ended it resumes from the last position, and
 * waits longer after each failure. Events are pulled: while the caller is busy, nothing more is read, and the server keeps the rest.
 */
import { CommandError, exitCodes } from '../../command-error.ts';
import type { Io } from '../../io.ts';
import { printError, quoted } from '../../terminal.ts';
import type { Connection } from '../connection.ts';
import { type AuditEvent, parseAuditEvent } from './audit-event.ts';
import { readMessages, type StreamMessage } from './server-sent-events.ts';

export interface Feed {
  /** Where the stream was opened. */
  readonly position: string;
  /** Runs until the server refuses for good: then it throws. */
  readonly events: AsyncGenerator<AuditEvent>;
  /** Before the first event is asked for. */
  close(): Promise<void>;
}

interface FeedOptions {
  /** A type of event, or the beginning of types and a `*`. */
  readonly action?: string | undefined;
  /** The position after which it starts; without it, it starts now. */
  readonly after?: string | undefined;
  /** Ends the stream. */
  readonly signal: AbortSignal;
}

const openTimeoutMs = 30_000;
/** Three times the server's longest interval between heartbeats. */
const idleTimeoutMs = 45_000;
/** A stream that lasted this long starts the schedule again. */
const stableMs = 10_000;
const firstWaitMs = 500;
const longestWaitMs = 30_000;

/** Fails when the first connection fails: a wrong address or credential must not look like a quiet server. */
export async function openFeed(io: Io, connection: Connection, options: FeedOptions): Promise<Feed> {
  const first = await openStream(connection, options);
  return {
    position: first.position,
    events: follow(io, connection, options, first),
    async close() {
      await first.messages.return(undefined);
    },
  };
}

interface OpenStream {
  readonly position: string;
  readonly messages: AsyncGenerator<StreamMessage>;
}

async function* follow(
  io: Io,
  connection: Connection,
  options: FeedOptions,
  first: OpenStream,
): AsyncGenerator<AuditEvent> {
  let { position, messages } = first;
  let failures = 0;
  for (;;) {
    const openedAt = performance.now();
    let reason = 'the server ended the stream';
    try {
      for await (const { id, data } of messages) {
        if (data !== undefined) {
          yield parseAuditEvent(data, connection.url);
          failures = 0;
        }
        // Only now: an event that the caller has not finished is sent again.
        if (id) position = id;
      }
    } catch (error) {
      if (options.signal.aborted) return;
      if (error instanceof CommandError) throw error;
      reason = reasonOf(error);
    }
    if (performance.now() - openedAt > stableMs) failures = 0;
    ({ messages, failures } = await reopen(
      io,
      connection,
      { ...options, after: position },
      failures,
      reason,
    ));
  }
}

async function reopen(
  io: Io,
  connection: Connection,
  options: FeedOptions,
  failuresBefore: number,
  reason: string,
) {
  const { url } = connection;
  let isAway = false;
  for (let failures = failuresBefore; ; failures += 1) {
    await io.sleep(waitAfter(failures), options.signal);
    try {
      const { messages } = await openStream(connection, options);
      if (isAway) printError(io, `${url} is back; continuing after the last event`);
      return { messages, failures: failures + 1 };
    } catch (error) {
      if (!(error instanceof CommandError) || error.exitCode !== exitCodes.unavailable) throw error;
      if (!isAway)
        printError(
          io,
          `${url} is unreachable (${reason}; ${error.message}); trying again until it is back, Ctrl-C stops`,
        );
      isAway = true;
    }
  }
}

/** With jitter, so that the clients of a server that restarts do not come back at the same moment. */
const waitAfter = (failures: number): number =>
  Math.min(longestWaitMs, firstWaitMs * 2 ** Math.min(failures, 10)) * (0.5 + Math.random() / 2);

/** Waits for the first message, which has the position. */
async function openStream(
  connection: Connection,
  { action, after, signal }: FeedOptions,
): Promise<OpenStream> {
  const opening = new AbortController();
  const timeout = new DOMException(`no answer within ${openTimeoutMs / 1_000} seconds`, 'TimeoutError');
  const timer = setTimeout(() => opening.abort(timeout), openTimeoutMs);
  try {
    const response = await connection.open('GET', '/events', {
      query: { action },
      headers: { accept: 'text/event-stream', ...(after !== undefined && { 'last-event-id': after }) },
      signal: AbortSignal.any([opening.signal, signal]),
    });
    if (!response.body || !/^text\/event-stream\b/.test(response.headers.get('content-type') ?? ''))
      throw new CommandError(`${connection.url} sent no stream of events; is it the address of Countersign?`);
    const messages = readMessages(response.body, idleTimeoutMs);
    const { value } = await messages.next();
    if (!value?.id) throw unavailable(connection.url, 'the stream ended before it began');
    return { position: value.id, messages };
  } catch (error) {
    throw error instanceof CommandError ? error : unavailable(connection.url, reasonOf(error));
  } finally {
    clearTimeout(timer);
  }
}

const unavailable = (url: string, reason: string): CommandError =>
  new CommandError(`cannot read the events of ${url}: ${quoted(reason)}`, exitCodes.unavailable);

const reasonOf = (error: unknown): string => {
  const { message, cause } = error as Error;
  return quoted(cause instanceof Error && cause.message ? cause.message : message);
};
