import type { IncomingMessage, ServerResponse } from 'node:http';
import helmet from 'helmet';

/** Helmet's headers, computed once because they are equal on every response, and `Cache-Control: no-store`. */
export function createSecurityHeaders(https: boolean): Record<string, string> {
  const headers: Record<string, string> = {};
  const collect = helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
    },
    frameguard: { action: 'deny' },
    // A page that opened ours, or was opened by it, gets no handle of it.
    crossOriginOpenerPolicy: { policy: 'same-origin' },
    // Public documents may be embedded. Answers to a session have it (access/session-requests.ts).
    crossOriginResourcePolicy: false,
    // These concern pages, not API responses.
    originAgentCluster: false,
    xDnsPrefetchControl: false,
    xDownloadOptions: false,
    xPermittedCrossDomainPolicies: false,
    xXssProtection: false,
    strictTransportSecurity: https && { maxAge: 31_536_000, includeSubDomains: false },
  });
  const response = {
    setHeader(name: string, value: string) {
      headers[name.toLowerCase()] = value;
    },
    removeHeader() {},
  };
  collect({} as IncomingMessage, response as unknown as ServerResponse, (error) => {
    if (error) throw error;
  });
  // Most responses carry a token, a secret or tenant data. Routes with cacheable responses override this.
  return { ...headers, 'cache-control': 'no-store' };
}
