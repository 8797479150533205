/** The agent or person that a chain begins with. */
import type { Queryable } from '../../kernel/data/db.ts';
import type { Lender } from '../people/lenders-store.ts';
import type { AgentGrant } from '../resources/audience-scopes.ts';
import { type Chain, delegatedAudiences, type Link, lastLink, type SubjectType } from './chain.ts';
import type { ChainAgent, DelegationDeps } from './feature.ts';

export interface ChainSubject {
  readonly type: SubjectType;
  readonly id: string;
  readonly organizationId: string;
  /** The scopes of our own API that it may hold, or lend. */
  readonly allowedScopes: readonly string[];
}

export type FindGrant = (
  db: Queryable,
  subject: Pick<ChainSubject, 'type' | 'id'>,
  identifier: string,
) => Promise<AgentGrant | undefined>;

type SubjectReference = Pick<Link, 'subjectType' | 'subjectId'>;

export const agentSubject = ({ agentId, organizationId, allowedScopes }: ChainAgent): ChainSubject => ({
  type: 'agent',
  id: agentId,
  organizationId,
  allowedScopes,
});

/** A person who is suspended lends nothing. */
export const personSubject = ({ personId, organizationId, status, ownScopes }: Lender): ChainSubject => ({
  type: 'person',
  id: personId,
  organizationId,
  allowedScopes: status === 'active' ? ownScopes : [],
});

/** The subjects of these chains, by one query per type; undefined for one that does not exist. */
export async function findSubjects(
  { db, findAgents, findLenders }: Pick<DelegationDeps, 'db' | 'findAgents' | 'findLenders'>,
  links: readonly SubjectReference[],
): Promise<(link: SubjectReference) => ChainSubject | undefined> {
  const idsOf = (type: SubjectType) => [
    ...new Set(links.filter((link) => link.subjectType === type).map((link) => link.subjectId)),
  ];
  const [agents, people] = await Promise.all([findAgents(idsOf('agent')), findLenders(db, idsOf('person'))]);
  return ({ subjectType, subjectId }) => {
    if (subjectType === 'agent') {
      const agent = agents.get(subjectId);
      return agent && agentSubject(agent);
    }
    const person = people.get(subjectId);
    return person && personSubject(person);
  };
}

/** What the subject may hold or lend at a resource. */
export const createFindGrant =
  ({ findGrant, findPersonGrants }: Pick<DelegationDeps, 'findGrant' | 'findPersonGrants'>): FindGrant =>
  async (db, { type, id }, identifier) =>
    type === 'agent'
      ? findGrant(db, id, identifier)
      : (await findPersonGrants(db, [{ personId: id, identifier }]))[0];

/** Reads the grants that the chains depend on by one query per type, however many chains there are. */
export async function prefetchGrants(
  {
    db,
    issuer,
    findGrants,
    findPersonGrants,
  }: Pick<DelegationDeps, 'db' | 'issuer' | 'findGrants' | 'findPersonGrants'>,
  chains: readonly Chain[],
): Promise<FindGrant> {
  const wanted = chains.flatMap((chain) => {
    const { subjectType: type, subjectId: id } = lastLink(chain);
    return delegatedAudiences(chain, issuer)
      .filter((audience) => audience !== issuer)
      .map((identifier) => ({ type, id, identifier }));
  });
  const agents = wanted.filter(({ type }) => type === 'agent');
  const people = wanted.filter(({ type }) => type === 'person');
  const grants = [
    ...(await findGrants(
      db,
      agents.map(({ id, identifier }) => ({ agentId: id, identifier })),
    )),
    ...(await findPersonGrants(
      db,
      people.map(({ id, identifier }) => ({ personId: id, identifier })),
    )),
  ];
  const keyOf = (type: SubjectType, id: string, identifier: string) => `${type} ${id} ${identifier}`;
  const byKey = new Map(
    [...agents, ...people].map(({ type, id, identifier }, index) => [
      keyOf(type, id, identifier),
      grants[index],
    ]),
  );
  return async (_db, { type, id }, identifier) => byKey.get(keyOf(type, id, identifier));
}
