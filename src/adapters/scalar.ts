/**
 * The reference page by Scalar. Its plugin contains a script of several megabytes, so the first request of /docs imports it and
 * renders the page on a temporary Fastify instance. Our own routes, with guard and headers, serve the result.
 */
import { createHash } from 'node:crypto';
import Fastify from 'fastify';
import { createStaticContent, type StaticContent } from '../kernel/http/responses/static-content.ts';

interface ReferencePage {
  readonly html: StaticContent;
  readonly script: StaticContent;
  readonly policy: string;
}

export function createReferencePage(): () => Promise<ReferencePage> {
  let loading: Promise<ReferencePage> | undefined;
  return () => {
    loading ??= render().catch((error) => {
      loading = undefined;
      throw error;
    });
    return loading;
  };
}

async function render(): Promise<ReferencePage> {
  const { default: scalar } = await import('@scalar/fastify-api-reference');
  const renderer = Fastify();
  await renderer.register(scalar, {
    routePrefix: '/docs',
    configuration: {
      url: '/openapi.json',
      cdn: '/docs/js/scalar.js',
      pageTitle: 'Countersign API',
      favicon: '/favicon.ico',
      // The page calls the server that it came from, also when that is reached by another name than BASE_URL.
      servers: [{ url: '/', description: 'This instance' }],
      authentication: {
        preferredSecurityScheme: 'oauth2',
        securitySchemes: { oauth2: { flows: { clientCredentials: { tokenUrl: '/api/v1/token' } } } },
      },
      // A token in the browser's storage would outlive the page.
      persistAuth: false,
      // No fonts, proxies or telemetry of other hosts.
      withDefaultFonts: false,
      telemetry: false,
      agent: { disabled: true },
      mcp: { disabled: true },
      showDeveloperTools: 'never',
      hideClientButton: true,
    },
  });
  const html = (await renderer.inject('/docs/')).body;
  const script = (await renderer.inject('/docs/js/scalar.js')).body;
  await renderer.close();
  return {
    html: await createStaticContent(html),
    script: await createStaticContent(script),
    policy: policyFor(html),
  };
}

/** Inline scripts are allowed by their hash, so an injected script does not run. */
function policyFor(html: string): string {
  const inline = [...html.matchAll(/<script(?![^>]*\bsrc=)[^>]*>([\s\S]*?)<\/script>/g)].map(
    ([, code]) =>
      `'sha256-${createHash('sha256')
        .update(code ?? '')
        .digest('base64')}'`,
  );
  return [
    "default-src 'none'",
    `script-src 'self' ${inline.join(' ')}`,
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    "connect-src 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ');
}
