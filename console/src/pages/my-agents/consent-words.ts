/** How a consent is named. */
import type { Consent } from '../../api/own-delegations.ts';

/** As the client's document names it; the name of the agent otherwise. */
export const nameOf = ({ clientName, agentName }: Pick<Consent, 'clientName' | 'agentName'>): string =>
  clientName ?? agentName;

/** The host of a client's document, which it cannot choose freely as it chooses its name. */
export const hostOf = (clientUri: string | null): string | undefined =>
  clientUri !== null && URL.canParse(clientUri) ? new URL(clientUri).hostname : undefined;
