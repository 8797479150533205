/**
 * OAuth 2.0 grants of the token endpoint. A grant is data: a feature describes its own, app.ts passes it to the tokens feature,
 * and the token endpoint runs the same stages for all of them. Features that issue tokens elsewhere use the same `Mint`.
 *
 * A request of an unbatched grant runs, in this order: `isWorkloadAssertion` while it is parsed; `publicClients.register` and `findAgent`
 * for a client that is named by an address; authentication and counting; `prepare` and `agentsToLock`; and in the transaction that issues
 * `authorize` and `whenIssued`. Before that transaction only `register` and `prepare` write, each in a transaction of its own.
 */
import type { TSchema } from 'typebox';
import type { AuthorizationDetails } from '../../contract/authorization-details.ts';
import type { TokenErrorCode } from '../../contract/errors.ts';
import type { Delegation, Origin } from '../../kernel/caller.ts';
import type { Tx } from '../../kernel/data/db.ts';
import type { LedgerEntry } from '../../kernel/domain-event.ts';
import type { TokenError } from '../../kernel/fail.ts';
import type { CountAgainst } from '../../kernel/http/route.ts';
import type { VerifiedProof } from '../../kernel/ports/possession.ts';

/** RFC 6749 §5.1; `issued_token_type` is of RFC 8693. */
export interface IssuedToken {
  readonly access_token: string;
  /** `DPoP` for a token that is bound to a key (RFC 9449 §5); `N_A` for one that opens no API (RFC 8693 §2.2.1). */
  readonly token_type: 'Bearer' | 'DPoP' | 'N_A';
  readonly expires_in: number;
  readonly scope: string;
  readonly issued_token_type?: string;
  readonly refresh_token?: string;
  /** RFC 9396 §7. */
  readonly authorization_details?: AuthorizationDetails;
}

/** An actor that another issuer names (RFC 8693 §4.1). `iss` separates it from our agents; `act` is the actor before it. */
export interface AssertedActor {
  readonly iss: string;
  readonly sub: string;
  readonly sub_profile?: string;
  readonly act?: AssertedActor;
}

/** The contents of a token that a grant allows. */
export interface AuthorizedToken {
  /**
   * Scopes that the agent may not hold now are left out of the token; for a delegated token, scopes that the subject may not
   * hold now. For a registered resource, its grant says what it may hold. `all`: every scope that it may hold.
   */
  readonly scopes: readonly string[] | 'all';
  /** The client named these scopes. A token for another audience than our own API then carries all of them or is refused. */
  readonly exact?: boolean;
  /** Our issuer for our own API, otherwise the identifier of a resource. */
  readonly audience: string;
  /** Joins the audit event; never a secret. */
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** Seconds since 1970: the token expires then, if not sooner. */
  readonly notAfter?: number;
  /** Absent for a token of the agent's own. */
  readonly delegation?: Delegation;
  /** Of a token by an identity assertion: who acted before our agents, nested below them. */
  readonly assertedActor?: AssertedActor;
  /** Of a token for a person: the address of the metadata document by which the client came. */
  readonly clientUri?: string;
  /** What exactly was approved (RFC 9396). Such a token may have no scope. */
  readonly authorizationDetails?: AuthorizationDetails;
  /** The trust policy that admitted the workload; absent for clients with a proof of their own. */
  readonly trustPolicyId?: string;
  /** Part of the response. */
  readonly refreshToken?: string;
  /** Writes what belongs to the token. Called when nothing can refuse the token any more. */
  whenIssued?(tx: Tx): Promise<void>;
}

interface MintRequest extends AuthorizedToken {
  readonly origin: Origin;
  /** The token is bound to the key, and the transaction marks the proof as used. */
  readonly keyProof?: VerifiedProof | undefined;
  /** The client that will hold the token. */
  readonly agentId: string;
}

/**
 * Makes an access token within the caller's transaction: locks the agent, which must be active and in an active organization
 * (TokenError otherwise), and records `token.issued` once. The token must not be sent before the commit.
 */
export type Mint = (tx: Tx, request: MintRequest) => Promise<IssuedToken>;

/** An authenticated client: active, in an active organization, and locked until the transaction ends. */
export interface AuthenticatedClient {
  readonly agentId: string;
  readonly organizationId: string;
  /**
   * The scopes that a token of the client's own can carry: for our own API, or the scopes that a trust policy gives for the
   * requested audience. They do not limit a delegation.
   */
  readonly scopes: readonly string[];
  /** The trust policy that admitted the workload; absent for clients with a proof of their own. */
  readonly trustPolicyId?: string;
  /** Joins the audit event: the trust policy and issuer of an external assertion. */
  readonly auditMetadata?: Readonly<Record<string, unknown>>;
  /** Of a workload: the key whose possession the request proves. It goes to `Mint`. */
  readonly keyProof?: VerifiedProof;
}

