"""The reference: every store protocol in plain Python and brute force, for tests and notebooks."""

from __future__ import annotations

from .chunks import MemoryChunkStore
from .documents import MemoryDocumentStore
from .entities import MemoryEntityStore
from .graph import MemoryGraphStore
from .record import MemoryRecord
from .sections import MemorySectionStore

__all__ = [
    "MemoryChunkStore",
    "MemoryDocumentStore",
    "MemoryEntityStore",
    "MemoryGraphStore",
    "MemoryRecord",
    "MemorySectionStore",
]
