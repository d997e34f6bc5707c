"""Writing documents into memory: each lands whole, or not at all."""

from __future__ import annotations

import copy
from collections.abc import Sequence

from ..access import Access
from ..errors import InvalidInput
from ..prepared import Prepared
from ..records import DocumentDraft, WriteReport
from ..unfinished import CHANGED, extraction_of
from .alike import compare_names
from .record import MemoryRecord

__all__ = ["MemoryDocumentStore"]


class MemoryDocumentStore:
    """A `DocumentStore` on a record in memory."""

    def __init__(self, record: MemoryRecord) -> None:
        self._record = record

    async def hashes(
        self, keys: Sequence[str], *, sectioned: bool = False, access: Access
    ) -> dict[str, str]:
        """Content hashes of those documents that are stored with enrichment complete.

        `sectioned`: only of those that have sections, or nothing to make them of.
        """
        namespace, documents = access.only_namespace(), self._record.documents
        stored = {key: documents[namespace, key] for key in keys if (namespace, key) in documents}
        return {
            key: document.prepared.draft["content_hash"]
            for key, document in stored.items()
            if not (sectioned and document.lacks_sections)
            and not document.prepared.draft.get("pending")
        }

    async def write(self, documents: Sequence[DocumentDraft], *, access: Access) -> WriteReport:
        """Write or replace each document with everything of it.

        A document that is refused is reported under `failed`; the others land.
        """
        namespace = access.only_namespace()
        report = WriteReport(written=[], replaced=[], failed={})
        for document in documents:
            try:
                prepared = self._prepared(document, namespace)
            except InvalidInput as error:
                report["failed"][document["key"]] = str(error)
            else:
                replaced = self._record.put(namespace, prepared)
                report["replaced" if replaced else "written"].append(document["key"])
        return report

    def _prepared(self, document: DocumentDraft, namespace: str) -> Prepared:
        before = document.get("instead_of")
        stored = self._record.documents.get((namespace, document["key"]))
        if before is not None and (stored is None or stored.id != before):
            raise InvalidInput(CHANGED)
        return self._record.preparer.prepare(copy.deepcopy(document))

    async def unfinished(self, *, settled: Sequence[str] | None, access: Access) -> list[str]:
        """Keys of documents that wait for a language model, ascending."""
        namespace = access.only_namespace()
        drafts = {
            key: stored.prepared.draft
            for (where, key), stored in self._record.documents.items()
            if where == namespace
        }
        return sorted(
            key
            for key, draft in drafts.items()
            if draft.get("pending")
            or (settled is not None and extraction_of(draft["content_hash"]) not in settled)
        )

    async def drafts(self, keys: Sequence[str], *, access: Access) -> list[DocumentDraft]:
        """The documents as they were written, in the order of `keys`."""
        namespace = access.only_namespace()
        found: list[DocumentDraft] = []
        for key in keys:
            stored = self._record.documents.get((namespace, key))
            if stored is not None:
                draft = copy.deepcopy(stored.prepared.draft)
                draft.pop("pending", None)
                found.append({**draft, "instead_of": stored.id})
        return found

    async def forget_weights(self, *, access: Access) -> None:
        """Have the next weighing weigh all co-occurrences, however little the namespace grew."""
        namespace = access.only_namespace()
        if namespace in self._record.namespaces:
            self._record.namespaces[namespace] = 0

    async def delete(self, keys: Sequence[str], *, access: Access) -> int:
        """Delete documents and what only they bore out; returns how many there were."""
        namespace = access.only_namespace()
        return sum([self._record.take_out(namespace, key) for key in keys])

    async def compare_names(self, *, limit: int, access: Access) -> int:
        """Compare the next `limit` names with all of the namespace; returns how many there were."""
        return compare_names(self._record, access.only_namespace(), limit)

    async def weigh(self, *, access: Access) -> int:
        """Weigh the co-occurrences of the namespace anew; returns how many have another weight."""
        return self._record.weigh(access.only_namespace())
