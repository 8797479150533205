import Type from 'typebox';
import { open, type RouteEntry, rootRoute } from '../../kernel/http/route.ts';
import { createStaticContent, type StaticContent } from '../../kernel/http/static-content.ts';
import type { ReferenceDeps } from './deps.ts';

const Document = Type.Object({}, { additionalProperties: true, examples: [{ openapi: '3.1.0' }] });

export const referenceRoutes = ({ openapi, loadPage }: ReferenceDeps): RouteEntry[] => {
  /** Rendered by the first request, because every route must be mounted before; a failure is not cached. */
  let rendered: Promise<StaticContent> | undefined;
  const document = () => {
    rendered ??= openapi().then((document) => createStaticContent(JSON.stringify(document)));
    rendered.catch(() => {
      rendered = undefined;
    });
    return rendered;
  };
  return [
    rootRoute({
      id: 'openapi',
      summary: 'This API as an OpenAPI 3.1 document',
      tag: 'Operational',
      method: 'GET',
      url: '/openapi.json',
      access: open(),
      limit: 'caller',
      schema: { response: { 200: Document } },
      handler: document,
    }),
    rootRoute({
      id: 'docs',
      summary: 'This API as a page to read',
      tag: 'Operational',
      method: 'GET',
      url: '/docs',
      access: open(),
      limit: 'caller',
      hidden: true,
      produces: 'text/html; charset=utf-8',
      schema: { response: { 200: Type.String() } },
      async handler({ header }) {
        const { html, policy } = await loadPage();
        header('content-security-policy', policy);
        return html;
      },
    }),
    rootRoute({
      id: 'docsScript',
      summary: 'The script of /docs',
      tag: 'Operational',
      method: 'GET',
      url: '/docs/js/scalar.js',
      access: open(),
      limit: 'caller',
      hidden: true,
      produces: 'text/javascript; charset=utf-8',
      schema: { response: { 200: Type.String() } },
      async handler({ header }) {
        header('cache-control', 'public, max-age=3600');
        return (await loadPage()).script;
      },
    }),
  ];
};
