/** A tool: its arguments, the operations of the API behind it, and what it makes of their answers. */
import type { Static, TObject } from 'typebox';
import type { Api } from '../../../sdk/typescript/src/api.ts';
import { type OperationId, operations } from '../../../sdk/typescript/src/generated.ts';
import type { Clock } from '../../kernel/clock.ts';

export interface ToolContext {
  /** The API, as the caller. */
  readonly api: Api;
  readonly clock: Clock;
  /** Aborted when the client has gone or the server closes. For tools that wait: the response then ends within a second. */
  endSignal(): AbortSignal;
  /** Ends early, without an error, when the signal aborts. */
  sleep(milliseconds: number, signal: AbortSignal): Promise<void>;
  /** What an identity file would change. Undefined where the server makes no plans. */
  planChange(text: string): Promise<object | undefined>;
  /** As the caller, an agent; returns the id of the approval. */
  requestApproval(request: ApprovalRequest): Promise<string>;
}

/** The parameters of the backchannel endpoint. */
export interface ApprovalRequest {
  readonly resource: string;
  readonly scope: string;
  readonly login_hint: string;
  readonly binding_message: string;
  readonly authorization_details?: string;
}

interface ToolSpec<S extends TObject, Id extends OperationId> {
  readonly name: string;
  readonly title: string;
  /** For the assistant: when to use it, and what it answers. */
  readonly description: string;
  readonly input: S;
  /** A call needs the scopes of all of them. */
  readonly operations: readonly Id[];
  /** That some arguments need. The tool calls no other operation than these and those above. */
  readonly moreOperations?: readonly Id[];
  /** False: it changes something. */
  readonly isReadOnly: boolean;
  /** Facts for the assistant, as JSON. */
  run(input: Static<S>, context: ToolContext & { readonly api: Pick<Api, Id> }): Promise<object>;
}

export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: TObject;
  readonly operations: readonly OperationId[];
  readonly scopes: readonly string[];
  readonly isReadOnly: boolean;
  run(input: unknown, context: ToolContext): Promise<object>;
}

export const tool = <S extends TObject, Id extends OperationId>(spec: ToolSpec<S, Id>): Tool => ({
  ...spec,
  operations: [...spec.operations, ...(spec.moreOperations ?? [])],
  scopes: [...new Set(spec.operations.flatMap((id) => operations[id].scopes ?? []))].sort(),
  run: (input, context) => spec.run(input as Static<S>, context),
});

/** The arguments are well-formed, and mean nothing that can be answered. The assistant reads the message, and the data with it. */
export class ToolError extends Error {
  readonly data: Readonly<Record<string, unknown>>;

  constructor(message: string, data: Readonly<Record<string, unknown>> = {}) {
    super(message);
    this.data = data;
  }
}
