/** A program that has nothing else to do should end although a poll is open. Node.js can; elsewhere the program calls `close`. */

interface Unrefable {
  unref?(): unknown;
}

export const unrefTimer = (timer: unknown): void => {
  if (typeof timer === 'object') return void (timer as Unrefable | null)?.unref?.();
  const { Deno } = globalThis as { readonly Deno?: { unrefTimer?(id: unknown): void } };
  Deno?.unrefTimer?.(timer);
};

interface Channels {
  subscribe(name: string, listener: (message: unknown) => void): void;
  unsubscribe(name: string, listener: (message: unknown) => void): void;
}

const channel = 'undici:client:sendHeaders';

/** The sockets of requests to this address and below. fetch of Node.js refs a socket again before its next request. */
export function watchSockets({ origin, pathname }: URL): () => void {
  const { process } = globalThis as {
    readonly process?: { getBuiltinModule?(name: string): Channels | undefined };
  };
  const channels = process?.getBuiltinModule?.('node:diagnostics_channel');
  if (!channels?.subscribe) return () => {};
  const listener = (message: unknown) => {
    const { request, socket } = message as {
      readonly request?: { readonly origin?: unknown; readonly path?: unknown };
      readonly socket?: Unrefable;
    };
    if (String(request?.origin) === origin && String(request?.path).startsWith(pathname)) socket?.unref?.();
  };
  channels.subscribe(channel, listener);
  return () => channels.unsubscribe(channel, listener);
}
