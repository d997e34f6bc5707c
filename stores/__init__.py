"""Where documents, entities and relations are kept, and how they are asked for."""
