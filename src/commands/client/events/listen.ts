/** `countersign listen`: delivers the events of the organization to a local address, signed as webhooks are. */
import { auditEvents, webhookEventOf, webhookEvents } from '../../../contract/events.ts';
import { pageSizes } from '../../../contract/limits.ts';
import type { Envelope } from '../../../kernel/delivery/envelope.ts';
import { envelopeOf } from '../../../kernel/delivery/envelope.ts';
import { CommandError, exitCodes } from '../../command-error.ts';
import type { Io } from '../../io.ts';
import { print, printError, quoted } from '../../terminal.ts';
import type { AccountOptions } from '../account.ts';
import { type Connection, connect } from '../connection.ts';
import { type AuditEvent, readAuditEvent } from './audit-event.ts';
import { openFeed } from './follow.ts';
import { type Attempt, createForward, maxAttempts } from './forward.ts';
import { readSigningSecret, storedSecret } from './signing-secret.ts';
import { findOrganization } from './start-position.ts';
import { untilInterrupted } from './stop.ts';

export interface ListenOptions extends AccountOptions {
  readonly forwardTo?: string;
  readonly events?: string;
  readonly replay?: string;
  readonly secretStdin?: boolean;
  readonly printSecret?: boolean;
}

const maxReplay = 100;

export async function listenTo(io: Io, options: ListenOptions): Promise<void> {
  const target = options.printSecret ? undefined : readTarget(options.forwardTo);
  const types = readTypes(options.events);
  const replay = readReplay(options.replay);
  const givenSecret = options.secretStdin ? await readSigningSecret(io) : undefined;
  const connection = connect(io, options);
  const organizationId = await findOrganization(connection);
  const { secret, isNew } = givenSecret
    ? { secret: givenSecret, isNew: false }
    : await storedSecret(io, connection.url, organizationId);
  if (target === undefined) return print(io, secret);

  // One type is selected by the server, several are selected here.
  const actions = actionsOf(types);
  const stopping = new AbortController();
  const { signal } = stopping;
  const action = actions.size === 1 ? [...actions][0] : undefined;
  const feed = await openFeed(io, connection, { action, signal });
  const toEnvelope = (event: AuditEvent): Envelope | undefined =>
    actions.has(event.action)
      ? envelopeOf({ ...event, organizationId, type: event.action, data: event.metadata })
      : undefined;
  const recent = replay === 0 ? [] : await readRecent(connection, organizationId, actions, replay);

  let [delivered, failed, waiting] = [0, 0, recent.length];
  const closing = () =>
    `stopped: ${delivered} delivered, ${failed} failed${waiting > 0 ? `, ${waiting} not delivered, nor later ones` : ''}`;
  const shownSecret = givenSecret
    ? 'the one on standard input'
    : isNew
      ? secret
      : 'unchanged; --print-secret prints it';
  const facts = { url: connection.url, organizationId, target, types, secret: shownSecret };
  const forward = createForward(target, secret, (ms) => io.sleep(ms, signal));
  const deliver = async (event: AuditEvent) => {
    const envelope = toEnvelope(event);
    const accepted = envelope && (await forward(envelope, (attempt) => print(io, lineOf(envelope, attempt))));
    if (accepted) delivered += 1;
    else if (envelope) failed += 1;
    waiting -= 1;
  };
  await untilInterrupted(io, stopping, closing, async () => {
    announce(io, facts);
    for (const event of recent) await deliver(event);
    // Events between the opening of the stream and the read of the recent ones come in both.
    const replayed = new Set(recent.map(({ eventId }) => eventId));
    for await (const event of feed.events) {
      if (replayed.delete(event.eventId)) continue;
      waiting += 1;
      await deliver(event);
    }
  });
}

function announce(
  io: Io,
  facts: {
    readonly url: string;
    readonly organizationId: string;
    readonly target: string;
    readonly types: ReadonlySet<string>;
    readonly secret: string;
  },
): void {
  const { url, organizationId, target, types, secret } = facts;
  const events = types.size === webhookEvents.length ? 'all that webhooks deliver' : [...types].join(', ');
  printError(
    io,
    `Listening at ${url} for events of organization ${quoted(organizationId)}
  events:         ${events}
  forwarding to:  ${quoted(target)}
  signing secret: ${secret}
Ctrl-C stops.`,
  );
}

