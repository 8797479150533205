/** Why a sign-in through a provider fails. */
import type { ProviderReason } from '../../../kernel/ports/openid-provider.ts';
import type { AdmissionRefusal } from '../../people/admission.ts';

/** The reasons that the sign-in page explains. */
const signInErrors = [
  'not_configured',
  'provider_unavailable',
  'provider_refused',
  'invalid_answer',
  'sign_in_expired',
  'not_invited',
  'connection_unavailable',
  'conditions_not_met',
  'person_suspended',
  'people_limit',
] as const;
export type SignInError = (typeof signInErrors)[number];

export const errorOf: Readonly<Record<ProviderReason, SignInError>> = {
  unavailable: 'provider_unavailable',
  refused: 'provider_refused',
  invalid: 'invalid_answer',
};

export const errorOfRefusal: Readonly<Record<AdmissionRefusal, SignInError>> = {
  'connection not active': 'connection_unavailable',
  'conditions not met': 'conditions_not_met',
  'invalid subject': 'invalid_answer',
  'person suspended': 'person_suspended',
  'too many people': 'people_limit',
};

/** Thrown in the transaction of a sign-in: nothing of it stays. */
export class SignInRefused extends Error {
  readonly error: SignInError;
  readonly metadata: Readonly<Record<string, unknown>>;

  constructor(error: SignInError, metadata: Readonly<Record<string, unknown>>) {
    super(error);
    this.error = error;
    this.metadata = metadata;
  }
}
