"""Which addresses may get a token or a secret: https, or http on this machine."""

import ipaddress

import httpx


def checked_issuer(issuer: str) -> str:
    """The issuer without a trailing slash. Raises ValueError for an address that is not safe."""
    url = checked_url(issuer, "issuer")
    if url.query or "?" in issuer:
        raise ValueError("issuer must have no query")
    return issuer.rstrip("/")


def checked_url(address: str, name: str) -> httpx.URL:
    try:
        url = httpx.URL(address)
    except (httpx.InvalidURL, TypeError) as error:
        raise ValueError(f"{name} must be an address such as https://id.example.com") from error
    if url.scheme not in ("https", "http") or not url.host:
        raise ValueError(f"{name} must be an address such as https://id.example.com")
    if url.userinfo or url.fragment or "#" in address:
        raise ValueError(f"{name} must have no user, password and fragment")
    if not is_protected(url.scheme, url.host):
        raise ValueError(f"{name} must use https; http is for this machine (localhost) only")
    return url


def is_protected(scheme: str, host: str) -> bool:
    return scheme == "https" or (scheme == "http" and is_loopback(host))


def may_use_proxy(issuer: str) -> bool:
    """A proxy of the environment would read requests without TLS, which are for this machine."""
    return issuer.startswith("https:")


def is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def origin_of(scheme: str, host: str, port: int | None) -> tuple[str, str, int]:
    default = 443 if scheme == "https" else 80
    return scheme, host.lower(), default if port is None else port


def path_of(raw_path: bytes) -> str:
    """The path as it is sent, without the query."""
    return raw_path.partition(b"?")[0].decode("ascii")
