/**
 * One log line per request, for the requests that LOG_REQUESTS chooses. The fields are ids, numbers and names of ours. Nothing that a
 * client wrote is logged except its request id, which has a safe form: URLs, headers and bodies can hold secrets.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../../config/config.ts';
import type { Log } from '../../observability/log.ts';

export type LogRequest = (request: FastifyRequest, reply: FastifyReply) => void;

export function createRequestLog(
  log: Log,
  { logRequests, logRequestsShare }: Pick<Config, 'logRequests' | 'logRequestsShare'>,
  random: () => number = Math.random,
): LogRequest {
  const isChosen = (status: number): boolean => {
    if (logRequests === 'none') return false;
    if (status >= 500) return true;
    if (logRequests === 'failures') return status >= 400;
    return logRequestsShare === 1 || random() < logRequestsShare;
  };
  return (request, reply) => {
    if (isChosen(reply.statusCode)) log.info(fieldsOf(request, reply), 'request');
    else if (log.isLevelEnabled('debug')) log.debug(fieldsOf(request, reply), 'request');
  };
}

/** Probes and requests that fail before the guard have no caller; the line then lacks agent and organization. */
function fieldsOf(request: FastifyRequest, { statusCode, elapsedTime }: FastifyReply) {
  const { requestContext: context, routeOptions } = request;
  const { caller, client } = context ?? {};
  return {
    requestId: request.id,
    operation: routeOptions?.config?.entry?.id ?? 'unmatched',
    method: request.method,
    route: routeOptions?.url ?? 'unmatched',
    status: statusCode,
    durationMs: Math.round(elapsedTime * 10) / 10,
    agentId: caller?.agentId ?? client?.clientId,
    organizationId: caller?.organizationId ?? client?.organizationId,
    ipAddress: context?.origin.ipAddress,
  };
}
