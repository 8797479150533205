/** The names in the column `identifier` of a resource. No request can name one that is no URI. */
import { raw, type Sql, sql } from '../../kernel/data/sql.ts';

const local = 'local:';
const pending = 'pending:';

/**
 * Of a resource with a loopback identifier, where identifiers are proven: only agents of its own organization get tokens for it, and other
 * organizations can have the same.
 */
export const localName = (organizationId: string, identifier: string): string =>
  `${local}${organizationId}:${identifier}`;

/** Of a pending resource: the audience of no token. An organization has one resource for both spellings. */
export const pendingName = (organizationId: string, [bare]: readonly string[]): string =>
  `${pending}${organizationId}:${bare}`;

/** Of a resource `r`. */
export const isPending = sql`starts_with(r.identifier, ${raw(`'${pending}'`)})`;

/** Of a resource `r`; the column `identifier` may have another name for it. */
export const shownIdentifier = sql`coalesce(r.pending_identifier, r.identifier)`;

/** The resource `r`, if any, that an audience means for the agents of an organization: its own local one first. */
export const resourceOf = (audience: Sql, organizationId: Sql): Sql => sql`
  lateral (select * from resources
           where identifier in (${audience}, ${raw(`'${local}'`)} || ${organizationId} || ':' || ${audience})
           order by identifier = ${audience} limit 1) r on true`;
