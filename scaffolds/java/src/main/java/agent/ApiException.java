package agent;

import java.io.IOException;

/** A refusal by the API. */
public final class ApiException extends IOException {
  private static final long serialVersionUID = 1L;

  private final int status;
  private final String code;

  ApiException(int status, String code, String message) {
    super(status + " " + code + ": " + message);
    this.status = status;
    this.code = code;
  }

  public int status() {
    return status;
  }

  public String code() {
    return code;
  }
}
