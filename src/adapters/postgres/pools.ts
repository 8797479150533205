/** The pools of connections to the host in use: one for queries, one for the health check. A change of the host replaces both. */
import pg from 'pg';
import type { Log } from '../../kernel/observability/log.ts';
import { clientOf } from './client.ts';
import type { Hosts } from './hosts.ts';

interface Pools {
  queries(): pg.Pool;
  ping(): pg.Pool;
  close(): Promise<void>;
}

export function createPools(options: {
  hosts: Hosts;
  config: pg.PoolConfig;
  pingConfig: pg.PoolConfig;
  onRelease: () => void;
  onConnect: (client: pg.PoolClient) => void;
  log: Log;
}): Pools {
  const { hosts, config, pingConfig, onRelease, onConnect, log } = options;
  let closing = false;

  const open = () => {
    const connectionString = hosts.current();
    /** Also those that are being opened. */
    const clients = new Set<pg.Client>();
    const Client = clientOf((client) => {
      clients.add(client);
      client.once('end', () => clients.delete(client));
    });
    const queries = new pg.Pool({ ...config, connectionString, Client });
    const ping = new pg.Pool({ ...pingConfig, connectionString, Client });
    for (const pool of [queries, ping]) {
      // Without a listener a lost connection would end the process. pg attaches the whole client to the error, so only its
      // message is logged.
      pool.on('error', ({ message, code }: Error & { code?: string }) => {
        hosts.suspect();
        if (!closing)
          log.warn({ code, reason: message }, 'idle database connection lost; the pool opens another');
      });
      pool.on('connect', (client) => {
        client.on('error', () => {});
        onConnect(client);
      });
    }
    queries.on('release', onRelease);
    const end = async () => {
      await Promise.all([queries.end(), ping.end()]);
    };
    /** An answer of the former primary is worth nothing any more, and may not come for a long time. */
    const retire = () => {
      const ended = end();
      for (const client of clients) client.connection.stream.destroy();
      return ended;
    };
    return { queries, ping, end, retire };
  };

  let current = open();
  const retired = new Set<Promise<void>>();
  hosts.onSwitch(() => {
    const former = current;
    current = open();
    const ended = former.retire().finally(() => retired.delete(ended));
    retired.add(ended);
  });

  return {
    queries: () => current.queries,
    ping: () => current.ping,
    async close() {
      closing = true;
      await Promise.all([...retired, current.end()]);
    },
  };
}
