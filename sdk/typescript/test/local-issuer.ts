/** An issuer in the test's own process: it signs access tokens and security event tokens that a verifier accepts. */
import { exportJWK, exportSPKI, generateKeyPair, type JWTPayload, SignJWT } from 'jose';

export const now = 1_800_000_000_000;
const id = (last: number) => `00000000-0000-4000-8000-${String(last).padStart(12, '0')}`;
export const ids = {
  agent: id(1),
  organization: id(2),
  person: id(3),
  chain: id(4),
  credential: id(5),
  other: id(6),
};
const audience = 'https://orders.example.com/v1';
const issuer = 'https://id.example.com';

/** A UUIDv7 of this time. */
export const uuidV7 = (time: number, last = 1): string => {
  const hex = time.toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-${String(last).padStart(12, '0')}`;
};

const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: 'k1', alg: 'ES256', use: 'sig' }] };

const sign = (typ: string, claims: JWTPayload) =>
  new SignJWT(claims).setProtectedHeader({ alg: 'ES256', typ, kid: 'k1' }).sign(privateKey);

/** For createVerifier. */
export const verifierOptions = {
  ...{ issuer, audience, jwks },
  organizationId: ids.organization,
  subjects: 'any',
  revocation: 'none',
  platform: { now: () => now },
} as const;

let count = 0;

/** Issued at this time, for an hour. */
export function issueToken(changes: JWTPayload = {}, issuedAt = now): Promise<string> {
  count += 1;
  return sign('at+jwt', {
    iss: issuer,
    aud: audience,
    sub: ids.agent,
    client_id: ids.agent,
    organization_id: ids.organization,
    credential_id: ids.credential,
    scope: 'orders:read orders:write',
    jti: uuidV7(issuedAt, count),
    iat: Math.floor(issuedAt / 1000),
    exp: Math.floor(issuedAt / 1000) + 3_600,
    ...changes,
  });
}

export function issueSignal(claims: JWTPayload, typ = 'secevent+jwt'): Promise<string> {
  count += 1;
  return sign(typ, {
    iss: issuer,
    aud: ids.other,
    iat: Math.floor(now / 1000),
    jti: `signal-${count}`,
    ...claims,
  });
}

/** The same claims under headers and signatures that are not ours, by what is wrong with them. */
export async function forgeSignals(claims: JWTPayload): Promise<Readonly<Record<string, string>>> {
  const genuine = await issueSignal(claims);
  const [header = '', payload = '', signature = ''] = genuine.split('.');
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const all = JSON.parse(Buffer.from(payload, 'base64url').toString()) as JWTPayload;
  const under = (changes: object) => encode({ alg: 'ES256', typ: 'secevent+jwt', kid: 'k1', ...changes });
  const other = await generateKeyPair('ES256');
  const signed = (changes: object, key: CryptoKey | Uint8Array = privateKey) =>
    new SignJWT(all)
      .setProtectedHeader({ alg: 'ES256', typ: 'secevent+jwt', kid: 'k1', ...changes })
      .sign(key);
  const spki = new TextEncoder().encode(await exportSPKI(publicKey));
  return {
    'another payload': `${header}.${encode({ ...all, sub_id: { format: 'opaque', id: 'x' } })}.${signature}`,
    'another header': `${under({ x: 1 })}.${payload}.${signature}`,
    'a signature of another token': `${header}.${payload}.${(await issueSignal({ ...claims, iat: 1 })).split('.')[2]}`,
    'a changed signature': `${header}.${payload}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`,
    'no signature': `${header}.${payload}.`,
    'alg none': `${under({ alg: 'none' })}.${payload}.`,
    'HS256 with the public key': await signed({ alg: 'HS256' }, spki),
    'another key under our kid': await signed({}, other.privateKey),
    'an unknown kid': await signed({ kid: 'k2' }),
    'no kid': await signed({ kid: undefined }),
    'the typ of an access token': await signed({ typ: 'at+jwt' }),
    'no typ': await signed({ typ: undefined }),
    'its key in the header': await signed(
      { kid: 'k2', jwk: await exportJWK(other.publicKey) },
      other.privateKey,
    ),
    'four parts': `${genuine}.x`,
    'two parts': `${header}.${payload}`,
    'another text': 'x',
    nothing: '',
  };
}

const caep = (name: string) => `https://schemas.openid.net/secevent/caep/event-type/${name}`;

/** `sub_id` and `events` of an end at this time. */
export const ended = (
  subject: object,
  at: number,
  type = 'session-revoked',
  more: object = {},
): JWTPayload => ({
  sub_id: subject,
  events: { [caep(type)]: { event_timestamp: at / 1000, ...more } },
});
export const party = (sub: string) => ({ format: 'iss_sub', iss: issuer, sub });
export const opaque = (text: string) => ({ format: 'opaque', id: text });
export const narrowed = (scope: string, at: number, user?: object, uri: string = audience): JWTPayload =>
  ended(
    { format: 'complex', ...(user && { user }), application: { format: 'uri', uri } },
    at,
    'token-claims-change',
    {
      claims: { scope },
    },
  );
