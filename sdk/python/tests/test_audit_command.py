"""`python -m countersign audit verify`: with nothing but files."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from audit_log import LOG, WITNESSES, Instance, note_of, tiles_of

from countersign import AuditExportError, AuditFileError, audit_export_lines, verify_audit_export
from countersign.audit_command import main
from countersign.audit_file import MAX_LINE_BYTES

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

EXPORTS = json.loads((Path(__file__).parents[2] / "vectors.json").read_text())["auditExports"]
ONE, TWO = (each.text for each in WITNESSES)
BOTH = ("--log-key", LOG.text, "--witness", ONE, "--witness", TWO)


def export(name: str) -> dict[str, Any]:
    return next(each for each in EXPORTS if each["name"] == name)


class Folder:
    """Files of an auditor, and the command in their folder."""

    def __init__(self, path: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.path = path
        self._capture = capture

    def write(self, name: str, content: str | bytes) -> str:
        data = content.encode() if isinstance(content, str) else content
        (self.path / name).parent.mkdir(parents=True, exist_ok=True)
        (self.path / name).write_bytes(data)
        return name

    def put(self, lines: Any, jwks: Any) -> None:
        self.write("export.jsonl", "\n".join(lines))
        self.write("jwks.json", json.dumps(jwks))

    def verify(self, *more: str, file: str = "export.jsonl") -> tuple[int, str, str]:
        code = main(["audit", "verify", file, "--keys", "jwks.json", *more])
        captured = self._capture.readouterr()
        return code, captured.out, captured.err


@pytest.fixture
def folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Folder:
    monkeypatch.chdir(tmp_path)
    return Folder(tmp_path, capsys)


@pytest.fixture
def logged(folder: Folder) -> Instance:
    """An export whose log both witnesses have cosigned."""
    instance = Instance()
    signers = [each.line for each in WITNESSES]
    folder.put(instance.export(2, 1, note=lambda each: note_of(each, *signers)), instance.jwks)
    return instance


def options_of(case: dict[str, Any]) -> list[str]:
    log = case["log"]
    witnesses = [option for each in log["witnesses"] for option in ("--witness", each)]
    quorum = ["--quorum", str(log["quorum"])] if "quorum" in log else []
    return ["--log-key", log["key"], *witnesses, *quorum]


def test_intact_and_witnessed(folder: Folder) -> None:
    case = export("with events that are newer than the checkpoint of the log")
    folder.put(case["lines"], case["jwks"])
    code, output, _ = folder.verify(*options_of(case))
    lines = output.splitlines()
    assert code == 0
    assert lines[0] == (
        "The export is intact and witnessed at 2027-01-15T08:00:07.000Z by "
        "witness.example/one, zeuge.example/zwei: 8 events in 1 chain."
    )
    assert [line.split()[0] for line in lines[1:]] == ["begun", "only", "not"]
    assert lines[-1] == "  not witnessed 1 events, newer than the checkpoint of the log"
    assert folder.verify()[1].startswith("The export is intact: 8 events in 1 chain.\n")


def test_a_day(folder: Folder) -> None:
    case = export("a day")
    folder.put(case["lines"], case["jwks"])
    code, output, _ = folder.verify()
    assert code == 0
    assert f"\n  only day      {case['day']}\n" in output


def test_not_intact(folder: Folder) -> None:
    case = export("an event was changed")
    folder.put(case["lines"], case["jwks"])
    link = json.loads(case["lines"][case["line"] - 1])
    assert folder.verify() == (
        1,
        "NOT INTACT: the hash of the event is not the hash in its link\n"
        "  code          EVENT_CHANGED\n"
        f"  organization  {link['organizationId']}\n"
        f"  sequence      {link['sequence']}\n"
        f"  event         {link['eventId']}\n",
        "",
    )


def test_not_proven(folder: Folder) -> None:
    case = export("the last line of a day is not signed")
    folder.put(case["lines"], case["jwks"])
    code, output, _ = folder.verify()
    assert code == 1
    assert output.startswith("NOT PROVEN: the end of the export is not signed, so whole chains may")
    assert "the rest is intact, 3 events in 1 chain\n" in output


def test_a_missing_quorum_names_the_witnesses(folder: Folder) -> None:
    case = export("one of two witnesses has cosigned")
    folder.put(case["lines"], case["jwks"])
    code, output, _ = folder.verify(*options_of(case))
    assert code == 1
    assert output.startswith(
        "NOT INTACT: witnesses that must have cosigned the checkpoint of the instance log: "
        "1 more of witness.example/one\n  code          LOG_QUORUM_MISSING\n"
    )


def test_text_of_the_file_cannot_control_the_terminal(folder: Folder) -> None:
    case = export("one organization")
    name = json.dumps("\x1b[2J\u202e\ud800" + "x" * 200)
    folder.put([f'{{"kind":"export","version":2,{name}:1}}'], case["jwks"])
    code, output, _ = folder.verify()
    assert code == 1
    assert "has the field \\u{001b}[2J\\u{202e}\\u{d800}xxx" in output
    assert "x…, which an export does not have" in output


def test_keys_as_texts_or_files(folder: Folder, logged: Instance) -> None:
    folder.write("log.key", f"{LOG.text}\n")
    folder.write("both", f"# ours\n{ONE}\r\n\n{TWO} # theirs\n")
    folder.write("policy", f"{ONE} https://one.example\n{TWO} https://two.example\nquorum 1\n")
    for given in (["--witness", "both"], ["--witness", "policy"], BOTH[2:]):
        code, output, _ = folder.verify("--log-key", "log.key", *given)
        assert (code, output.count("witness.example/one, zeuge.example/zwei: 3")) == (0, 1)


def test_the_checkpoint_that_was_kept(folder: Folder) -> None:
    case = export("with its newest checkpoint")
    folder.put(case["lines"], case["jwks"])
    folder.write("checkpoint.json", f"{case['checkpoint']}\n")
    assert folder.verify("--checkpoint", "checkpoint.json")[0] == 0
    entry = json.loads(case["checkpoint"])
    folder.write("checkpoint.json", json.dumps({**entry, "inclusion": None}))
    code, output, _ = folder.verify("--checkpoint", "checkpoint.json")
    assert (code, "  code          EXTERNAL_CHECKPOINT_MISSING\n" in output) == (1, True)


def test_a_compressed_file(folder: Folder, logged: Instance) -> None:
    content = (folder.path / "export.jsonl").read_bytes()
    compressed = zstd.compress(content)
    folder.write("day.jsonl.zst", compressed)
    assert folder.verify(*BOTH, file="day.jsonl.zst")[0] == 0
    assert b"".join(audit_export_lines("day.jsonl.zst")) == content
    verify_audit_export(audit_export_lines("day.jsonl.zst"), jwks=logged.jwks)
    for broken in (compressed[:-20], compressed[:5], compressed + b"more"):
        folder.write("broken", broken)
        code, output, error = folder.verify(file="broken")
        assert (code, output) == (2, "")
        assert "countersign: broken is damaged or not complete: its Zstandard" in error


def test_a_line_without_an_end_does_not_fill_the_memory(folder: Folder) -> None:
    folder.write("jwks.json", '{"keys":[{"kid":"k"}]}')
    folder.write("bomb", zstd.compress(b" " * 40_000_000))
    assert len(next(audit_export_lines("bomb"))) == MAX_LINE_BYTES
    assert "EXPORT_LINE_INVALID" in folder.verify(file="bomb")[1]


def test_without_zstandard_the_error_says_what_to_install(
    folder: Folder, logged: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.write("day.jsonl.zst", zstd.compress(b"{}"))
    monkeypatch.setitem(sys.modules, zstd.__name__, None)
    code, output, error = folder.verify(file="day.jsonl.zst")
    assert (code, output) == (2, "")
    assert "day.jsonl.zst is compressed with Zstandard: use Python 3.14 or newer" in error
    assert "pip install backports.zstd" in error
    with pytest.raises(AuditFileError):
        next(audit_export_lines("day.jsonl.zst"))
    assert folder.verify()[0] == 0


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


@pytest.fixture
def served(folder: Folder) -> Iterator[str]:
    """The address at which a log is served, from the files of the folder."""
    handler = partial(Quiet, directory=str(folder.path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/log"
        server.shutdown()


def serve(folder: Folder, leaves: list[bytes]) -> None:
    folder.write("log/checkpoint", note_of(leaves))
    for path, content in tiles_of(leaves).items():
        folder.write(f"log/{path}", content)


def test_the_log_that_is_served(folder: Folder, logged: Instance, served: str) -> None:
    key, own = ("--log-key", LOG.text), logged.leaves
    grown = [*own, *(bytes([at]) * 32 for at in range(5))]
    folder.write("kept", note_of(grown[:4]))
    serve(folder, grown)
    assert folder.verify(*key, "--log-url", served)[0] == 0
    assert folder.verify(*key, "--log-url", f"{served}/", "--log-checkpoint", "kept")[0] == 0
    folder.write("kept", note_of(grown[::-1][:4]))
    code, output, _ = folder.verify(*key, "--log-url", served, "--log-checkpoint", "kept")
    assert (code, "its checkpoint of size 4 is not consistent with another" in output) == (1, True)
    serve(folder, grown[::-1])
    code, output, _ = folder.verify(*key, "--log-url", served)
    assert (code, "  code          LOG_FORKED\n" in output) == (1, True)
    serve(folder, own[:1])
    assert folder.verify(*key, "--log-url", served) == (
        1,
        "NOT INTACT: the instance log has 1 entries, and it had 2 before\n"
        "  code          LOG_SHORTENED\n",
        "",
    )
    serve(folder, grown)
    for path in folder.path.glob("log/tile/0/000.p/*"):
        path.write_bytes(b"x")
    assert "serves no tiles: a tile of 7 hashes" in folder.verify(*key, "--log-url", served)[2]
    folder.write("log/checkpoint", b"\xff")
    code, output, _ = folder.verify(*key, "--log-url", served)
    assert (code, "is not signed by its keys: at http://" in output) == (1, True)
    code, _, error = folder.verify(*key, "--log-url", f"{served}/elsewhere")
    assert (code, "answered 404" in error) == (2, True)
    code, _, error = folder.verify(*key, "--log-url", "http://127.0.0.1:1/log")
    assert (code, "cannot reach http://127.0.0.1:1/log" in error) == (2, True)


def test_the_checkpoint_of_the_log_that_was_kept(folder: Folder, logged: Instance) -> None:
    kept = ("--log-key", LOG.text, "--log-checkpoint", "kept")
    folder.write("kept", note_of(logged.leaves))
    assert folder.verify(*kept)[0] == 0
    folder.write("kept", note_of(logged.leaves[::-1]))
    code, output, _ = folder.verify(*kept)
    assert (code, "  code          LOG_FORKED\n" in output) == (1, True)
    folder.write("kept", note_of(logged.leaves[:1]))
    code, output, error = folder.verify(*kept)
    assert (code, output) == (2, "")
    assert "the log had 1 entries at the checkpoint of --log-checkpoint, and 2 at that" in error


@pytest.mark.parametrize(
    "given, problem",
    [
        (["--witness", ONE], "--witness needs --log-key: the verifier key of the log"),
        (["--log-url", "x"], "--log-url needs --log-key"),
        (["--log-key", LOG.text, "--quorum", "1"], "--quorum is a number from 1 to the number of"),
        ([*BOTH, "--quorum", "0"], "--quorum is a number from 1"),
        ([*BOTH, "--quorum", "3"], "the quorum is between 1 and the number of witnesses"),
        ([*BOTH, "--witness", ONE], "has the name or the public key of another witness"),
        (["--log-key", ONE], "the key has type 0x04, not 0x01"),
        (["--log-key", "missing"], "--log-key is neither a verifier key nor a file with one"),
        (["--log-key", LOG.text, "--witness", "empty", "--quorum", "1"], "a quorum needs witness"),
        (["--log-key", LOG.text, "--witness", "two-quorums"], "the quorum is one number from 1"),
        (["--log-key", LOG.text, "--witness", "words"], "a line has a verifier key and a URL, or"),
        (["--log-key", LOG.text, "--log-checkpoint", "empty"], "empty is not a checkpoint of the"),
        (["--log-key", LOG.text, "--log-checkpoint", "missing"], "cannot read the checkpoint of"),
        (["--log-key", LOG.text, "--log-url", "x"], "--log-url must be the address of the log"),
        (["--keys", "empty"], "empty is not a key set: it must hold the JSON that"),
        (["--keys", "missing"], "cannot read the keys of --keys"),
        (["--checkpoint", "words"], "words is not a checkpoint: it must hold one entry of GET"),
        (["--checkpoint", "missing"], "cannot read the checkpoint"),
    ],
)
def test_an_option_that_is_wrong(
    folder: Folder, logged: Instance, given: list[str], problem: str
) -> None:
    folder.write("empty", "")
    folder.write("words", "these are words\n")
    folder.write("two-quorums", f"{ONE}\nquorum 1\nquorum 1\n")
    code, output, error = folder.verify(*given)
    assert (code, output) == (2, "")
    assert error.startswith("countersign: ") and problem in error


def test_a_file_that_cannot_be_read(folder: Folder, logged: Instance) -> None:
    code, _, error = folder.verify(file="missing")
    assert (code, "cannot read the export: " in error) == (2, True)
    code, _, error = folder.verify(file=".")
    assert (code, ". is a folder; name the file that `countersign" in error) == (2, True)
    with pytest.raises(SystemExit) as usage:
        main(["audit", "verify", "export.jsonl"])
    assert usage.value.code == 2


def test_the_module_is_a_command(folder: Folder, logged: Instance) -> None:
    command = [sys.executable, "-m", "countersign", "audit", "verify", "export.jsonl"]
    run = subprocess.run([*command, "--keys", "jwks.json"], capture_output=True, timeout=60)
    assert run.stdout.startswith(b"The export is intact: 3 events in 1 chain.")
    assert (run.returncode, run.stderr) == (0, b"")


def test_an_error_has_its_line_and_how_much_was_verified(logged: Instance) -> None:
    lines = list(audit_export_lines("export.jsonl"))
    place = next(at for at, line in enumerate(lines) if b'"sequence":3' in line)
    lines[place] = lines[place].replace(b"token.issued", b"token.\xff")
    with pytest.raises(AuditExportError) as refusal:
        verify_audit_export(lines, jwks=logged.jwks)
    error = refusal.value
    assert (error.code, error.line) == ("EXPORT_LINE_INVALID", place + 1)
    assert (error.events, error.chains) == (2, 0)
    assert str(error) == f"line {place + 1}: a line of the export is not valid"
    assert error.organization_id == logged.organization_id
    with pytest.raises(TypeError, match="not one text"):
        verify_audit_export(lines[0], jwks=logged.jwks)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="jwks must be the key set"):
        verify_audit_export(lines, jwks={})
