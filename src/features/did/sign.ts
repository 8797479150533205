/**
 * Signs cards as each format requires. Every signature names its key by the DID URL of the verification method, so a third party
 * needs only the DID document to verify it.
 */
import canonicalize from 'canonicalize';
import type { Signer } from '../../kernel/ports/signer.ts';
import type { A2aCard, Badge, BadgeCredential, OasfRecord } from './formats.ts';

type Attest = Pick<Signer, 'attest'>['attest'];

export const badgeType = 'vc+jwt';

/** A2A 1.0 §8.4: JWS over the canonical JSON (RFC 8785) of the card without signatures and without empty fields. */
export async function signA2a(card: A2aCard, kid: string, attest: Attest): Promise<A2aCard> {
  const signedFields = Object.fromEntries(
    Object.entries(card).filter(([, value]) => !(Array.isArray(value) && value.length === 0)),
  );
  const { header, signature } = splitJws(await attest(canonicalJson(signedFields), { typ: 'JOSE', kid }));
  return { ...card, signatures: [{ protected: header, signature }] };
}

/** OASF does not define the bundle. Ours is a compact JWS with detached payload: the canonical record without `signature`. */
export async function signOasf(
  record: OasfRecord,
  kid: string,
  signedAt: string,
  { attest, algorithm }: Pick<Signer, 'attest' | 'algorithm'>,
): Promise<OasfRecord> {
  const { header, signature } = splitJws(await attest(canonicalJson(record), { typ: 'JOSE', kid }));
  return {
    ...record,
    signature: {
      signed_at: signedAt,
      algorithm,
      signature: Buffer.from(signature, 'base64url').toString('base64'),
      content_type: 'application/jose',
      content_bundle: Buffer.from(`${header}..${signature}`).toString('base64'),
    },
  };
}

/** W3C "Securing Verifiable Credentials using JOSE and COSE". */
export const signBadge = (credential: BadgeCredential, kid: string, attest: Attest): Promise<string> =>
  attest(JSON.stringify(credential), { typ: badgeType, cty: 'vc', kid });

export const enveloped = (signed: string): Badge => ({
  '@context': 'https://www.w3.org/ns/credentials/v2',
  id: `data:application/${badgeType},${signed}`,
  type: 'EnvelopedVerifiableCredential',
});

const canonicalJson = (value: object): string => canonicalize(value) as string;

function splitJws(jws: string): { header: string; signature: string } {
  const [header = '', , signature = ''] = jws.split('.');
  return { header, signature };
}
