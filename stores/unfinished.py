"""Documents that wait for a language model: which they are, and what there is of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from .access import Access
from .records import DocumentDraft

__all__ = ["CHANGED", "UnfinishedDocuments", "extraction_of", "marked"]

CHANGED: Final = "It was changed or deleted meanwhile; what is there was left alone."
"""Why a document was not written in place of the row that it was made from."""


def marked(content_hash: str, extraction: str) -> str:
    """The hash with how the document's names were found, in place of what it said before.

    That stands beside the hash and not in it, since it changes without the content being there.
    """
    return f"{content_hash.partition('+')[0]}+{extraction}"


def extraction_of(content_hash: str) -> str:
    """How the document's names were found; empty: offline."""
    return content_hash.partition("+")[2]


class UnfinishedDocuments(Protocol):
    """A document store that gives documents back. `access` must name exactly one namespace."""

    async def unfinished(self, *, settled: Sequence[str] | None, access: Access) -> list[str]:
        """Keys of documents that wait for a language model, ascending.

        Those that were written as pending and, unless `settled` is none, all others of which
        `extraction_of` is not among the settled.
        """
        ...

    async def drafts(self, keys: Sequence[str], *, access: Access) -> list[DocumentDraft]:
        """The documents as they were written, in the order of `keys`; unknown keys are skipped.

        With what they may replace under `instead_of`. Writing them back changes nothing but ids:
        all but their whole text, headings and links is there, aliases in normalised form.
        """
        ...

    async def forget_weights(self, *, access: Access) -> None:
        """Have the next weighing weigh all co-occurrences, however little the namespace grew."""
        ...
