"""An agent with an identity of its own."""
