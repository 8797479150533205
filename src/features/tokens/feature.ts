/**
 * Tokens: turns a client's proof into a signed access token, and tells the guard whom a token speaks for.
 * Owns no table yet. Its store reads across agents, organizations and credentials, because the hot path answers
 * "who is this, and may they" in one query.
 */
import type { Clock } from '../../kernel/clock.ts';
import type { Db } from '../../kernel/db.ts';
import type { Identity } from '../../kernel/guard.ts';
import type { Ids } from '../../kernel/ids.ts';
import type { Ledger } from '../../kernel/ledger.ts';
import type { Metrics } from '../../kernel/metrics.ts';
import type { RouteEntry } from '../../kernel/route.ts';
import type { Signer } from '../../kernel/signer.ts';
import { createIdentify } from './identify.ts';
import { tokenRoutes } from './routes.ts';
import { createTokenService } from './service.ts';

export interface TokenDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly ledger: Ledger;
  readonly metrics: Metrics;
  readonly signer: Signer;
  /** Who we are: issuer, and audience of tokens for our own API. */
  readonly issuer: string;
}

export interface Tokens {
  readonly routes: readonly RouteEntry[];
  identify(token: string): Promise<Identity | undefined>;
}

export const createTokens = (deps: TokenDeps): Tokens => ({
  routes: tokenRoutes(createTokenService(deps)),
  identify: createIdentify(deps),
});
