"""The Model Context Protocol: Clew's tools for desktop clients over stdio, and over HTTP."""
