"""Keeps what lies in buckets in the folder of this one, where LocalEmu has one folder for all that run on a machine: two of
them with a bucket of the same name would remove each other's objects.
"""

import tempfile

from localemu.runtime import hooks
from localemu.services.s3 import provider


@hooks.on_infra_start()
def keep_objects_apart():
    provider.DEFAULT_S3_TMP_DIR = tempfile.mkdtemp(prefix="objects-")
