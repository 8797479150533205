/**
 * The Model Context Protocol by its official SDK. Nothing is kept between two requests: each has a server object of its own, which any
 * process can make. The SDK is loaded by the first request.
 */
import { memoize } from '../kernel/data/shared-values.ts';
import type { McpOffer, McpRequest, McpResult, McpTool, ServeMcp } from '../kernel/ports/mcp.ts';

type Sdk = typeof import('@modelcontextprotocol/server');

/** Compiled once for each tool. */
const schemaOf = memoize((input: McpTool['input'], { fromJsonSchema }: Sdk) => fromJsonSchema(input));

/** A client may keep the lists for a while: they change with a release. */
const listTtlMs = 300_000;

export function createMcpProtocol(onError: (error: Error) => void): ServeMcp {
  let loading: Promise<Sdk> | undefined;
  const load = () => {
    loading ??= import('@modelcontextprotocol/server').catch((error) => {
      loading = undefined;
      throw error;
    });
    return loading;
  };
  return async (request, offer) => {
    const sdk = await load();
    const handler = sdk.createMcpHandler(() => createServer(sdk, offer), {
      onerror: onError,
      maxSubscriptions: 0,
    });
    const response = await handler.fetch(
      new Request(request.url, { method: 'POST', headers: headersOf(request) }),
      {
        parsedBody: request.body,
        authInfo: {
          token: '',
          clientId: request.clientId,
          scopes: [...request.scopes],
          resourceMetadataUrl: request.resourceMetadata,
        },
      },
    );
    return {
      status: response.status,
      headers: Object.fromEntries(response.headers),
      text: await response.text(),
    };
  };
}

function createServer(sdk: Sdk, offer: McpOffer) {
  const { name, title, version, instructions, tools, documents } = offer;
  const list = { ttlMs: listTtlMs, cacheScope: 'public' } as const;
  const server = new sdk.McpServer(
    { name, title, version },
    {
      instructions,
      capabilities: {
        tools: { listChanged: false },
        resources: { listChanged: false },
        prompts: { listChanged: false },
      },
      cacheHints: { 'tools/list': list, 'resources/list': list, 'server/discover': list },
    },
  );
  for (const tool of tools) addTool(sdk, server, tool);
  for (const { uri, name: documentName, mediaType, ...shown } of documents)
    server.registerResource(
      documentName,
      uri,
      {
        title: shown.title,
        mimeType: mediaType,
        ...(shown.description && { description: shown.description }),
      },
      async () => {
        const text = await offer.readDocument(uri);
        if (text === undefined) throw new sdk.ResourceNotFoundError(uri);
        return { contents: [{ uri, mimeType: mediaType, text }] };
      },
    );
  return server;
}

function addTool(
  sdk: Sdk,
  server: InstanceType<Sdk['McpServer']>,
  { name, title, description, input, scopes, isReadOnly, run }: McpTool,
) {
  server.registerTool(
    name,
    {
      title,
      description,
      inputSchema: schemaOf(input, sdk),
      annotations: { readOnlyHint: isReadOnly, destructiveHint: false, openWorldHint: false },
      scopeChallenge: ({ authInfo }) => {
        const held = authInfo?.scopes ?? [];
        const [first, ...rest] = new Set([...held, ...scopes]);
        return scopes.every((scope) => held.includes(scope)) || first === undefined
          ? undefined
          : { scopes: [first, ...rest], errorDescription: `The tool ${name} needs ${scopes.join(' ')}.` };
      },
    },
    async (given) => resultOf(await run(given)),
  );
}

const resultOf = ({ text, isError = false }: McpResult) => ({
  content: [{ type: 'text' as const, text }],
  ...(isError && { isError }),
});

const headersOf = ({ headers }: McpRequest): [string, string][] =>
  Object.entries(headers)
    .filter(([name]) => name === 'accept' || name === 'content-type' || name.startsWith('mcp-'))
    .map(([name, value]) => [name, String(value)]);
