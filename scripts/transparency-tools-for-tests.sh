#!/usr/bin/env bash
# Compiles two programs of transparency-dev for the tests of the instance log, a witness (omniwitness) and a checker of logs (fsck), into a
# folder outside the repository, and prints that folder. The file `complete` is written at the end.
set -euo pipefail

# The newest version of the witness whose dependencies are all published.
witness=v0.0.0-20260617164027-9332986a94a4
tessera=v1.0.4
# Raise the number when a version changes, here and in test/support/peers/transparency-dev.ts.
folder=${TRANSPARENCY_TOOLS_FOR_TESTS:-${XDG_CACHE_HOME:-$HOME/.cache}/countersign/transparency-tools-1}
if [ ! -e "$folder/complete" ]; then
  mkdir -p "$folder"
  # A second process waits, and then finds the folder complete.
  exec 9>"$folder/lock"
  flock 9
  if [ ! -e "$folder/complete" ]; then
    GOBIN=$folder go install "github.com/transparency-dev/witness/cmd/omniwitness@$witness" >&2
    GOBIN=$folder go install "github.com/transparency-dev/tessera/cmd/fsck@$tessera" >&2
    touch "$folder/complete"
  fi
fi
echo "$folder"
