//! The agent this project was made for, as the registry knew it then.

pub const AGENT_ID: &str = @@agentId@@;
pub const EMAIL: &str = @@email@@;
pub const AGENT_TYPE: &str = @@agentType@@;
pub const VERSION: &str = @@version@@;
pub const OWNER: &str = @@owner@@;
pub const DEPLOYMENT_ENV: &str = @@deploymentEnv@@;
pub const CAPABILITIES: &[&str] = &[@@capabilities@@];
