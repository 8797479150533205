package agent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A server that answers as told, and a client whose time and waiting are in the test's hands. */
class ClientTest {
  record Answer(int status, String body, Map<String, String> headers) {
    Answer(int status, String body) {
      this(status, body, Map.of());
    }
  }

  private final List<String> seen = Collections.synchronizedList(new ArrayList<>());
  private final List<Duration> slept = new ArrayList<>();
  private final ExecutorService threads = Executors.newFixedThreadPool(10);
  private Instant now = Instant.ofEpochSecond(1_000_000);
  private HttpServer server;

  private final Clock clock =
      new Clock() {
        @Override
        public Instant instant() {
          return now;
        }

        @Override
        public ZoneId getZone() {
          return ZoneOffset.UTC;
        }

        @Override
        public Clock withZone(ZoneId zone) {
          return this;
        }
      };

  private Client start(Function<HttpExchange, Answer> answer) throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.setExecutor(threads);
    server.createContext(
        "/",
        exchange -> {
          seen.add(exchange.getRequestMethod() + " " + exchange.getRequestURI());
          exchange.getRequestBody().readAllBytes();
          Answer given = answer.apply(exchange);
          given.headers().forEach(exchange.getResponseHeaders()::set);
          byte[] body = given.body().getBytes();
          exchange.sendResponseHeaders(given.status(), body.length == 0 ? -1 : body.length);
          exchange.getResponseBody().write(body);
          exchange.close();
        });
    server.start();
    return new Client(
        "http://127.0.0.1:" + server.getAddress().getPort(),
        "id",
        "secret",
        clock,
        wait -> {
          slept.add(wait);
          now = now.plus(wait);
        });
  }

  @AfterEach
  void stop() {
    server.stop(0);
    threads.shutdownNow();
  }

  private static Answer issued(String token) {
    return new Answer(200, "{\"access_token\":\"" + token + "\",\"expires_in\":3600}");
  }

  private static boolean asksForToken(HttpExchange exchange) {
    return exchange.getRequestMethod().equals("POST");
  }

  @Test
  void oneTokenServesManyThreads() throws Exception {
    Client client =
        start(exchange -> asksForToken(exchange) ? issued("one") : new Answer(200, "{}"));
    ExecutorService callers = Executors.newFixedThreadPool(10);
    List<Callable<Object>> calls = Collections.nCopies(10, () -> client.get("/x"));
    for (Future<Object> call : callers.invokeAll(calls)) {
      call.get();
    }
    callers.shutdown();
    assertEquals(1, Collections.frequency(seen, "POST /api/v1/token"));
    assertEquals(10, Collections.frequency(seen, "GET /api/v1/x"));
  }

  @Test
  void tokenIsRenewedBeforeItExpires() throws Exception {
    AtomicInteger count = new AtomicInteger();
    Client client = start(exchange -> issued("token-" + count.incrementAndGet()));
    assertEquals("token-1", client.token());
    now = now.plusSeconds(3539);
    assertEquals("token-1", client.token());
    now = now.plusSeconds(2);
    assertEquals("token-2", client.token());
  }

  @Test
  void refusedTokenIsReplacedOnce() throws Exception {
    AtomicInteger count = new AtomicInteger();
    Client client =
        start(
            exchange -> {
              if (asksForToken(exchange)) {
                return issued("token-" + count.incrementAndGet());
              }
              String token = exchange.getRequestHeaders().getFirst("Authorization");
              return token.equals("Bearer token-2")
                  ? new Answer(200, "{\"ok\":true}")
                  : new Answer(401, "{\"code\":\"UNAUTHORIZED\"}");
            });
    assertEquals(Map.of("ok", true), client.get("/x"));
    assertEquals(4, seen.size());
  }

  @Test
  void tokenThatIsRefusedAgainIsAnError() throws Exception {
    Client client =
        start(
            exchange ->
                asksForToken(exchange)
                    ? issued("one")
                    : new Answer(401, "{\"code\":\"UNAUTHORIZED\"}"));
    ApiException refusal = assertThrows(ApiException.class, () -> client.get("/x"));
    assertEquals("UNAUTHORIZED", refusal.code());
    assertEquals(4, seen.size());
  }

  @Test
  void fullRateWindowIsWaitedOut() throws Exception {
    AtomicInteger calls = new AtomicInteger();
    Client client =
        start(
            exchange -> {
              if (asksForToken(exchange)) {
                return issued("one");
              }
              return calls.incrementAndGet() == 1
                  ? new Answer(429, "{}", Map.of("X-RateLimit-Reset", "1000030"))
                  : new Answer(200, "{\"done\":true}");
            });
    assertEquals(Map.of("done", true), client.get("/x"));
    assertEquals(List.of(Duration.ofSeconds(30)), slept);
  }

  @Test
  void doesNotWaitForTheNextDay() throws Exception {
    Client client =
        start(
            exchange ->
                asksForToken(exchange)
                    ? issued("one")
                    : new Answer(429, "{}", Map.of("Retry-After", "40000")));
    assertEquals(429, assertThrows(ApiException.class, () -> client.get("/x")).status());
    assertEquals(List.of(), slept);
  }

  @Test
  void wrongSecretIsSaidToBeOne() throws Exception {
    Client client = start(exchange -> new Answer(401, "{\"error\":\"invalid_client\"}"));
    assertEquals("invalid_client", assertThrows(ApiException.class, client::token).code());
  }
}
