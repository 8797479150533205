/** `countersign whoami` and `token`: who the account is to the server, and its tokens. */
import { CommandError, exitCodes } from '../../command-error.ts';
import type { Io } from '../../io.ts';
import { print, printError, printJson, quoted } from '../../terminal.ts';
import {
  type AccountOptions,
  accountFrom,
  type ClientAccount,
  claimsOf,
  requestToken,
  type SessionAccount,
  tokenOf,
} from '../account.ts';
import { ApiError, connect } from '../connection.ts';
import { fetchIdentity, sessionAccess } from './session.ts';

interface Identity {
  readonly server: string;
  readonly profile: string | null;
  /** Null for a member, who acts through no agent. */
  readonly agentId: string | null;
  readonly email: string | null;
  readonly organizationId: string;
  readonly organization: string | null;
  readonly scopes: readonly string[];
  readonly credentialId: string | null;
  /** Null when the client secret does not expire, or when the agent may not read it. */
  readonly credentialExpiresAt: string | null;
  /** Null for a sign-in with a code of the console, which gets no tokens. */
  readonly tokenExpiresAt: string | null;
  readonly signInExpiresAt: string | null;
  /** The person who signed in to the console through an OpenID provider. */
  readonly person: string | null;
}

export async function whoami(io: Io, options: AccountOptions & { readonly json?: boolean }): Promise<void> {
  const account = accountFrom(io, options);
  const known = { server: account.url, profile: account.profile ?? null };
  const identity =
    'session' in account
      ? await describeSession(account, known)
      : await describe(io, options, account, known);
  if (options.json) return printJson(io, identity);
  const rows: [string, string | null][] = [
    ['server', identity.server],
    ['profile', identity.profile],
    ['person', identity.person],
    ['agent', identity.agentId && named(identity.agentId, identity.email)],
    ['organization', named(identity.organizationId, identity.organization)],
    ['scopes', identity.scopes.join(' ')],
    ['secret expires', identity.credentialExpiresAt],
    ['token expires', identity.tokenExpiresAt],
    ['sign-in ends', identity.signInExpiresAt],
  ];
  for (const [name, value] of rows) if (value !== null) print(io, `${name.padEnd(16)}${quoted(value)}`);
}

const named = (id: string, name: string | null): string => (name === null ? id : `${name} (${id})`);

async function describe(
  io: Io,
  options: AccountOptions,
  account: ClientAccount,
  known: Pick<Identity, 'server' | 'profile'>,
): Promise<Identity> {
  const connection = connect(io, options);
  const claims = claimsOf(await tokenOf(io, account));
  /** An agent may lack the scope to read itself; the token has told the rest. */
  const optional = async <T>(path: string, query = {}): Promise<T | undefined> => {
    try {
      return await connection.call<T>('GET', path, { query, optional: true });
    } catch (error) {
      if (error instanceof ApiError && (error.status === 403 || error.status === 404)) return undefined;
      throw error;
    }
  };
  const agentId = String(claims.client_id ?? claims.sub);
  const organizationId = String(claims.organization_id);
  const credentialId = typeof claims.credential_id === 'string' ? claims.credential_id : null;
  const agent = await optional<{ email: string }>(`/agents/${agentId}`);
  const organization = await optional<{ name: string }>(`/organizations/${organizationId}`);
  const credentials = await optional<{ data: { credentialId: string; expiresAt: string | null }[] }>(
    `/agents/${agentId}/credentials`,
    { status: 'active', limit: 100 },
  );
  // The server may have refused the token that was kept.
  const current = claimsOf(await tokenOf(io, account));
  const credential = credentials?.data.find((entry) => entry.credentialId === credentialId);
  return {
    ...known,
    agentId,
    email: agent?.email ?? null,
    organizationId,
    organization: organization?.name ?? null,
    scopes: String(current.scope ?? '')
      .split(' ')
      .filter(Boolean),
    credentialId,
    credentialExpiresAt: credential?.expiresAt ?? null,
    tokenExpiresAt: new Date(Number(current.exp) * 1_000).toISOString(),
    signInExpiresAt: null,
    person: null,
  };
}

async function describeSession(
  account: SessionAccount,
  known: Pick<Identity, 'server' | 'profile'>,
): Promise<Identity> {
  // Before a request that the server would refuse.
  sessionAccess(account);
  const { agentId, agentName, organizationId, organizationName, scopes, person, expiresAt } =
    await fetchIdentity(account);
  return {
    ...known,
    ...{ agentId, email: agentName, organizationId, organization: organizationName, scopes },
    ...{ credentialId: null, credentialExpiresAt: null, tokenExpiresAt: null },
    signInExpiresAt: expiresAt,
    person: person?.name ?? null,
  };
}

export interface TokenOptions extends AccountOptions {
  readonly resource?: string;
  readonly scope?: string;
  readonly decode?: boolean;
  readonly json?: boolean;
}

export async function printToken(io: Io, options: TokenOptions): Promise<void> {
  const { resource, scope } = options;
  const account = accountFrom(io, options);
  if ('session' in account)
    throw new CommandError(
      `the profile ${account.profile} was signed in from the console and gets no access tokens; sign in with a client id and its secret: \`countersign login --profile NAME --client-id ID\``,
      exitCodes.notPermitted,
    );
  const answer = await requestToken(account, {
    ...(resource !== undefined && { resource }),
    ...(scope !== undefined && { scope }),
  });
  if (options.decode) return printJson(io, claimsOf(answer.access_token));
  if (options.json) return printJson(io, answer);
  print(io, answer.access_token);
  printError(io, `valid for ${Number(answer.expires_in)} seconds, scope: ${quoted(answer.scope ?? '')}`);
}
