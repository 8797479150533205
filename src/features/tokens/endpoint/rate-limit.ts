/**
 * Counts the request in a rate window: of the client when its proof is good, of the address otherwise. A client id is public, so
 * counting against it before authentication would let anyone lock the client out. 429 when over the limit; a request counts once.
 */
import type { CountedClient } from '../../../kernel/http/route.ts';
import type { ParsedRequest } from './parse.ts';

export const countAgainstClient = (
  { countAgainst }: Pick<ParsedRequest, 'countAgainst'>,
  {
    agentId,
    organizationId,
    rateLimitPerMinute,
  }: Omit<CountedClient, 'clientId'> & { readonly agentId: string },
): Promise<void> => countAgainst({ clientId: agentId, organizationId, rateLimitPerMinute });

export const countAgainstAddress = ({ countAgainst }: Pick<ParsedRequest, 'countAgainst'>): Promise<void> =>
  countAgainst('address');
