package main

// The agent this project was made for, as the registry knew it then.
var known = identity{
	AgentID:       @@agentId@@,
	Email:         @@email@@,
	AgentType:     @@agentType@@,
	Version:       @@version@@,
	Owner:         @@owner@@,
	DeploymentEnv: @@deploymentEnv@@,
	Capabilities:  []string{@@capabilities@@},
}
