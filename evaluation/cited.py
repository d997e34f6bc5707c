"""Which passages a built context cites."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

__all__ = ["cited"]

# Passages are escaped, so none of them can hold a line that begins like this.
_PASSAGE = re.compile(r'^<passage id="(\d+)" ', re.MULTILINE)


def cited(output: Mapping[str, Any]) -> list[str]:
    """The document id of each passage in the context of a run's output, in the context's order."""
    documents = {d.metadata["rank"]: d.metadata["document_id"] for d in output["documents"]}
    return [documents[int(number)] for number in _PASSAGE.findall(output["context"])]
