/** `countersign login` and `logout`: stores a profile that works, and removes it. The profile is a client, or a session of a person. */
import { isUuid } from '../../../kernel/ids.ts';
import { CommandError, exitCodes } from '../../command-error.ts';
import type { Io } from '../../io.ts';
import { ask, askSecret, hasTerminal, readSecretFromInput } from '../../prompt.ts';
import { print, printError, quoted } from '../../terminal.ts';
import { requestToken, requireAddress, revokeToken } from '../account.ts';
import { isLoopback } from '../http.ts';
import { dropToken, keepToken } from '../kept-tokens.ts';
import { receiveCode } from './browser-login.ts';
import {
  changeProfiles,
  defaultProfile,
  findProfile,
  type Profile,
  profilesFile,
  readProfiles,
  requireProfileName,
} from './profiles.ts';
import { endSession, isCode, redeemCode } from './session.ts';

interface LoginOptions {
  readonly url?: string;
  readonly profile?: string;
  readonly clientId?: string;
  readonly secretStdin?: boolean;
  /** Allows an address that is neither https nor of this machine. */
  readonly insecureHttp?: boolean;
  /** A one-time code of the console, asked for or read from standard input. */
  readonly code?: boolean;
  /** False: the address is printed, and no browser is opened. */
  readonly browser?: boolean;
}

/** A profile that the server has accepted, and the name that it is for. */
interface SignedIn {
  readonly profile: Profile;
  readonly as: string;
}

export async function login(io: Io, options: LoginOptions): Promise<void> {
  const name = options.profile ?? defaultProfile;
  requireProfileName(name);
  const known = findProfile(io, name);
  const { profile, as } = await signIn(io, options, known);
  await changeProfiles(io, ({ profiles }) => ({
    current: name,
    profiles: new Map(profiles).set(name, profile),
  }));
  print(io, `Signed in to ${profile.url} as ${as}.`);
  printError(io, `The profile ${name} is stored in ${profilesFile(io)}, and is the current one.`);
  // What it replaces.
  if (known && !isSame(known, profile)) await endOnServer(io, known).catch(() => undefined);
}

const isSame = (known: Profile, profile: Profile): boolean =>
  'clientId' in known &&
  'clientId' in profile &&
  known.url === profile.url &&
  known.clientId === profile.clientId &&
  known.clientSecret === profile.clientSecret;

async function signIn(io: Io, options: LoginOptions, known: Profile | undefined): Promise<SignedIn> {
  const address = await enterUrl(io, options.url ?? io.env.COUNTERSIGN_URL, known?.url);
  requireAddress(address);
  if (!options.insecureHttp) refusePlainHttp(address);
  const url = serverOf(io, address);
  if (options.code)
    return signInWithCode(url, await enterSecret(io, 'one-time code', '--code', !hasTerminal(io)));
  const givenId = options.clientId ?? io.env.COUNTERSIGN_CLIENT_ID;
  if (givenId !== undefined && isCode(givenId))
    throw new CommandError(
      'a one-time code is not a client id, and others could have seen it here: make a new one, and give --code',
      exitCodes.usage,
    );
  if (givenId === undefined && !options.secretStdin)
    return signInWithBrowser(io, url, options.browser ?? true);
  const clientId = givenId ?? knownId(known);
  refuseOtherIds(clientId);
  const clientSecret = await enterSecret(io, 'client secret', '--secret-stdin', options.secretStdin);
  const profile = { url, clientId, clientSecret };
  // A profile that does not work is not stored.
  const { access_token: token, expires_in: expiresIn } = await requestToken(profile);
  await keepToken(io, { ...profile, isStored: true }, { token, expiresIn });
  return { profile, as: quoted(clientId) };
}

/** A name cannot be looked up: this machine has no login yet. So a wrong id is refused before the secret is asked for. */
function refuseOtherIds(clientId: string): void {
  if (isUuid(clientId)) return;
  const problem = /^https:\/\//i.test(clientId)
    ? 'a client with a metadata document, which has no client secret; --client-id takes the UUID of an agent'
    : 'not a client id, which is a UUID such as 7c9e6679-7425-40de-944b-e07fc1f90ae7';
  throw new CommandError(
    `${quoted(clientId)} is ${problem}. It is the id of the agent: the console shows it on the page of the agent under Identity, and \`countersign agents list\` lists it on a machine that has a login`,
    exitCodes.usage,
  );
}

async function signInWithCode(address: string, code: string, verifier?: string): Promise<SignedIn> {
  const { url, session, expiresAt, person, agentName } = await redeemCode(address, code, verifier);
  return {
    profile: { url, session, expiresAt },
    as: `${quoted(person?.name ?? agentName)}, until ${quoted(expiresAt)}`,
  };
}

