import { EmptyState } from '../../components/EmptyState.tsx';

/** In a session that acts as an agent without a person. */
export const OnlyPeople = () => (
  <EmptyState
    icon="account"
    title="Only a person decides"
    text="This session acts as an agent, and no agent can approve or deny a request, whatever its scopes. Sign in as a person, through the OpenID provider of your organization, to see what waits for you."
  />
);
