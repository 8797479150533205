/**
 * The ways to a token beside `client_credentials`. A grant is data: other features describe theirs, app.ts hands them to the
 * tokens feature, which answers for all of them at the token endpoint. Whoever issues elsewhere uses the same `Mint`.
 */
import type { TSchema } from 'typebox';
import type { Delegation, Origin } from '../caller.ts';
import type { Tx } from '../data/db.ts';
import type { CountAgainst } from '../http/route.ts';

/** RFC 6749 §5.1, with what RFC 8693 adds to it. */
export interface IssuedToken {
  readonly access_token: string;
  readonly token_type: 'Bearer';
  readonly expires_in: number;
  readonly scope: string;
  readonly issued_token_type?: string;
}

export interface MintRequest {
  readonly origin: Origin;
  /** The client that will hold the token. */
  readonly agentId: string;
  /**
   * As far as this way to a token allows. Scopes that the agent may not hold now are left out; of a delegated token, scopes
   * that the subject may not hold now.
   */
  readonly scopes: readonly string[];
  readonly audience: string;
  /** Joins the audit event; never a secret. */
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** Seconds since 1970: the token ends then, if it would not end sooner. */
  readonly notAfter?: number;
  /** On whose behalf; the agent's own when absent. */
  readonly delegation?: Delegation;
}

/**
 * Makes an access token within the transaction that decides about it: the agent is held, must be active and in an active
 * organization (TokenError otherwise), and `token.issued` is recorded once. Good for nothing until the commit.
 */
export type Mint = (tx: Tx, request: MintRequest) => Promise<IssuedToken>;

/** A client that has proved itself; active, in an active organization, and held until the transaction ends. */
export interface AuthenticatedClient {
  readonly agentId: string;
  readonly organizationId: string;
  /** What a token of the client's own can carry by this proof. They do not limit what a delegation lends. */
  readonly scopes: readonly string[];
  /** Who vouched for it, where it was not by its own word; joins the audit event. */
  readonly vouched?: Readonly<Record<string, unknown>>;
}

export interface GrantRequest {
  readonly client: AuthenticatedClient;
  /** The form, validated against the fields that every grant has and those of this one. */
  readonly form: Readonly<Record<string, string | undefined>>;
  /** Of the `resource` asked for; undefined when none was. */
  readonly audience: string | undefined;
  readonly origin: Origin;
}

export interface Grant {
  readonly grantType: string;
  /** The form fields that only this grant reads: optional strings. */
  readonly fields: Readonly<Record<string, TSchema>>;
  /** The agents besides the client that `redeem` will hold: all are taken at once, so that no two wait for each other. */
  parties(form: GrantRequest['form']): Promise<readonly string[]>;
  /**
   * Refuses by a TokenError, before it has written anything: the transaction may be committed all the same, with the record
   * of the refusal.
   */
  redeem(tx: Tx, request: GrantRequest): Promise<IssuedToken>;
}

/** A client that proves itself by somebody else's signed word instead of its own. */
export interface ExternalClientAssertion {
  readonly token: string;
  /** The agent to become, if one is named. */
  readonly agentId: string | undefined;
  /** The scopes asked for a token of the client's own; undefined for another grant, which reads the form itself. */
  readonly scope: string | undefined;
  readonly origin: Origin;
  /** The agents besides the client that the grant will lock; asked once the client is authenticated and counted. */
  parties(): Promise<readonly string[]>;
  readonly countAgainst: CountAgainst;
}

/** What a client gets once it has proved itself, in the transaction that uses its proof up. */
export type Issue = (tx: Tx, client: AuthenticatedClient) => Promise<IssuedToken>;
