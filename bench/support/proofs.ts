/** Proofs of possession (DPoP, RFC 9449) by ES256, made before the load. */
import { generateKeyPairSync, randomUUID, sign } from 'node:crypto';

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** With a new key. Each call of the function makes another proof. */
export function createProver(): (method: string, address: string) => string {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { kty, crv, x, y } = publicKey.export({ format: 'jwk' });
  const header = encode({ typ: 'dpop+jwt', alg: 'ES256', jwk: { kty, crv, x, y } });
  return (htm, htu) => {
    const iat = Math.floor(Date.now() / 1_000);
    const signed = `${header}.${encode({ jti: randomUUID(), htm, htu, iat })}`;
    const key = { key: privateKey, dsaEncoding: 'ieee-p1363' } as const;
    return `${signed}.${sign('sha256', Buffer.from(signed), key).toString('base64url')}`;
  };
}
