package agent;

import com.nimbusds.jose.util.JSONObjectUtils;
import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.text.ParseException;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.OptionalLong;
import java.util.stream.Collectors;

/**
 * Calls the API with an access token that is fetched when first needed, kept, and renewed before it
 * expires. Safe to share between threads.
 */
public final class Client {
  /** A token this close to its end is renewed before it is used. */
  private static final Duration RENEWAL_MARGIN = Duration.ofMinutes(1);

  /** A rate window lasts a minute. A longer Retry-After means that the quota of the day is used up. */
  private static final Duration LONGEST_WAIT = Duration.ofSeconds(65);

  private static final Duration SHORTEST_WAIT = Duration.ofSeconds(1);
  private static final Duration REQUEST_TIMEOUT = Duration.ofSeconds(10);
  private static final int ATTEMPTS = 4;

  /** How to wait; tests do not. */
  interface Sleeper {
    void sleep(Duration duration) throws InterruptedException;
  }

  private final HttpClient http = HttpClient.newBuilder().connectTimeout(REQUEST_TIMEOUT).build();
  private final String apiUrl;
  private final String clientId;
  private final String clientSecret;
  private final Clock clock;
  private final Sleeper sleeper;

  private String token;
  private Instant expiresAt = Instant.MIN;

  public Client(String apiUrl, String clientId, String clientSecret) {
    this(apiUrl, clientId, clientSecret, Clock.systemUTC(), wait -> Thread.sleep(wait.toMillis()));
  }

  Client(String apiUrl, String clientId, String clientSecret, Clock clock, Sleeper sleeper) {
    this.apiUrl = apiUrl;
    this.clientId = clientId;
    this.clientSecret = clientSecret;
    this.clock = clock;
    this.sleeper = sleeper;
  }

  /**
   * A token that is good for another minute at least. Threads that need a new one at the same time
   * wait for one request.
   */
  public synchronized String token() throws IOException, InterruptedException {
    Instant asked = clock.instant();
    if (token == null || !expiresAt.isAfter(asked.plus(RENEWAL_MARGIN))) {
      Map<String, Object> answer = requestToken();
      token = (String) answer.get("access_token");
      expiresAt = asked.plusSeconds(((Number) answer.get("expires_in")).longValue());
    }
    return token;
  }

  public Map<String, Object> get(String path) throws IOException, InterruptedException {
    return request("GET", path, null);
  }

  /**
   * Calls the API; the path is relative to /api/v1 and the body may be null. A refused token is
   * replaced once, and a full rate window is waited out.
   */
  public Map<String, Object> request(String method, String path, Map<String, ?> body)
      throws IOException, InterruptedException {
    String used = token();
    HttpResponse<String> response = send(authorized(method, path, body, used));
    if (response.statusCode() == 401) {
      forget(used);
      response = send(authorized(method, path, body, token()));
    }
    return answerOf(response);
  }

  private synchronized void forget(String refused) {
    if (refused.equals(token)) {
      token = null;
    }
  }

  private HttpRequest authorized(String method, String path, Map<String, ?> body, String token) {
    HttpRequest.Builder request = to(path).header("Authorization", "Bearer " + token);
    if (body == null) {
      return request.method(method, BodyPublishers.noBody()).build();
    }
    return request
        .header("Content-Type", "application/json")
        .method(method, BodyPublishers.ofString(JSONObjectUtils.toJSONString(body)))
        .build();
  }

  private Map<String, Object> requestToken() throws IOException, InterruptedException {
    String form =
        Map.of(
                "grant_type", "client_credentials",
                "client_id", clientId,
                "client_secret", clientSecret)
            .entrySet()
            .stream()
            .map(field -> field.getKey() + "=" + encode(field.getValue()))
            .collect(Collectors.joining("&"));
    HttpRequest request =
        to("/token")
            .header("Content-Type", "application/x-www-form-urlencoded")
            .POST(BodyPublishers.ofString(form))
            .build();
    return answerOf(send(request));
  }

  private HttpRequest.Builder to(String path) {
    return HttpRequest.newBuilder(URI.create(apiUrl + "/api/v1" + path)).timeout(REQUEST_TIMEOUT);
  }

  private HttpResponse<String> send(HttpRequest request) throws IOException, InterruptedException {
    for (int attempt = 1; ; attempt++) {
      HttpResponse<String> response = http.send(request, BodyHandlers.ofString());
      if (response.statusCode() != 429 || attempt == ATTEMPTS) {
        return response;
      }
      Duration wait = waitAfter(response.headers());
      if (wait.compareTo(LONGEST_WAIT) > 0) {
        return response;
      }
      sleeper.sleep(wait);
    }
  }

  private Duration waitAfter(HttpHeaders headers) {
    Duration wait = SHORTEST_WAIT;
    OptionalLong retryAfter = number(headers, "Retry-After");
    OptionalLong reset = number(headers, "X-RateLimit-Reset");
    if (retryAfter.isPresent()) {
      wait = Duration.ofSeconds(retryAfter.getAsLong());
    } else if (reset.isPresent()) {
      wait = Duration.between(clock.instant(), Instant.ofEpochSecond(reset.getAsLong()));
    }
    return wait.compareTo(SHORTEST_WAIT) > 0 ? wait : SHORTEST_WAIT;
  }

  private static OptionalLong number(HttpHeaders headers, String name) {
    return headers
        .firstValue(name)
        .filter(value -> value.matches("\\d{1,12}"))
        .map(value -> OptionalLong.of(Long.parseLong(value)))
        .orElse(OptionalLong.empty());
  }

  private static Map<String, Object> answerOf(HttpResponse<String> response) throws IOException {
    boolean ok = response.statusCode() < 300;
    Map<String, Object> answer = Map.of();
    try {
      if (!response.body().isEmpty()) {
        answer = JSONObjectUtils.parse(response.body());
      }
    } catch (ParseException e) {
      // Not from the API itself: a proxy, perhaps.
      if (ok) {
        throw new IOException("the answer is not a JSON object", e);
      }
    }
    if (ok) {
      return answer;
    }
    throw new ApiException(
        response.statusCode(),
        first(answer, "code", "error", "UNKNOWN"),
        first(answer, "message", "error_description", "no explanation was given"));
  }

  private static String first(Map<String, Object> answer, String a, String b, String otherwise) {
    Object value = answer.getOrDefault(a, answer.getOrDefault(b, otherwise));
    return String.valueOf(value);
  }

  static String encode(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8);
  }
}
