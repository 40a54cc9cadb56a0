"""The page on which people talk to an agent: a small server, and what it serves."""
