"""Gives each LocalEmu process its own folder for the objects in its buckets.

LocalEmu by itself uses one folder for all its processes on a machine. Two of them with a bucket of the same name would
remove each other's objects.
"""

import tempfile

from localemu.runtime import hooks
from localemu.services.s3 import provider


@hooks.on_infra_start()
def keep_objects_apart():
    provider.DEFAULT_S3_TMP_DIR = tempfile.mkdtemp(prefix="objects-")
