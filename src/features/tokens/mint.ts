/** How a token comes about, whatever way led to it: drafted, recorded in the transaction that decides, then handed out. */
import { limits } from '../../contract/limits.ts';
import type { Delegation, Origin } from '../../kernel/caller.ts';
import type { Queryable, Tx } from '../../kernel/data/db.ts';
import { failToken, TokenError } from '../../kernel/fail.ts';
import type { IssuedToken, Mint } from '../../kernel/ports/grant.ts';
import { ceilingOf } from './ceiling.ts';
import type { PlanLimit, TokenDeps } from './deps.ts';
import type { Decision } from './outcome.ts';
import { findStandings, holdStanding, type Standing } from './store.ts';

export interface Draft {
  readonly origin: Origin;
  readonly audience: string;
  readonly scope: string;
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
  readonly notAfter?: number | undefined;
  readonly delegation?: Delegation | undefined;
  /** The other agents of the delegation. */
  readonly others?: readonly Standing[];
}

export interface TokenEligibility {
  readonly organizationId: string;
  readonly problem?: string;
}

export interface Minter {
  /** Every token passes here once, when nothing else stands against it, its plan included, and just before it is recorded. */
  draft(client: Standing, wanted: Draft): Decision<IssuedToken>;
  readonly mint: Mint;
  /** Whose the agent is, and why it can have no token now, if so. Held until the transaction ends. */
  lockEligibility(tx: Tx, agentId: string): Promise<TokenEligibility | undefined>;
  /** The same as it is at the moment: holds nothing and waits for nobody. */
  findEligibility(db: Queryable, agentId: string): Promise<TokenEligibility | undefined>;
}

export function createMinter(deps: TokenDeps): Minter {
  const { clock, ids, ledger, metrics, signer, checkPlans } = deps;

  const draft: Minter['draft'] = (client, wanted) => {
    const { agentId, organizationId } = client;
    const { origin, audience, scope, delegation } = wanted;
    const issuedAt = Math.floor(clock.now() / 1000);
    const expiresAt = Math.min(issuedAt + limits.accessTokenSeconds, wanted.notAfter ?? Infinity);
    const expiresIn = expiresAt - issuedAt;
    if (expiresIn <= 0) failToken('invalid_grant', 'what this token would rest on has expired');
    // Its time, to the millisecond, tells whether the token is from before a suspension; `iat` counts seconds only. By the clock of
    // another node the suspension may not be yet.
    const ends = [client, ...(wanted.others ?? [])].map(endOfEarlier);
    const tokenId = ids.uuidV7(Math.max(clock.now(), 1 + Math.max(...ends)));
    const claims = {
      aud: audience,
      sub: delegation?.subjectId ?? agentId,
      client_id: agentId,
      scope,
      organization_id: organizationId,
      iat: issuedAt,
      exp: expiresAt,
      jti: tokenId,
      ...(delegation && delegationClaims(delegation)),
    };
    return {
      entry: {
        actor: origin,
        type: 'token.issued',
        subject: {
          organizationId,
          agentId,
          metadata: { tokenId, scope, audience, expiresIn, ...wanted.metadata },
        },
      },
      // Signed while the record is being written; handed out when it has been.
      outcome: unwatched(answer(signer.sign(claims, 'at+jwt'), scope, expiresIn)),
    };
  };

  return {
    draft,
    async lockEligibility(tx, agentId) {
      const client = await holdStanding(tx, agentId);
      return client && shown(client);
    },
    async findEligibility(db, agentId) {
      const client = (await findStandings(db, [agentId])).get(agentId);
      return client && shown(client);
    },
    async mint(tx, { agentId, scopes: wanted, ...rest }) {
      const client = await holdStanding(tx, agentId);
      if (!client) return failToken('unauthorized_client', 'the agent does not exist');
      const problem = standingProblem(client);
      if (problem !== undefined) failToken('unauthorized_client', problem);
      const others = await othersOf(tx, agentId, rest.delegation);
      const owner = [client, ...others].find(
        (one) => one.agentId === (rest.delegation?.subjectId ?? agentId),
      );
      if (!owner) return failToken('unauthorized_client', 'the subject does not exist');
      const held = ceilingOf(owner, rest.delegation).filter((scope) => wanted.includes(scope));
      const [limit] = await checkPlans(tx, [client], { waiting: true });
      if (limit && limit !== 'busy') throw planRefusal(limit);
      const { entry, outcome } = draft(client, { ...rest, others, scope: held.join(' ') });
      await ledger.recordAll(tx, [entry]);
      const issued = await outcome;
      tx.afterCommit(() => metrics.count('service_tokens_issued_total', { scope: issued.scope }));
      return issued;
    },
  };
}

function shown(client: Standing): TokenEligibility {
  const problem = standingProblem(client);
  return { organizationId: client.organizationId, ...(problem !== undefined && { problem }) };
}

export function standingProblem({ agentStatus, organizationStatus }: Standing): string | undefined {
  if (agentStatus !== 'active') return `the agent is ${agentStatus}`;
  return organizationStatus === 'active' ? undefined : `the organization is ${organizationStatus}`;
}

export const planRefusal = ({ limitType, limit, resetsAt, description }: PlanLimit): TokenError =>
  new TokenError('unauthorized_client', description, `${limitType} reached`, { limitType, limit, resetsAt });

async function othersOf(tx: Tx, agentId: string, delegation: Delegation | undefined): Promise<Standing[]> {
  if (!delegation) return [];
  const { subjectId, actorIds } = delegation;
  const ids = [subjectId, ...actorIds].filter((id) => id !== agentId);
  return [...(await findStandings(tx, ids)).values()];
}

const endOfEarlier = ({ tokensEndedAt }: Standing): number =>
  tokensEndedAt === null ? 0 : Date.parse(tokensEndedAt);

/** Nobody looks at it before the record is durable, and perhaps nobody ever. */
export function unwatched<T>(outcome: Promise<T>): Promise<T> {
  outcome.catch(() => {});
  return outcome;
}

/** RFC 8693 §4.1: whoever acts now is outermost, and within it those before. */
function delegationClaims({ actorIds, chainIds }: Delegation) {
  const act = actorIds.reduceRight<object | undefined>(
    (earlier, sub) => ({ sub, ...(earlier && { act: earlier }) }),
    undefined,
  );
  return { act, chain_id: chainIds.at(-1), chain_path: chainIds };
}

async function answer(signing: Promise<string>, scope: string, expiresIn: number): Promise<IssuedToken> {
  return { access_token: await signing, token_type: 'Bearer', expires_in: expiresIn, scope };
}
