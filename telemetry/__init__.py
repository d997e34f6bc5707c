"""What an operator sees of a process from outside: spans, and one line of log a run."""
