package agent;

import java.net.http.HttpTimeoutException;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;

/** Shows who this agent is, and checks what others send it. */
public final class Main {
  private static final String USAGE =
      """
      usage:
        java -jar agent.jar                                  show who this agent is
        java -jar agent.jar token <access token>             check a token presented to this agent
        java -jar agent.jar webhook <timestamp> <signature>  check a delivery, its body on stdin\
      """;

  private Main() {}

  public static void main(String[] args) {
    System.exit(run(args));
  }

  private static int run(String[] args) {
    try {
      if (args.length == 0) {
        whoAmI();
      } else if (args.length == 2 && args[0].equals("token")) {
        checkToken(args[1]);
      } else if (args.length == 3 && args[0].equals("webhook")) {
        checkWebhook(args[1], args[2]);
      } else {
        System.err.println(USAGE);
        return 2;
      }
      return 0;
    } catch (InterruptedException | HttpTimeoutException e) {
      System.err.println("error: the API did not answer in time");
    } catch (Exception e) {
      System.err.println("error: " + (e.getMessage() == null ? e.toString() : e.getMessage()));
    }
    return 1;
  }

  private static void whoAmI() throws Exception {
    String apiUrl = apiUrl();
    String clientId = setting("CLIENT_ID");
    Client client = new Client(apiUrl, clientId, setting("CLIENT_SECRET"));
    Map<String, Object> me = client.get("/agents/" + Client.encode(clientId));
    System.out.printf(
        "I am %s (%s), a %s in %s.%n",
        me.get("email"), me.get("agentId"), me.get("agentType"), me.get("deploymentEnv"));

    // A service that receives this token checks it like this. It was issued for the API.
    VerifiedToken verified = verifier(apiUrl).verify(client.token());
    System.out.printf("My token is genuine and carries: %s.%n", scopesOf(verified));

    Map<String, Object> known = new LinkedHashMap<>();
    known.put("agentId", Identity.AGENT_ID);
    known.put("email", Identity.EMAIL);
    known.put("agentType", Identity.AGENT_TYPE);
    known.put("version", Identity.VERSION);
    known.put("owner", Identity.OWNER);
    known.put("deploymentEnv", Identity.DEPLOYMENT_ENV);
    known.put("capabilities", Identity.CAPABILITIES);
    known.forEach(
        (field, value) -> {
          if (!value.equals(me.get(field))) {
            System.out.printf(
                "The registry says something else about %s than Identity.java.%n", field);
          }
        });
  }

  private static void checkToken(String token) throws Exception {
    String audience = System.getenv().getOrDefault("TOKEN_AUDIENCE", "");
    VerifiedToken verified = verifier(audience.isEmpty() ? apiUrl() : audience).verify(token);
    System.out.printf(
        "The token is genuine. It was issued to %s of organization %s and carries: %s.%n",
        verified.agentId(), verified.organizationId(), scopesOf(verified));
    if (verified.chainId() != null) {
      System.out.printf(
          "It is delegated by %s in chain %s; actors: %s.%n",
          verified.subject().id(), verified.chainId(), String.join(", ", verified.actors()));
    }
  }

  /**
   * Accepts tokens of the agent's own organization only, unless the settings say otherwise. Tokens of
   * agents that act for a person are refused.
   */
  private static AccessTokenVerifier verifier(String audience) throws Exception {
    switch (System.getenv().getOrDefault("ACCEPT_ANY_ORGANIZATION", "")) {
      case "true":
        return AccessTokenVerifier.acceptAnyOrganization(apiUrl(), audience, Subjects.AGENTS);
      case "false", "":
        return new AccessTokenVerifier(
            apiUrl(), audience, setting("ORGANIZATION_ID"), Subjects.AGENTS);
      default:
        throw new IllegalStateException("ACCEPT_ANY_ORGANIZATION must be true or false");
    }
  }

  private static void checkWebhook(String timestamp, String signature) throws Exception {
    byte[] body = System.in.readAllBytes();
    Webhook.verify(setting("WEBHOOK_SECRET"), timestamp, signature, body, Instant.now());
    System.out.println("The delivery is genuine.");
  }

  private static String scopesOf(VerifiedToken verified) {
    return verified.scopes().isEmpty() ? "no scope" : String.join(" ", verified.scopes());
  }

  private static String apiUrl() {
    return setting("API_URL").replaceAll("/+$", "");
  }

  private static String setting(String name) {
    String value = System.getenv(name);
    if (value == null || value.isEmpty()) {
      throw new IllegalStateException(
          name + " is not set; copy .env.example to .env, fill it in and load it");
    }
    return value;
  }
}
