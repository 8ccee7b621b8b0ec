//! The MCP and skills store. No HTTP in it.