async function signInWithBrowser(io: Io, url: string, openIt: boolean): Promise<SignedIn> {
  const { code, verifier, finish } = await receiveCode(io, url, openIt);
  try {
    const signedIn = await signInWithCode(url, code, verifier);
    await finish();
    return signedIn;
  } catch (error) {
    await finish('The command line could not sign in; the terminal says why. You can close this page.');
    throw error;
  }
}

/** Of the profile that is renewed with `--secret-stdin`, which leaves no terminal to ask on. */
function knownId(known: Profile | undefined): string {
  if (known && 'clientId' in known) return known.clientId;
  throw new CommandError(
    'the client id is missing; give --client-id. Without --secret-stdin, `countersign login` opens a browser',
    exitCodes.usage,
  );
}

/** The address of the API is a common mistake. */
function serverOf(io: Io, address: string): string {
  const url = address.replace(/\/+$/, '');
  const server = url.replace(/\/+api\/v1$/, '');
  if (server !== url) printError(io, `The address of the server is ${quoted(server)}: /api/v1 is left out.`);
  return server;
}

/** `--secret-stdin` leaves no terminal to ask on, so a profile that is renewed keeps its address. */
const enterUrl = async (io: Io, given: string | undefined, known: string | undefined): Promise<string> =>
  given ?? enter(io, 'address of the server', '--url', known, (question) => ask(io, question));

async function enter(
  io: Io,
  what: string,
  option: string,
  known: string | undefined,
  askFor: (question: string) => Promise<string>,
): Promise<string> {
  if (!hasTerminal(io)) {
    if (known !== undefined) return known;
    throw new CommandError(
      `the ${what} is missing, and there is no terminal to ask on; give ${option}`,
      exitCodes.usage,
    );
  }
  const answer = (await askFor(`${what}${known === undefined ? '' : ` [${quoted(known)}]`}: `)) || known;
  if (!answer) throw new CommandError(`the ${what} is missing`, exitCodes.usage);
  return answer;
}

async function enterSecret(
  io: Io,
  what: string,
  option: string,
  fromInput: boolean | undefined,
): Promise<string> {
  if (fromInput) return readSecretFromInput(io);
  if (!hasTerminal(io))
    throw new CommandError(
      `there is no terminal to ask for the ${what} on; write it to standard input and give ${option}`,
      exitCodes.usage,
    );
  const secret = await askSecret(io, `${what} (not shown): `);
  if (secret === '') throw new CommandError(`the ${what} is missing`, exitCodes.usage);
  return secret;
}

function refusePlainHttp(url: string): void {
  const { protocol, hostname } = new URL(url);
  if (protocol === 'http:' && !isLoopback(hostname))
    throw new CommandError(
      `${quoted(url)} is plain http, and others on the network could read the secret: use https, or give --insecure-http for a network that you trust`,
      exitCodes.usage,
    );
}

export async function logout(io: Io, options: { readonly profile?: string }): Promise<void> {
  const { current } = readProfiles(io);
  const name = options.profile ?? current;
  const profile = name === undefined ? undefined : findProfile(io, name);
  if (name === undefined || profile === undefined)
    throw new CommandError(
      name === undefined ? 'there is no profile to remove' : `there is no profile ${quoted(name)}`,
      exitCodes.notFound,
    );
  await changeProfiles(io, (stored) => {
    const profiles = new Map(stored.profiles);
    profiles.delete(name);
    const isCurrent = stored.current === name;
    return { current: isCurrent ? profiles.keys().next().value : stored.current, profiles };
  });
  print(io, `The profile ${name} is removed from this machine.`);
  try {
    if (await endOnServer(io, profile))
      printError(io, `Its ${proofOf(profile)} has ended on the server, too.`);
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    const end = 'session' in profile ? `at ${quoted(profile.expiresAt)} at the latest` : 'by itself';
    throw new CommandError(
      `the ${proofOf(profile)} could not be ended on the server (${error.message}); it ends ${end}`,
      error.exitCode,
    );
  }
  if ('clientId' in profile)
    printError(
      io,
      'Its client secret stays valid: revoke it with `countersign credentials revoke` if others could know it.',
    );
}

const proofOf = (profile: Profile): string => ('session' in profile ? 'sign-in' : 'access token');

/** Whether there was something to end. */
async function endOnServer(io: Io, profile: Profile): Promise<boolean> {
  if ('session' in profile) {
    if (Date.parse(profile.expiresAt) <= Date.now()) return false;
    await endSession(profile);
    return true;
  }
  const token = await dropToken(io, { ...profile, isStored: true });
  if (token !== undefined) await revokeToken(profile, token);
  return token !== undefined;
}
