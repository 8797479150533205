import Type from 'typebox';
import { open, type RouteEntry, rootRoute } from '../../kernel/route.ts';
import { createStaticContent, type StaticContent } from '../../kernel/static-content.ts';
import type { ReferenceDeps } from './feature.ts';

export const referenceRoutes = ({ openapi, loadPage }: ReferenceDeps): RouteEntry[] => {
  /** Made at the first request: every route must be mounted before. */
  let document: Promise<StaticContent> | undefined;
  return [
    rootRoute({
      id: 'openapi',
      summary: 'This API as an OpenAPI 3.1 document',
      tag: 'Operational',
      method: 'GET',
      url: '/openapi.json',
      access: open(),
      limit: 'caller',
      schema: { response: { 200: Type.Object({}, { additionalProperties: true }) } },
      handler: () => (document ??= createStaticContent(JSON.stringify(openapi()))),
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
