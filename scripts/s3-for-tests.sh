#!/usr/bin/env bash
# Compiles an S3 server for the tests, the Versity S3 Gateway, into a folder outside the repository, and prints that folder. The file
# `complete` is written at the end.
set -euo pipefail

# Raise it in test/support/peers/s3-server.ts, too.
version=1.8.0
folder=${S3_FOR_TESTS:-${XDG_CACHE_HOME:-$HOME/.cache}/countersign/versitygw-$version}
if [ ! -e "$folder/complete" ]; then
  mkdir -p "$folder"
  # A second process waits, and then finds the folder complete.
  exec 9>"$folder/lock"
  flock 9
  if [ ! -e "$folder/complete" ]; then
    # Without optimization it compiles in two thirds of the time, and is fast enough.
    GOBIN=$folder go install -gcflags='all=-N -l' -ldflags='-s -w' "github.com/versity/versitygw/cmd/versitygw@v$version" >&2
    touch "$folder/complete"
  fi
fi
echo "$folder"
