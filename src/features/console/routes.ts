import Type from '../../contract/json-schema.ts';
import { limits } from '../../contract/limits.ts';
import {
  optionalSession,
  ownBearer,
  type RouteEntry,
  rootRoute,
  route,
  session,
} from '../../kernel/http/route.ts';
import type { CodeService } from './codes/service.ts';
import type { LinkService } from './links/service.ts';
import { CommandLineCode, Link, NewCommandLineCode, Session, SignIn } from './schema.ts';
import type { SessionService } from './sessions/service.ts';
import type { SignInService } from './sessions/sign-in.ts';

const url = '/console/api/session';

export const consoleRoutes = (
  sessions: SessionService,
  signIn: SignInService,
  links: LinkService,
  codes: CodeService,
): RouteEntry[] => [
  rootRoute({
    id: 'signIn',
    summary: 'Sign in to the console',
    description:
      'With the id and the secret of a client, with the code of a one-time link, or with a code for the command line. Sets the session cookie.',
    tag: 'Console',
    method: 'POST',
    url,
    access: optionalSession(),
    limit: 'afterVerification',
    quota: 'free',
    hidden: true,
    schema: { body: SignIn, response: { 204: Type.Null() } },
    async handler({ body, headers, origin, countAgainst, header }) {
      header(
        'set-cookie',
        await signIn({ body, cookies: headers.cookie as string | undefined, origin, countAgainst }),
      );
    },
  }),
  rootRoute({
    id: 'getSession',
    summary: 'Who has signed in',
    tag: 'Console',
    method: 'GET',
    url,
    access: session(),
    limit: 'caller',
    quota: 'free',
    hidden: true,
    schema: { response: { 200: Session } },
    handler: ({ caller, headers }) => sessions.describe(caller, String(headers.cookie)),
  }),
  rootRoute({
    id: 'signOut',
    summary: 'Sign out of the console',
    description: 'Ends the session and removes the cookie. Without a session it changes nothing.',
    tag: 'Console',
    method: 'DELETE',
    url,
    access: optionalSession(),
    limit: 'caller',
    quota: 'free',
    hidden: true,
    schema: { response: { 204: Type.Null() } },
    async handler({ caller, origin, headers, header }) {
      header('set-cookie', await sessions.signOut(caller ?? origin, headers.cookie as string | undefined));
    },
  }),
  rootRoute({
    id: 'createCommandLineCode',
    summary: 'Make a code that signs in the command line, once',
    description:
      'The session of the command line is no more powerful than this one, ends no later, and ends when this one signs out. A new code replaces the one before.',
    tag: 'Console',
    method: 'POST',
    url: '/console/api/command-line-codes',
    access: session(),
    limit: { perMinute: limits.console.codesPerMinute, per: 'caller' },
    quota: 'free',
    hidden: true,
    optionalBody: true,
    schema: { body: NewCommandLineCode, response: { 201: CommandLineCode } },
    handler: ({ caller, headers, body }) => codes.create(caller, String(headers.cookie), body.codeChallenge),
  }),
  route({
    id: 'createConsoleLink',
    summary: 'Make a link that signs a person in to the console, once',
    description:
      'The link works once, within a minute. The session has the scopes of this token, and ends with the credential that the token was issued with.',
    tag: 'Console',
    method: 'POST',
    url: '/console/links',
    access: ownBearer(),
    limit: 'caller',
    schema: { response: { 201: Link } },
    errors: ['FORBIDDEN'],
    handler: ({ caller }) => links.create(caller),
  }),
];
