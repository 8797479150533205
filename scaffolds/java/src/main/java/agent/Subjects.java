package agent;

/** On whose behalf the agents that present a token may act. */
public enum Subjects {
  /** Agents that act for themselves or for other agents. */
  AGENTS,
  /** Agents that act for a person. */
  PEOPLE,
  /** Both. */
  ANY
}
