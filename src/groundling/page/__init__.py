"""Web page for giving an agent commands and questions: a small server and its static files."""
