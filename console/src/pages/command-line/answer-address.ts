/** Where the answer to `countersign login` goes: to a port of this computer, whatever the address of the page says. */

interface WaitingCommand {
  readonly port: string;
  readonly state: string;
  readonly challenge: string;
}

type Search = Readonly<
  Record<'port' | 'state' | 'code_challenge' | 'code_challenge_method', string | undefined>
>;

const random = /^[\w-]{43}$/;

/** Undefined for an address that `countersign login` did not make. */
export function waitingCommand(search: Search): WaitingCommand | undefined {
  const { port = '', state = '', code_challenge: challenge = '', code_challenge_method: method } = search;
  const isPort = /^[1-9]\d{3,4}$/.test(port) && Number(port) <= 65_535;
  if (!isPort || !random.test(state) || !random.test(challenge) || method !== 'S256') return undefined;
  return { port, state, challenge };
}

/** `iss` tells the command which server answers (RFC 9207): it sends the code to no other. */
export const answerAddress = (
  { port, state }: WaitingCommand,
  answer: { readonly code: string } | { readonly error: 'access_denied' },
): string =>
  `http://127.0.0.1:${port}/callback?${new URLSearchParams({ ...answer, state, iss: location.origin })}`;
