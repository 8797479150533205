/** The agent this project was made for, as the registry knew it then. */
export const agent = {
  agentId: @@agentId@@,
  email: @@email@@,
  name: @@name@@,
  agentType: @@agentType@@,
  version: @@version@@,
  owner: @@owner@@,
  deploymentEnv: @@deploymentEnv@@,
  capabilities: [@@capabilities@@],
};
