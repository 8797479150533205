#!/usr/bin/env bash
# Downloads Keycloak for the tests and for `npm run bench -- rivals` through Maven (and its configured mirror) into a folder outside the
# repository, and prints that folder. An existing folder is complete, since the download is moved into place at the end.
set -euo pipefail

version=26.4.0
folder=${KEYCLOAK_FOR_TESTS:-${XDG_CACHE_HOME:-$HOME/.cache}/countersign/keycloak-$version}
if [ ! -e "$folder/bin/kc.sh" ]; then
  mkdir -p "$(dirname "$folder")"
  # On the same file system, so that the move is atomic.
  work=$(mktemp -d "$(dirname "$folder")/fetching.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  for attempt in 1 2 3; do
    if (cd "$work" && mvn -q -B dependency:copy -DoutputDirectory="$work" \
      -Dartifact="org.keycloak:keycloak-quarkus-dist:$version:tar.gz") >&2; then
      break
    fi
    [ "$attempt" -lt 3 ] || exit 1
    sleep 5
  done
  tar -xzf "$work/keycloak-quarkus-dist-$version.tar.gz" -C "$work"
  # Another process may have been faster; its folder is equivalent.
  mv -T "$work/keycloak-$version" "$folder" 2>/dev/null || [ -e "$folder/bin/kc.sh" ]
fi
echo "$folder"
