/** The description of a page: where it is, and what it needs. */
import type { Scope } from '../api/generated.ts';
import type { Session } from '../api/session.ts';
import type { IconName } from '../components/icon-paths.ts';
import type { SearchFields, SearchOf } from './search-params.ts';

/** The entries of the first stand at the top, without a name. */
export const navigationGroups = ['Start', 'Identity', 'Evidence', 'Integrations', 'Administration'] as const;
type NavigationGroup = (typeof navigationGroups)[number];

type Permissions = Pick<Session, 'multiTenant' | 'role' | 'scopes' | 'person'>;

/** Only operators of the instance hold it. */
export const operatorScope = 'admin:orgs' satisfies Scope;

/** Whether the session may manage its organization: members, people and billing. */
export const isAdmin = ({ role, scopes }: Permissions): boolean =>
  role === 'admin' || scopes.includes(operatorScope);

/** An entry of the palette that goes to a page, usually with a search parameter that opens a dialog. */
interface PageCommand {
  readonly label: string;
  /** More words that find it. */
  readonly keywords?: string;
  readonly scope?: Scope;
  /** For an action that depends on the role. */
  readonly visible?: (session: Permissions) => boolean;
  /** Search parameters of the page, as they are in the URL. */
  readonly search: Readonly<Record<string, string>>;
}

interface PageOptions<Fields extends SearchFields> {
  /** Below /console, such as `/agents` or `/agents/$agentId`. */
  readonly path: string;
  /** The `h1` and the title of the tab. */
  readonly title: string;
  /** Without it the page is not in the navigation. */
  readonly navigation?: {
    readonly group: NavigationGroup;
    /** The place within the group; smaller numbers are first. */
    readonly order: number;
    readonly icon: IconName;
    /** Shorter than the title, where necessary. */
    readonly label?: string;
    /** The number beside it: of the approvals that wait for the person. */
    readonly counts?: 'waiting';
  };
  /** The session needs it. Without it the page shows "no permission" and is not in the navigation. */
  readonly scope?: Scope;
  /** The page of the documentation that explains it, below /docs, such as `guides/webhooks`. */
  readonly guide?: string;
  /** Also for members, who see no other page. */
  readonly forMembers?: boolean;
  /** Only where organizations are separate tenants, or only for the operator. */
  readonly visible?: (session: Permissions) => boolean;
  readonly search?: Fields;
  readonly commands?: readonly PageCommand[];
}

export interface Page<Fields extends SearchFields = SearchFields> extends PageOptions<Fields> {
  readonly search: Fields;
}

export const definePage = <const Fields extends SearchFields = Record<never, never>>(
  options: PageOptions<Fields>,
): Page<Fields> => ({ ...options, search: options.search ?? ({} as Fields) });

export type PageSearch<P> = P extends Page<infer Fields> ? SearchOf<Fields> : never;
