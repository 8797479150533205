#!/usr/bin/env bash
# Installs the tools that check openapi.json (Redocly, Spectral and Schemathesis) into a folder outside the repository, and prints
# that folder. They are large, and only test/openapi/ needs them. The file `complete` is written at the end.
set -euo pipefail

redocly=2.73.0
spectral=6.16.3
schemathesis=4.32.5
folder=${OPENAPI_TOOLS_FOR_TESTS:-${XDG_CACHE_HOME:-$HOME/.cache}/countersign/openapi-tools-1}
if [ ! -e "$folder/complete" ]; then
  mkdir -p "$folder"
  # A second process waits, and then finds the folder complete.
  exec 9>"$folder/lock"
  flock 9
  if [ ! -e "$folder/complete" ]; then
    # A virtual environment contains its own path, so it is made where it stays.
    python3 -m venv --clear "$folder/python" >&2
    "$folder/python/bin/pip" install --quiet "schemathesis==$schemathesis" >&2
    npm install --silent --no-save --no-audit --no-fund --ignore-scripts --prefix "$folder/node" \
      "@redocly/cli@$redocly" "@stoplight/spectral-cli@$spectral" >&2
    touch "$folder/complete"
  fi
fi
echo "$folder"
