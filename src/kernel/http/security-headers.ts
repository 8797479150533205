import type { IncomingMessage, ServerResponse } from 'node:http';
import helmet from 'helmet';

/** Helmet's, which are the same on every answer, so it is asked once; and that nothing is to be kept. */
export function createSecurityHeaders(https: boolean): Record<string, string> {
  const headers: Record<string, string> = {};
  const collect = helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
    },
    frameguard: { action: 'deny' },
    // For pages; of an API's answers they say nothing.
    crossOriginOpenerPolicy: false,
    crossOriginResourcePolicy: false,
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
  // Most answers carry a token, a secret or somebody's data; the few that may be kept say so themselves.
  return { ...headers, 'cache-control': 'no-store' };
}
