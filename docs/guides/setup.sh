# Source this file in the folder where `npm start` runs:  . docs/guides/setup.sh
# It sets API and TOKEN (an operator's access token, valid for one hour), and defines functions for the examples of the guides.

# field NAME: prints one field of the JSON on standard input.
field() { node -pe "JSON.parse(require('fs').readFileSync(0)).$1"; }

# countersign COMMAND: the command line program of this checkout.
countersign() { node bin/countersign.js "$@"; }

BASE_URL=$(field baseUrl < .countersign/admin.json)
API=$BASE_URL/api/v1
ORG_ID=$(field organizationId < .countersign/admin.json)
CLIENT_ID=$(field clientId < .countersign/admin.json)
CLIENT_SECRET=$(field clientSecret < .countersign/admin.json)
TOKEN=$(curl -s "$API/token" -u "$CLIENT_ID:$CLIENT_SECRET" -d grant_type=client_credentials | field access_token)

# new_agent NAME SCOPE...: registers an agent with these scopes, and sets AGENT_ID and AGENT_SECRET.
new_agent() {
  local name=$1
  shift
  local scopes
  scopes=$(node -p 'JSON.stringify(process.argv.slice(1))' "$@")
  AGENT_ID=$(curl -s "$API/agents" -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \
    -d "{\"email\":\"$name-$(date +%s%N)@example.com\",\"agentType\":\"custom\",\"version\":\"1.0.0\",\"capabilities\":[\"demo:run\"],
         \"owner\":\"guides\",\"deploymentEnv\":\"development\",\"allowedScopes\":$scopes}" | field agentId)
  AGENT_SECRET=$(curl -s -X POST "$API/agents/$AGENT_ID/credentials" -H "Authorization: Bearer $TOKEN" | field clientSecret)
}
