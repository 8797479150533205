"""The agent this project was made for, as the registry knew it then."""

# fmt: off
AGENT_ID = @@agentId@@
EMAIL = @@email@@
NAME = @@name@@
AGENT_TYPE = @@agentType@@
VERSION = @@version@@
OWNER = @@owner@@
DEPLOYMENT_ENV = @@deploymentEnv@@
CAPABILITIES = [@@capabilities@@]
# fmt: on
