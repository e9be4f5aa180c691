"""The tools for programs that speak MCP: who holds the arm, what is served, over which door."""
