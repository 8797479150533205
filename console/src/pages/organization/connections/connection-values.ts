/** The form of a connection, and the requests that it makes. */
import type { Connection, ConnectionChange, NewConnection } from '../../../api/generated.ts';
import { type ConditionValues, conditionOf, conditionValuesOf } from '../../../components/conditions.ts';
import type { RequiredFields } from '../../../components/required-fields.ts';

export interface ConnectionValues extends Record<string, unknown> {
  name: string;
  issuer: string;
  clientId: string;
  /** Empty: the stored one stays. */
  clientSecret: string;
  scopes: string[];
  conditions: ConditionValues[];
  idJag: boolean;
}

const defaultScopes = ['openid', 'email', 'profile'];

export const valuesOf = (connection: Connection | undefined): ConnectionValues => ({
  name: connection?.name ?? '',
  issuer: connection?.issuer ?? '',
  clientId: connection?.clientId ?? '',
  clientSecret: '',
  scopes: [...(connection?.scopes ?? defaultScopes)],
  conditions: connection?.conditions.map(conditionValuesOf) ?? [],
  idJag: connection?.idJag ?? false,
});

/** Without the issuer, which cannot be changed. */
export const changeOf = (values: ConnectionValues): ConnectionChange => ({
  name: values.name.trim(),
  clientId: values.clientId.trim(),
  ...(values.clientSecret !== '' && { clientSecret: values.clientSecret }),
  scopes: values.scopes,
  conditions: values.conditions.map(conditionOf),
  idJag: values.idJag,
});

export const newConnectionOf = (values: ConnectionValues): NewConnection => ({
  name: values.name.trim(),
  issuer: values.issuer.trim(),
  clientId: values.clientId.trim(),
  clientSecret: values.clientSecret,
  scopes: values.scopes,
  conditions: values.conditions.map(conditionOf),
  ...(values.idJag && { idJag: true }),
});

/** A new connection needs its secret. */
export const requiredOf = (isNew: boolean): RequiredFields<ConnectionValues> => ({
  name: 'Give it a name: people see it on the sign-in button.',
  issuer: 'Enter the issuer of the provider.',
  clientId: 'Enter the client id that the provider gave.',
  ...(isNew && { clientSecret: 'Enter the client secret that the provider gave.' }),
});

export const problemsOf = ({ scopes }: ConnectionValues): Partial<Record<keyof ConnectionValues, string>> =>
  scopes.includes('openid') ? {} : { scopes: 'openid must be one of them.' };

/** The same for every connection of the instance. */
export const redirectUri = (origin: string): string => `${origin}/console/api/oidc/callback`;

/** Where people sign in to the console through the connection. A link on another site works too. */
export const signInAddress = (origin: string, connectionId: string): string =>
  `${origin}/console/sign-in?${new URLSearchParams({ connectionId })}`;