/** As `stripe listen` does, it takes an address without a scheme, too. */
function readTarget(text: string | undefined): string {
  if (text === undefined)
    throw new CommandError(
      '--forward-to is missing: the address of your receiver, such as http://localhost:9000/hook',
      exitCodes.usage,
    );
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`);
  if (!url || !/^https?:$/.test(url.protocol))
    throw new CommandError(
      `--forward-to must be an http or https address, such as http://localhost:9000/hook; it is "${quoted(text)}"`,
      exitCodes.usage,
    );
  if (url.username || url.password)
    throw new CommandError(
      '--forward-to must not carry credentials: other users of the machine can see them; the signature proves the sender',
      exitCodes.usage,
    );
  return url.href;
}

function readTypes(text: string | undefined): ReadonlySet<string> {
  if (text === undefined) return new Set(webhookEvents);
  const names = text.split(',').map((name) => name.trim());
  const found = names.flatMap((name) => {
    const chosen = webhookEvents.filter((type) =>
      name.endsWith('*') ? type.startsWith(name.slice(0, -1)) : type === name,
    );
    if (chosen.length === 0)
      throw new CommandError(
        `--events: webhooks deliver no event "${quoted(name)}"; there are ${webhookEvents.join(', ')}`,
        exitCodes.usage,
      );
    return chosen;
  });
  return new Set(found);
}

/** The actions of the audit log that become these events. */
const actionsOf = (types: ReadonlySet<string>): ReadonlySet<string> =>
  new Set(auditEvents.filter((action) => types.has(webhookEventOf(action) ?? '')));

function readReplay(text: string | undefined): number {
  const count = text === undefined ? 0 : Number(text);
  if ((text === undefined || /^\d+$/.test(text)) && count <= maxReplay) return count;
  throw new CommandError(
    `--replay must be a number from 0 to ${maxReplay}; it is "${quoted(text)}"`,
    exitCodes.usage,
  );
}

/** The last events of these actions, oldest first. A list has one filter: one request for each group, or type. */
async function readRecent(
  connection: Connection,
  organizationId: string,
  actions: ReadonlySet<string>,
  count: number,
): Promise<AuditEvent[]> {
  const groups = Map.groupBy(actions, (action) => action.slice(0, action.indexOf('.')));
  const whole = (group: string, chosen: readonly string[]) =>
    auditEvents.filter((action) => action.startsWith(`${group}.`)).length === chosen.length;
  const filters = [...groups].flatMap(([group, chosen]) => (whole(group, chosen) ? [`${group}.*`] : chosen));
  const events: AuditEvent[] = [];
  for (const action of filters) {
    const limit = Math.min(count, pageSizes.audit.max);
    const { data } = await connection.call<{ data?: unknown }>('GET', '/audit', {
      query: { organizationId, action, limit },
    });
    if (!Array.isArray(data)) throw new CommandError(`${connection.url} sent no list of events`);
    events.push(...data.map((event) => readAuditEvent(event, connection.url)));
  }
  return events
    .filter(({ action }) => actions.has(action))
    .sort((one, other) => orderOf(one).localeCompare(orderOf(other)))
    .slice(-count);
}

const orderOf = ({ timestamp, eventId }: AuditEvent): string => `${timestamp} ${eventId}`;

function lineOf({ type, id }: Envelope, attempt: Attempt): string {
  const { number, result, durationMs, accepted, nextInMs } = attempt;
  const head = `${new Date().toISOString()}  ${type.padEnd(22)}  ${quoted(id)}  ${quoted(result)} in ${durationMs} ms`;
  if (accepted) return head;
  return nextInMs === undefined
    ? `${head}  given up after ${number} attempts`
    : `${head}  attempt ${number} of ${maxAttempts}, again in ${nextInMs / 1_000} s`;
}
