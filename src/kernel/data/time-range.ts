import { type Sql, sql } from './sql.ts';

/** Both ends are included; undefined leaves an end open. */
export interface TimeRange {
  readonly since: string | undefined;
  readonly until: string | undefined;
}

export const anyTime: TimeRange = { since: undefined, until: undefined };

/** The conditions on the time of creation; none for an open range. */
export const createdWithin = ({ since, until }: TimeRange, column: Sql = sql`created_at`): Sql[] => [
  ...(since === undefined ? [] : [sql`${column} >= ${since}`]),
  ...(until === undefined ? [] : [sql`${column} <= ${until}`]),
];
