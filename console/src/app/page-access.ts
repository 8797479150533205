/** Which pages a session can open. */
import type { Session } from '../api/session.ts';
import { pages } from '../pages/registry.ts';
import { groupPages } from './navigation-groups.ts';
import type { Page } from './page.ts';

/** A member acts through no agent, and sees only what belongs to the person. */
export const isMember = ({ agentId }: Pick<Session, 'agentId'>): boolean => agentId === null;

export const firstPageOf = (session: Session): string => (isMember(session) ? '/my-agents' : '/');

export const mayOpen = (page: Page, session: Session): boolean =>
  (!isMember(session) || page.forMembers === true) &&
  (!page.scope || session.scopes.includes(page.scope)) &&
  (page.visible?.(session) ?? true);

export const pagesFor = (session: Session): readonly Page[] => pages.filter((page) => mayOpen(page, session));

export const navigationFor = (session: Session) => groupPages(pagesFor(session));
