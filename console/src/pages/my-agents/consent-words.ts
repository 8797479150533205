/** How a consent is named. */

interface Named {
  readonly clientName: string | null;
  readonly agentName: string;
}

/** As the client's document names it; the name of the agent otherwise. */
export const nameOf = ({ clientName, agentName }: Named): string => clientName ?? agentName;

/** The host of a client's document, which it cannot choose freely as it chooses its name. */
export const hostOf = (clientUri: string | null): string | undefined =>
  clientUri !== null && URL.canParse(clientUri) ? new URL(clientUri).hostname : undefined;
