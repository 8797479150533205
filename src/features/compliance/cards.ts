/** The cards of all active agents of an organization as one JSON array, written as it is read: a page in memory at a time. */
import { isoTime } from '../../kernel/clock.ts';
import type { ComplianceDeps } from './deps.ts';
import { findActive } from './store.ts';

export interface Cards {
  /** The first page is read before anything is answered, so that what fails then fails as it should. */
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
        const place = { createdAt: last.exactTime, agentId: last.agentId };
        page = await findActive(db, organizationId, place, pageSize);
      }
      yield opening === '[' ? '[]' : ']';
    }
    return ReadableStream.from(write()) as ReadableStream<string>;
  },
});
