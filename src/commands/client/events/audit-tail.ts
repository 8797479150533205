/** `countersign audit tail`: the audit events of the organization while they happen, one line each. */
import { auditEvents } from '../../../contract/events.ts';
import { CommandError, exitCodes } from '../../command-error.ts';
import type { Io } from '../../io.ts';
import { print, printError, printJsonLine, quoted } from '../../terminal.ts';
import type { AccountOptions } from '../account.ts';
import { connect } from '../connection.ts';
import { agentKind } from '../names/kinds.ts';
import { createIdOf } from '../names/resolve.ts';
import { type AuditEvent, actorOf } from './audit-event.ts';
import { openFeed } from './follow.ts';
import { findPosition, readSince } from './start-position.ts';
import { untilInterrupted } from './stop.ts';

interface TailOptions extends AccountOptions {
  readonly action?: string;
  readonly agent?: string;
  readonly outcome?: string;
  readonly since?: string;
  readonly json?: boolean;
}

export async function tailAudit(io: Io, options: TailOptions): Promise<void> {
  const agent = options.agent && (await createIdOf(io, options)(agentKind, options.agent));
  const matches = filterOf(io, { ...options, ...(agent && { agent }) });
  const since = options.since === undefined ? undefined : readSince(options.since, Date.now());
  const { action } = options;
  const connection = connect(io, options);
  const stopping = new AbortController();
  const { signal } = stopping;
  const now = await openFeed(io, connection, { action, signal });
  let { events } = now;
  if (since !== undefined) {
    const after = await findPosition(connection, now.position, since);
    await now.close();
    ({ events } = await openFeed(io, connection, { action, after, signal }));
  }
  const printEvents = async () => {
    if (io.stderr.isTTY) printError(io, `Following the audit log of ${connection.url}. Ctrl-C stops.`);
    for await (const event of events) {
      if (!matches(event) || (since !== undefined && Date.parse(event.timestamp) < since)) continue;
      if (options.json) printJsonLine(io, event);
      else print(io, lineOf(event));
    }
  };
  await untilInterrupted(io, stopping, () => 'stopped', printEvents);
}

/** The stream can be filtered by the type of event only; the rest is filtered here. */
function filterOf(io: Io, { action, agent, outcome }: TailOptions): (event: AuditEvent) => boolean {
  if (outcome !== undefined && outcome !== 'success' && outcome !== 'failure')
    throw new CommandError(
      `--outcome must be success or failure; it is "${quoted(outcome)}"`,
      exitCodes.usage,
    );
  if (action !== undefined && !isKnown(action))
    printError(
      io,
      `no event of this version is called "${quoted(action)}"; docs/reference/events.md lists them`,
    );
  const agentId = agent?.toLowerCase();
  return (event) =>
    (agentId === undefined || event.agentId === agentId || actorOf(event) === agentId) &&
    (outcome === undefined || event.outcome === outcome);
}

const isKnown = (action: string): boolean => {
  const prefix = action.endsWith('*') ? action.slice(0, -1) : undefined;
  return auditEvents.some((name) => (prefix === undefined ? name === action : name.startsWith(prefix)));
};

/** The columns that every event has, then its own facts. */
function lineOf(event: AuditEvent): string {
  const { timestamp, action, outcome, agentId, ipAddress, metadata } = event;
  const { actorId, requestId: _, ...facts } = metadata;
  const details = Object.entries({
    ...(actorId !== undefined && { by: actorId }),
    ...(ipAddress !== '' && { from: ipAddress }),
    ...facts,
  }).map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
  const columns = [quoted(timestamp), quoted(action).padEnd(24), quoted(outcome), quoted(agentId)];
  return `${columns.join('  ')}  ${quoted(details.join(' '))}`;
}
