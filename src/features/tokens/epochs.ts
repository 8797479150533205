/**
 * Epochs: counters in PostgreSQL that grow with each end of tokens, and never shrink. A token carries the sum of the epochs that it
 * depends on. While the sum is the same, none of them has grown. So one comparison finds every end, whatever the clocks of the nodes
 * say (decision 020).
 */
import type { ScopeEpochs } from '../../kernel/ports/resources.ts';
import type { AgentStatus } from './store.ts';

type Counted = Pick<AgentStatus, 'epoch'>;

/** Of the agents that the token depends on, and of their organization. */
export const agentsEpoch = (
  { organizationEpoch, epoch }: Counted & Pick<AgentStatus, 'organizationEpoch'>,
  others: readonly Counted[] = [],
): number => others.reduce((sum, other) => sum + other.epoch, organizationEpoch + epoch);

/** Of the scopes that the token carries. */
export const scopesEpoch = (epochs: ScopeEpochs, scopes: readonly string[]): number =>
  scopes.reduce((sum, scope) => sum + (Object.hasOwn(epochs, scope) ? (epochs[scope] ?? 0) : 0), 0);
