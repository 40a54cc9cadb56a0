"""The teacher: its language, which sentences a map triggers, splits and episodes."""
