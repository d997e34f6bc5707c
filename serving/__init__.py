"""The doors: the command line now; the server's extras, the tool and the retriever beside it."""
