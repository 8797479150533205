/** The first stage: reads the request, without looking anything up. */
import type { TokenErrorCode } from '../../../contract/errors.ts';
import { audienceOf, namesSeveralTargets } from '../../../kernel/audience.ts';
import type { Origin } from '../../../kernel/caller.ts';
import { failToken } from '../../../kernel/fail.ts';
import type { CountAgainst } from '../../../kernel/http/route.ts';
import {
  type ClientCredential,
  findClientCredential,
  readClientCredential,
} from '../clients/client-credential.ts';
import type { Grant } from '../grant.ts';
import { type TokenRequest, tokenRequestOf } from '../schema.ts';

export interface TokenHttpRequest {
  readonly form: TokenRequest;
  readonly query: object;
  readonly authorization: string | string[] | undefined;
  /** The header with the proof of possession. */
  readonly dpop: string | string[] | undefined;
  readonly origin: Origin;
  readonly countAgainst: CountAgainst;
}

export interface ParsedRequest extends Pick<TokenHttpRequest, 'form' | 'origin' | 'countAgainst' | 'dpop'> {
  readonly grant: Grant;
  /** The `resource` of the form; undefined when it names none. */
  readonly audience: string | undefined;
  readonly proof: ClientCredential;
}

interface RequestParser {
  parse(request: TokenHttpRequest): ParsedRequest;
  /** The code for a form that does not match the schema. */
  malformed(form: unknown): TokenErrorCode;
}

/** Requests whose grant type is unknown get the error codes of the first grant. */
export function createRequestParser(grants: readonly [Grant, ...Grant[]], issuer: string): RequestParser {
  const byType = new Map(grants.map((grant) => [grant.grantType, grant]));
  const fields = Object.keys(tokenRequestOf(grants).properties);
  const errorCodesFor = (grant: Grant | undefined) => (grant ?? grants[0]).errorCodes;

  return {
    malformed(form) {
      if (namesSeveralTargets(form, issuer)) return 'invalid_target';
      const { grant_type } = (form ?? {}) as { grant_type?: unknown };
      return errorCodesFor(byType.get(String(grant_type))).malformed;
    },

    parse({ form, query, authorization, dpop, origin, countAgainst }) {
      const found = byType.get(form.grant_type ?? '');
      refuseFieldsInQuery(query, fields, errorCodesFor(found).malformed);
      const grant = found ?? refuseGrantType(form.grant_type, [...byType.keys()]);
      const { missingClient, invalidResource } = grant.errorCodes;
      const admitsPublic = grant.transaction === 'own' && grant.publicClients !== undefined;
      const audience = readAudience(form, issuer, invalidResource);
      const proof =
        findWorkload(grant, form, authorization) ??
        readClientCredential(form, authorization, { missingClient, admitsPublic });
      return { form, origin, countAgainst, dpop, grant, audience, proof };
    },
  };
}

/** Undefined for a request that presents another proof as well: its client authenticates by that one. */
function findWorkload(
  grant: Grant,
  form: TokenRequest & { readonly assertion?: string },
  authorization: TokenHttpRequest['authorization'],
): ClientCredential | undefined {
  if (grant.transaction !== 'own' || !grant.isWorkloadAssertion?.(form)) return undefined;
  const { client_secret, ...fields } = form;
  const other = findClientCredential({ ...fields, ...(client_secret && { client_secret }) }, authorization);
  if (other) return undefined;
  return { kind: 'workload', clientId: form.client_id, assertion: form.assertion ?? '' };
}

/** URLs end up in logs, and a `scope` there would be ignored. They are refused even beside a good body. */
function refuseFieldsInQuery(query: object, fields: readonly string[], code: TokenErrorCode): void {
  for (const name of fields)
    if (name in query) failToken(code, `${name} belongs in the body, not in the address`);
}

function refuseGrantType(grantType: string | undefined, supported: readonly string[]): never {
  const known = supported.join(' or ');
  return failToken(
    'unsupported_grant_type',
    grantType === undefined ? `grant_type is required and must be ${known}` : `grant_type must be ${known}`,
  );
}

export function readAudience(
  { resource }: Pick<TokenRequest, 'resource'>,
  issuer: string,
  code: TokenErrorCode,
): string | undefined {
  if (!resource) return undefined;
  return (
    audienceOf(resource, issuer) ??
    failToken(code, 'resource must be an absolute http(s) URI without a fragment')
  );
}
