/** A change of the server, and what is known when changes are planned and applied. */
import { quoted } from '../../terminal.ts';
import type { ApplyApi } from './api.ts';
import type { ClientSecrets } from './client-secrets.ts';
import type { FieldChange } from './compare.ts';
import type { IdentityFile, Problems } from './file/identity-file.ts';
import type { LiveState } from './live-state.ts';
import type { Ids, References } from './references.ts';

export type Kind =
  | 'organization'
  | 'agent'
  | 'connection'
  | 'client policy'
  | 'approval policy'
  | 'person'
  | 'resource'
  | 'share'
  | 'grant'
  | 'trust policy'
  | 'webhook';

export interface Change {
  readonly action: 'create' | 'update' | 'delete';
  readonly kind: Kind;
  readonly name: string;
  /** Of the organization that it belongs to: slug, or id. */
  readonly organization?: string;
  readonly fields: readonly FieldChange[];
  /** A consequence that the fields do not show. */
  readonly remark?: string;
  /** Is asked about separately. */
  readonly irreversible?: true;
  apply(running: Running): Promise<void>;
}

export interface Planning {
  readonly file: IdentityFile;
  readonly live: LiveState;
  readonly references: References;
  readonly problems: Problems;
  /** Of the person who applies the file in a session; undefined for a client. */
  readonly ownPersonId: string | undefined;
  readonly clientSecrets: ClientSecrets;
  /** Ids of the organizations whose things are pruned; undefined without --prune. */
  readonly pruned: ReadonlySet<string> | undefined;
}

export interface Running {
  readonly api: ApplyApi;
  /** Of the things that existed, and of those that the run has created. */
  readonly ids: Ids;
  /** By resource id: scopes that a resource or a share lost. The server has taken them from shares and grants. */
  readonly endedScopes: Map<string, Set<string>>;
  readonly keepSecret: (secret: CreatedSecret) => void;
}

export interface CreatedSecret {
  readonly kind: Kind;
  readonly name: string;
  readonly url: string;
  readonly id: string;
  readonly signingSecret: string;
}

/** Names may come from another party, and may have line breaks. */
export const labelOf = ({ kind, name }: Pick<Change, 'kind' | 'name'>): string =>
  `${kind === 'resource' ? 'API' : kind} ${quoted(name)}`;
