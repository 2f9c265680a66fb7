"""The agents' benchmark: bugs, servers, and what was seen of a cause."""
