/**
 * The port for outbound HTTP calls (webhooks, key sets, discovery, proofs of hosts) and DNS queries. Its implementation (adapters/outbound/outbound.ts) connects to
 * public addresses only, follows no redirects, and limits time and size.
 */
export interface OutboundRequest {
  readonly method: 'GET' | 'POST';
  /** https, or http where the caller allows it; without credentials. */
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** From the DNS look-up to the last byte of the response. */
  readonly timeoutMs: number;
  readonly maxBytes: number;
  /** For a response longer than `maxBytes`; by default it is refused (`tooLarge`). Either way no more bytes are read. */
  readonly overflow?: 'refuse' | 'truncate';
}

export interface OutboundResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
  /** The response was longer than `maxBytes`. */
  readonly truncated: boolean;
}

export type OutboundReason = 'address' | 'unreachable' | 'timeout' | 'tooLarge' | 'protocol';

/**
 * No response. `address`: the target address is not allowed. `unreachable`: no connection, or it was lost. `timeout`, `tooLarge`:
 * over the limits. `protocol`: no valid URL, certificate or HTTP.
 *
 * The message may be shown to the tenant that chose the target. It does not reveal which names exist in our network.
 */
export class OutboundProblem extends Error {
  readonly reason: OutboundReason;
  /** For the operator's log only. */
  readonly detail: string;

  constructor(reason: OutboundReason, message: string, options?: ErrorOptions & { detail?: string }) {
    super(message, options);
    this.detail = options?.detail ?? message;
    this.name = 'OutboundProblem';
    this.reason = reason;
  }
}

export interface Outbound {
  /** Resolves for every HTTP status; otherwise rejects with OutboundProblem. */
  send(request: OutboundRequest): Promise<OutboundResponse>;
  /** The TXT records of a name, each joined from its parts; none when there are none. Otherwise rejects with OutboundProblem. */
  textRecords(name: string): Promise<readonly string[]>;
  close(): Promise<void>;
}