export interface GrantRequest {
  readonly client: AuthenticatedClient;
  /** The form, validated against the fields of all grants and those of this one. */
  readonly form: Readonly<Record<string, string | undefined>>;
  /** The `resource` of the form; undefined when it names none. */
  readonly audience: string | undefined;
  /** RFC 7638 thumbprint of the key whose possession the request proves (DPoP). */
  readonly keyThumbprint?: string;
}

/** A refusal that changes something nevertheless: the endpoint commits it with the record of the refusal. */
export interface RefusalWithEffect {
  readonly refusal: TokenError;
  effect(tx: Tx): Promise<unknown>;
}

/** Another kind of token than an access token. It takes no part of the plan's quota. */
export interface OtherToken {
  readonly entry: LedgerEntry;
  readonly response: Promise<IssuedToken>;
}

/** A grant whose clients are known by a public `client_id`, or by the address of their metadata document. */
interface PublicClients {
  /**
   * The agent that the address means in this request: an address may have an agent in each organization. Undefined when the form does
   * not refer to one of its agents.
   */
  findAgent(form: GrantRequest['form'], clientUri: string): Promise<string | undefined>;
  /** Before `findAgent`: makes the agent of a client that the form itself vouches for. */
  register?(form: GrantRequest['form'], clientUri: string, origin: Origin): Promise<void>;
  /** The description of `invalid_grant` for such a form. */
  readonly unknown: string;
}

interface GrantBase {
  readonly grantType: string;
  /** The form fields that only this grant reads: optional strings. */
  readonly fields: Readonly<Record<string, TSchema>>;
  /** The specification's own grant has its own codes; the others use those of RFC 6749 and RFC 8693. */
  readonly errorCodes: {
    readonly malformed: TokenErrorCode;
    readonly missingClient: TokenErrorCode;
    readonly invalidResource: TokenErrorCode;
  };
  /** RFC 8693 §2.2.1. */
  readonly issuedTokenType?: string;
  /** Called after the commit for each token that was issued. */
  onIssued?(client: Pick<AuthenticatedClient, 'agentId' | 'organizationId'>): void;
}

/** Requests of many clients share one transaction. `authorize` is synchronous, because it runs while all of them are locked. */
export interface BatchedGrant extends GrantBase {
  readonly transaction: 'shared';
  /** Refuses by a TokenError. */
  authorize(request: GrantRequest): AuthorizedToken;
}

/** Each request has its own transaction, which may wait for locks. */
export interface UnbatchedGrant extends GrantBase {
  readonly transaction: 'own';
  /** Whether the form's own `assertion` says who the client is: then the request needs no other proof. */
  isWorkloadAssertion?(form: GrantRequest['form']): boolean;
  /**
   * Before the transaction, once the client is authenticated and counted: for work that calls other servers or takes other locks. A refusal
   * changes nothing, and is recorded by the transaction.
   */
  prepare?(
    request: Omit<GrantRequest, 'client'> & {
      readonly client: Pick<AuthenticatedClient, 'agentId' | 'organizationId'>;
      readonly origin: Origin;
    },
  ): Promise<TokenError | undefined>;
  /** The agents besides the client that `authorize` locks. The endpoint locks all agents at once, which avoids deadlocks. */
  agentsToLock(form: GrantRequest['form']): Promise<readonly string[]>;
  /** Admits clients without credentials; absent: none. */
  readonly publicClients?: PublicClients;
  /** Refuses by a TokenError, before it writes: the endpoint may commit the transaction with the record of the refusal. */
  authorize(
    tx: Tx,
    request: GrantRequest & { readonly origin: Origin },
  ): Promise<AuthorizedToken | OtherToken | RefusalWithEffect>;
}

export type Grant = BatchedGrant | UnbatchedGrant;

/** A client assertion that is signed by an external issuer (workload identity), not by the client's own key. */
export interface ExternalClientAssertion {
  readonly token: string;
  /** A JWT-SVID, which only policies for SPIFFE admit. */
  readonly svid?: boolean;
  /** The `client_id` of the form, if it names one. */
  readonly agentId: string | undefined;
  /** The scopes asked for a token of the client's own; undefined for other grants, which read the form themselves. */
  readonly scope: string | undefined;
  readonly origin: Origin;
  /** The agents besides the client that the grant locks; called once the client is authenticated and counted, and has proven its key. */
  agentsToLock(
    client: Pick<AuthenticatedClient, 'agentId' | 'organizationId'>,
    keyProof: VerifiedProof | undefined,
  ): Promise<readonly string[]>;
  readonly countAgainst: CountAgainst;
  /** The key whose possession the request proves; called once the client is authenticated and counted. Refuses by a TokenError. */
  provePossession?(): Promise<VerifiedProof | undefined>;
}

/** Acts for an authenticated workload, in the transaction that marks its assertion as used. */
export type WorkloadAction<Result> = (tx: Tx, client: AuthenticatedClient) => Promise<Result>;
