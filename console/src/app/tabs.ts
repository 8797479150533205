/** Messages between the tabs of this browser: the session is that of all of them. */

/** `signed-out`: the person has left. `session-ended`: a tab has seen that the session is over, by time or by an admin. */
type TabMessage = 'signed-out' | 'session-ended';

const channel = new BroadcastChannel('countersign-console');

export const tellOtherTabs = (message: TabMessage): void => channel.postMessage(message);

/** Returns a function that ends it. */
export function onTabMessage(listener: (message: TabMessage) => void): () => void {
  const receive = ({ data }: MessageEvent<TabMessage>) => listener(data);
  channel.addEventListener('message', receive);
  return () => channel.removeEventListener('message', receive);
}
