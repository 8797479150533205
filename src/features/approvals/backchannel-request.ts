/** The parameters of the backchannel authentication endpoint (CIBA Core §7.1). It looks nothing up. */

import { limits } from '../../contract/limits.ts';
import { imitating, visibleText } from '../../contract/shapes.ts';
import { audienceOf } from '../../kernel/audience.ts';
import { failToken } from '../../kernel/fail.ts';
import { isUuid } from '../../kernel/ids.ts';
import type { BackchannelRequest } from './schema.ts';

export type LoginHint =
  | { readonly approvers: true }
  | { readonly personId: string }
  | { readonly email: string };

export interface RequestedApproval {
  readonly hint: LoginHint;
  /** Our issuer, or what the identifier of a resource may be. */
  readonly audience: string;
  readonly scopes: readonly string[];
  /** The text of the parameter: the types of the resource decide about it. */
  readonly authorizationDetails: string | undefined;
  readonly bindingMessage: string | null;
  readonly expirySeconds: number;
  /** Undefined when the request leaves it out. */
  readonly accessSeconds: number | undefined;
  readonly notificationToken: string | undefined;
}

const { maxMessageLength, minExpirySeconds, defaultExpirySeconds, maxExpirySeconds } = limits.approval;
const { minAccessSeconds, maxAccessSeconds } = limits.approval;

/** The same for a resource that is unknown, pending or deleted, and for one that the organization has no access to. */
export const unknownResource = 'resource is no registered API of your organization';

/** TokenError for the first problem. A parameter without a value counts as left out (RFC 6749 §3.2). */
export function readBackchannelRequest(form: BackchannelRequest, issuer: string): RequestedApproval {
  return {
    hint: readHint(form.login_hint),
    audience: readResource(form.resource, issuer),
    scopes: readScopes(form.scope, !form.authorization_details),
    authorizationDetails: form.authorization_details || undefined,
    bindingMessage: readMessage(form.binding_message),
    expirySeconds:
      readSeconds('requested_expiry', form.requested_expiry, minExpirySeconds, maxExpirySeconds) ??
      defaultExpirySeconds,
    accessSeconds: readSeconds(
      'access_expires_in',
      form.access_expires_in,
      minAccessSeconds,
      maxAccessSeconds,
    ),
    notificationToken: readNotificationToken(form.client_notification_token),
  };
}

function readHint(hint: string | undefined): LoginHint {
  if (!hint) return failToken('invalid_request', 'login_hint is required: a person, or approvers');
  if (hint === 'approvers') return { approvers: true };
  return isUuid(hint) ? { personId: hint.toLowerCase() } : { email: hint };
}

function readResource(resource: string | undefined, issuer: string): string {
  if (!resource) return failToken('invalid_request', 'resource is required: name the API');
  return audienceOf(resource, issuer) ?? failToken('invalid_target', unknownResource);
}

function readScopes(text: string | undefined, isRequired: boolean): readonly string[] {
  const words = [...new Set((text ?? '').split(' ').filter(Boolean))];
  if (words.some((word) => !/^[!#-[\]-~]+$/.test(word))) failToken('invalid_scope', 'scope is malformed');
  if (words.length === 0 && isRequired)
    failToken('invalid_request', 'scope is required, unless authorization_details says it all');
  if (words.length > limits.resource.maxScopes) failToken('invalid_scope', 'scope has too many words');
  return words;
}

const unsafe = new RegExp(`[${imitating}\\u2028\\u2029]|\\p{Cs}`, 'u');
const visible = new RegExp(visibleText.pattern, 'u');

function readMessage(message: string | undefined): string | null {
  if (!message) return null;
  const isSafe = [...message].length <= maxMessageLength && !unsafe.test(message) && visible.test(message);
  return isSafe
    ? message
    : failToken(
        'invalid_binding_message',
        `binding_message must have 1 to ${maxMessageLength} characters, one of them visible, without control and bidirectional formatting characters`,
      );
}

function readSeconds(name: string, text: string | undefined, min: number, max: number): number | undefined {
  if (!text) return undefined;
  const seconds = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  return seconds >= min && seconds <= max
    ? seconds
    : failToken('invalid_request', `${name} must be a whole number of seconds from ${min} to ${max}`);
}

/** CIBA Core §7.1: at most 1024 characters of a bearer token. */
function readNotificationToken(token: string | undefined): string | undefined {
  if (!token) return undefined;
  return /^[\w.~+/-]+=*$/.test(token)
    ? token
    : failToken('invalid_request', 'client_notification_token must be a bearer token (RFC 6750 §2.1)');
}
