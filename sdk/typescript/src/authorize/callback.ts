/** The answer to an authorization request, which arrives as the parameters of the redirect URI. */
import { AuthorizationError } from '../errors.ts';
import { plainText } from '../plain-text.ts';

interface ExpectedCallback {
  readonly issuer: string;
  readonly state: string;
  /** The answer must name the issuer (RFC 9207). */
  readonly namesIssuer: boolean;
  readonly redirectUri: string | undefined;
}

/** The code. State and issuer are compared before anything else of the answer counts. */
export function readCallback(callbackUrl: string | URL, expected: ExpectedCallback): string {
  const { issuer, namesIssuer, redirectUri } = expected;
  if (!URL.canParse(String(callbackUrl), redirectUri))
    throw new TypeError('callbackUrl must be the address that the browser was sent to, with its query');
  const { state, iss, error, description, code } = readParameters(new URL(String(callbackUrl), redirectUri));
  if (state !== expected.state)
    throw new AuthorizationError(
      'state_mismatch',
      'the callback does not belong to this authorization: ignore it and wait for another one, or call startAuthorization again',
    );
  if (iss === undefined ? namesIssuer : iss !== issuer)
    throw new AuthorizationError(
      'issuer_mismatch',
      `${iss === undefined ? 'the callback does not name its server' : `the callback is of ${plainText(iss)}`}, and ${issuer} was asked: its code is not used; call startAuthorization again`,
    );
  if (error !== undefined) throw refusalOf(error, description);
  if (code) return code;
  throw new AuthorizationError(
    'invalid_callback',
    'the callback has neither a code nor an error; call startAuthorization again',
  );
}

function readParameters({ searchParams }: URL) {
  const read = (name: string): string | undefined => {
    const [value, ...others] = searchParams.getAll(name);
    if (others.length === 0) return value;
    throw new AuthorizationError('invalid_callback', `the callback has ${name} twice; ignore it`);
  };
  return {
    state: read('state'),
    iss: read('iss'),
    error: read('error'),
    description: read('error_description'),
    code: read('code'),
  };
}

const advice: Readonly<Record<string, string>> = {
  access_denied: 'the person or an administrator refused; ask them before you call startAuthorization again',
  login_required: 'the person has to sign in; call startAuthorization without `prompt`',
  consent_required: 'the person has to agree; call startAuthorization without `prompt`',
  invalid_scope: 'correct `scope`, or leave it out for all that the person may lend',
  invalid_target: '`resource` must be the identifier of a registered API',
  unauthorized_client: 'an administrator must admit this client',
  temporarily_unavailable: 'call startAuthorization again later',
};

function refusalOf(code: string, description: string | undefined): AuthorizationError {
  const reason = [description, Object.hasOwn(advice, code) ? advice[code] : undefined].filter(Boolean);
  return new AuthorizationError(
    plainText(code),
    plainText(`${code}: ${reason.join('; ') || 'the server gives no reason'}`),
  );
}
