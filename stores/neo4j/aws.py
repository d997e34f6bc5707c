"""Who this process is to Amazon: environment, profile, or the role of the machine it runs on."""

from __future__ import annotations

import asyncio

from ..errors import StoreMisconfigured
from .neptune import AwsCredentials

__all__ = ["aws_credentials"]


async def aws_credentials() -> AwsCredentials:
    """What botocore's chain of providers finds, renewed as it expires.

    Raises `StoreMisconfigured` when botocore is not installed or finds nothing.
    """
    # Asking a machine for its role is a blocking call.
    return await asyncio.to_thread(_found)


def _found() -> AwsCredentials:
    try:
        from botocore.session import get_session
    except ImportError as error:
        raise StoreMisconfigured(
            "Neptune needs botocore for its signatures; install clew[neptune]."
        ) from error
    credentials = get_session().get_credentials()
    if credentials is None:
        raise StoreMisconfigured(
            "No AWS credentials were found; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
            "run with a role."
        )
    frozen = credentials.get_frozen_credentials()
    return AwsCredentials(key=frozen.access_key, secret=frozen.secret_key, token=frozen.token)
