package agent;

import java.util.List;

/** The agent this project was made for, as the registry knew it then. */
final class Identity {
  static final String AGENT_ID = @@agentId@@;
  static final String EMAIL = @@email@@;
  static final String NAME = @@name@@;
  static final String AGENT_TYPE = @@agentType@@;
  static final String VERSION = @@version@@;
  static final String OWNER = @@owner@@;
  static final String DEPLOYMENT_ENV = @@deploymentEnv@@;
  static final List<String> CAPABILITIES = List.of(@@capabilities@@);

  private Identity() {}
}
