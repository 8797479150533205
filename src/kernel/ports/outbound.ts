/**
 * The port for every call we make to somebody else's server: webhooks, key sets, discovery. The one implementation
 * (adapters/outbound/outbound.ts) connects to public addresses only, follows no redirect, and caps time and size.
 */
export interface OutboundRequest {
  readonly method: 'GET' | 'POST';
  /** By https, or by http where the caller lets it pass; without credentials in it. */
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** From the look-up of the name to the last byte of the answer. */
  readonly timeoutMs: number;
  readonly maxBytes: number;
  /** What becomes of a longer answer; either way no more of it is taken. Refused (`tooLarge`) unless said otherwise. */
  readonly overflow?: 'refuse' | 'truncate';
}

export interface OutboundResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
  /** There was more of it than was asked for. */
  readonly truncated: boolean;
}

export type OutboundReason = 'address' | 'unreachable' | 'timeout' | 'tooLarge' | 'protocol';

/**
 * No answer was had. `address`: the target is one that we do not connect to. `unreachable`: no connection, or it was lost.
 * `timeout`, `tooLarge`: not in full within the limits. `protocol`: no valid address, certificate or HTTP.
 *
 * The message may be told to whoever chose the target. It does not say which names there are inside our network.
 */
export class OutboundProblem extends Error {
  readonly reason: OutboundReason;
  /** For the operator's log, and for nobody else. */
  readonly detail: string;

  constructor(reason: OutboundReason, message: string, options?: ErrorOptions & { detail?: string }) {
    super(message, options);
    this.detail = options?.detail ?? message;
    this.name = 'OutboundProblem';
    this.reason = reason;
  }
}

export interface Outbound {
  /** Whatever the status, an answer; otherwise rejects with OutboundProblem, and with nothing else. */
  send(request: OutboundRequest): Promise<OutboundResponse>;
  close(): Promise<void>;
}
