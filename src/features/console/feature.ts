/**
 * Console: sessions of people who sign in to the web console, one-time links, codes for the command line, sign-in through an
 * OpenID provider, and the files of the console. Owns `console_sessions`, `console_links`, `console_codes` and `provider_sign_ins`. A session is a cookie instead of a token: the guard gives its requests to the same routes, limits and audit
 * log as the API (kernel/http/access/session-requests.ts).
 */
import { createCodeService } from './codes/service.ts';
import type { Console, ConsoleDeps } from './deps.ts';
import { createLinkService } from './links/service.ts';
import { createProviderPurgeLoop } from './oidc/loops.ts';
import { providerSignInRoutes } from './oidc/routes.ts';
import { createProviderSignIn } from './oidc/service.ts';
import { consoleRoutes } from './routes.ts';
import { createSessionCookie } from './sessions/cookie.ts';
import { createSessionsListener } from './sessions/listener.ts';
import { createPurgeLoop } from './sessions/loops.ts';
import { createSessionService } from './sessions/service.ts';
import { createSignIn } from './sessions/sign-in.ts';
import { createPages } from './static/pages.ts';
import { pageRoutes } from './static/routes.ts';

export function createConsole(deps: ConsoleDeps): Console {
  const cookie = createSessionCookie(deps.settings.baseUrl);
  const sessions = createSessionService(deps, cookie);
  const links = createLinkService(deps, sessions);
  const codes = createCodeService(deps, sessions);
  return {
    routes: [
      ...consoleRoutes(sessions, createSignIn(deps, sessions), links, codes),
      ...providerSignInRoutes(createProviderSignIn(deps, sessions)),
      ...pageRoutes(createPages(deps)),
    ],
    loops: [createPurgeLoop(deps), createProviderPurgeLoop(deps)],
    sessions,
    authenticateSession: sessions.authenticateSession,
    explainNoSession: sessions.explainNoSession,
    listener: createSessionsListener(sessions),
    linkFor: links.linkFor,
  };
}
