/** Streams the cards of all active agents of an organization as one JSON array, with one page in memory at a time. */

import { isoTime } from '../../kernel/clock.ts';
import type { ComplianceDeps } from './feature.ts';
import { findActive } from './store.ts';

export interface Cards {
  /** Reads the first page before the response starts, so that a failure still gets its error status. */
  of(organizationId: string): Promise<ReadableStream<string>>;
}

const pageSize = 250;

export const createCards = ({
  db,
  clock,
  identity,
}: Pick<ComplianceDeps, 'db' | 'clock' | 'identity'>): Cards => ({
  async of(organizationId) {
    const issuedAt = isoTime(clock);
    const first = await findActive(db, organizationId, undefined, pageSize);
    async function* write() {
      let opening = '[';
      for (let page = first; page.length > 0; ) {
        yield opening + page.map((agent) => JSON.stringify(identity.cardOf(agent, issuedAt))).join(',');
        opening = ',';
        const last = page.at(-1);
        if (!last || page.length < pageSize) break;
        const cursor = { createdAt: last.exactTime, agentId: last.agentId };
        page = await findActive(db, organizationId, cursor, pageSize);
      }
      yield opening === '[' ? '[]' : ']';
    }
    return ReadableStream.from(write()) as ReadableStream<string>;
  },
});
