/** The Model Context Protocol: what a feature offers, and one request with its answer. */

export interface McpTool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly input: Readonly<Record<string, unknown>>;
  /** A call without one of them is refused, and the refusal names them all. */
  readonly scopes: readonly string[];
  /** False: it changes something. */
  readonly isReadOnly: boolean;
  run(input: unknown): Promise<McpResult>;
}

export interface McpResult {
  readonly text: string;
  readonly isError?: boolean;
}

export interface McpDocument {
  readonly uri: string;
  readonly name: string;
  readonly title: string;
  readonly mediaType: string;
  readonly description?: string | undefined;
}

export interface McpOffer {
  readonly name: string;
  readonly title: string;
  readonly version: string;
  readonly instructions: string;
  readonly tools: readonly McpTool[];
  readonly documents: readonly McpDocument[];
  /** Undefined when there is none. */
  readDocument(uri: string): Promise<string | undefined>;
}

export interface McpRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The JSON of the body. */
  readonly body: unknown;
  readonly clientId: string;
  readonly scopes: readonly string[];
  /** The protected resource metadata (RFC 9728) that a refusal for a scope names. */
  readonly resourceMetadata: string;
}

export interface McpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

export type ServeMcp = (request: McpRequest, offer: McpOffer) => Promise<McpAnswer>;

/** For the plan of an identity file, which the commands make. */
export interface PlanRequest {
  /** YAML or JSON. */
  readonly text: string;
  readonly callerId: string;
  /** Undefined when the caller acts for no person. */
  readonly personId: string | undefined;
  readonly url: string;
  /** Of the API as the caller, by a path below `/api/v1`. */
  read<T>(path: string, query?: Readonly<Record<string, unknown>>): Promise<T>;
}
