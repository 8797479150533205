#!/usr/bin/env bash
# Downloads a Kafka broker for the tests through Maven (and its configured mirror) into a folder outside the repository, and
# prints that folder. An existing folder is complete, since the download is moved into place at the end.
set -euo pipefail

version=4.1.0
folder=${KAFKA_FOR_TESTS:-${XDG_CACHE_HOME:-$HOME/.cache}/countersign/kafka-$version}
if [ ! -e "$folder/kafka_2.13-$version.jar" ]; then
  mkdir -p "$(dirname "$folder")"
  # On the same file system, so that the move is atomic.
  work=$(mktemp -d "$(dirname "$folder")/fetching.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  cat >"$work/pom.xml" <<POM
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>countersign</groupId>
  <artifactId>kafka-for-tests</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka_2.13</artifactId>
      <version>$version</version>
    </dependency>
  </dependencies>
</project>
POM
  for attempt in 1 2 3; do
    if mvn -q -B -f "$work/pom.xml" -Dmaven.artifact.threads=12 dependency:copy-dependencies \
      -DincludeScope=runtime -DoutputDirectory="$work/jars" >&2; then
      break
    fi
    [ "$attempt" -lt 3 ] || exit 1
    sleep 5
  done
  # Another process may have been faster; its folder is equivalent.
  mv -T "$work/jars" "$folder" 2>/dev/null || [ -e "$folder/kafka_2.13-$version.jar" ]
fi
echo "$folder"
