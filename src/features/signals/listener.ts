/**
 * Ledger listener: writes the signals of an event in the transaction of the event, so no end is lost when a process is killed.
 * distribution.ts puts them into the queues of the streams.
 */
import { limits } from '../../contract/limits.ts';
import type { DomainEvent, LedgerListener } from '../../kernel/domain-event.ts';
import { partyAtResource, shortType, tokenClaimsChange } from './event-types.ts';
import type { SignalDeps } from './feature.ts';
import { findRecipients } from './recipients-store.ts';
import {
  commonClaims,
  type Ended,
  lendingOf,
  type Signal,
  signalOf,
  signalTypes,
} from './signal-of-event.ts';
import { insertSignals, type NewSignal } from './signals-store.ts';

interface AddressedSignal extends Omit<Signal, 'ended'> {
  readonly recipients: readonly string[];
  readonly occurredAt: string;
}

type Tx = Parameters<NonNullable<LedgerListener['inTransaction']>>[0];

export function createSignalListener(
  {
    clock,
    ids,
    issuer,
    metrics,
    findLending,
  }: Pick<SignalDeps, 'clock' | 'ids' | 'issuer' | 'metrics' | 'findLending'>,
  /** New signals are committed. */
  onWritten: () => void,
): LedgerListener {
  /** The organizations that own resources for which tokens of the ended parts of one organization are, or were; in their order. */
  const otherRecipients = async (
    tx: Tx,
    organizationId: string,
    ended: readonly Ended[],
  ): Promise<readonly (readonly string[])[]> => {
    const holders = ended.map((part) =>
      part.kind !== 'own' && 'audiences' in part
        ? { ...part, audiences: part.audiences.filter((audience) => audience !== issuer) }
        : part,
    );
    const since = new Date(clock.now() - limits.signals.keptSeconds * 1_000).toISOString();
    return findRecipients(tx, organizationId, holders, since);
  };

  const ownSignals = async (tx: Tx, events: readonly DomainEvent[]): Promise<AddressedSignal[]> => {
    const found = events.flatMap((event) => {
      const signal = signalOf(event, issuer);
      return signal ? [{ ...signal, organizationId: event.organizationId, occurredAt: event.timestamp }] : [];
    });
    const signals: AddressedSignal[] = [];
    for (const [organizationId, own] of Map.groupBy(found, (signal) => signal.organizationId)) {
      const others = await otherRecipients(
        tx,
        organizationId,
        own.map(({ ended }) => ended),
      );
      for (const [index, { eventType, subject, details, occurredAt }] of own.entries())
        signals.push({
          eventType,
          subject,
          details,
          occurredAt,
          recipients: [organizationId, ...(others[index] ?? [])],
        });
    }
    return signals;
  };

  /** The scopes that remain for each person whose tokens may carry more: one signal, however many events of the change say so. */
  const lendingSignals = async (tx: Tx, events: readonly DomainEvent[]): Promise<AddressedSignal[]> => {
    const narrowing = events.flatMap((event) => {
      const lending = lendingOf(event);
      return lending ? [{ event, lending }] : [];
    });
    const [first] = narrowing;
    if (!first) return [];
    const lent = await findLending(
      tx,
      narrowing.map(({ lending }) => lending),
      new Date(clock.now()),
    );
    const details = commonClaims(first.event, 'What the person may lend was changed.');
    return lent.map(({ personId, organizationId, ownerId, identifier, scopes }) => ({
      eventType: tokenClaimsChange,
      subject: partyAtResource(issuer, personId, identifier),
      details: { claims: { scope: scopes.join(' ') }, ...details },
      occurredAt: first.event.timestamp,
      recipients: [...new Set([organizationId, ownerId])],
    }));
  };

  return {
    types: signalTypes,
    async inTransaction(tx, events) {
      const signals = [...(await ownSignals(tx, events)), ...(await lendingSignals(tx, events))];
      const rows: NewSignal[] = signals.flatMap(({ recipients, ...signal }) =>
        recipients.map((organizationId) => ({
          ...signal,
          organizationId,
          signalId: ids.uuidV7(Date.parse(signal.occurredAt)),
        })),
      );
      if (rows.length === 0) return;
      await insertSignals(tx, rows);
      tx.afterCommit(() => {
        for (const { eventType } of rows)
          metrics.count('service_signals_written_total', { event_type: shortType(eventType) });
        onWritten();
      });
    },
  };
}
