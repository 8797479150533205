import Type from '../../contract/json-schema.ts';
import { apiVersion } from '../../kernel/http/openapi.ts';
import { createStaticContent, type StaticContent } from '../../kernel/http/responses/static-content.ts';
import { open, type RouteEntry, redirect, rootRoute } from '../../kernel/http/route.ts';
import { asksForHtml } from './accept.ts';
import type { ReferenceDeps } from './feature.ts';
import { createSite } from './site.ts';
import { siteRoutes } from './site-routes.ts';

const Document = Type.Object({}, { additionalProperties: true, examples: [{ openapi: '3.1.0' }] });

const Product = Type.Object(
  {
    name: Type.String({ examples: ['Countersign'] }),
    version: Type.String({ examples: ['1.0.0'], description: 'the version of the API' }),
    docs: Type.String({ examples: ['/docs'], description: 'the path of the documentation' }),
    console: Type.String({ examples: ['/console'], description: 'the path of the web console' }),
  },
  { title: 'Product' },
);

export const referenceRoutes = ({ openapi, loadPage, docs }: ReferenceDeps): RouteEntry[] => {
  /** Rendered by the first request, because every route must be mounted before; a failure is not cached. */
  let rendered: Promise<StaticContent> | undefined;
  const document = () => {
    rendered ??= openapi().then((document) => createStaticContent(JSON.stringify(document)));
    rendered.catch(() => {
      rendered = undefined;
    });
    return rendered;
  };
  const site = createSite(docs);
  const showReference = async (header: (name: string, value: string) => void) => {
    const { html, policy } = await loadPage();
    header('content-security-policy', policy);
    return html;
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
      id: 'product',
      summary: 'Name and version of this service',
      description: 'A browser is sent to the web console.',
      tag: 'Operational',
      method: 'GET',
      url: '/',
      access: open(),
      limit: 'caller',
      schema: { response: { 200: Product } },
      handler({ headers, header }) {
        header('vary', 'accept');
        return asksForHtml(headers.accept)
          ? redirect('/console')
          : { name: 'Countersign', version: apiVersion, docs: '/docs', console: '/console' };
      },
    }),
    ...siteRoutes({ ...site, showReference }),
    rootRoute({
      id: 'docsApi',
      summary: 'This API as a page to read',
      tag: 'Operational',
      method: 'GET',
      url: '/docs/api',
      access: open(),
      limit: 'caller',
      hidden: true,
      produces: 'text/html; charset=utf-8',
      schema: { response: { 200: Type.String() } },
      handler: ({ header }) => showReference(header),
    }),
    rootRoute({
      id: 'docsScript',
      summary: 'The script of /docs/api',
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
