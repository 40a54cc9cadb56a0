"""What came of learning, for people to look at: tables, curves and pictures."""
