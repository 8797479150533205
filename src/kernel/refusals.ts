/** Refusals worth knowing of are in the audit log before the refused hear of them. Those of one moment share a commit. */
import type { Db } from './db.ts';
import { createGatherer } from './gather.ts';
import type { Entry, Ledger } from './ledger.ts';

export type RecordRefusal = (entry: Entry) => Promise<void>;

export const createRecordRefusal = ({ db, ledger }: { db: Db; ledger: Ledger }): RecordRefusal =>
  createGatherer({
    run: async (entries: readonly Entry[]) => {
      await db.transaction((tx) => ledger.recordAll(tx, entries));
      return entries.map(() => undefined);
    },
    atMost: 100,
    atOnce: 1,
    waiting: 1_000,
  });
