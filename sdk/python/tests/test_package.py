from importlib.metadata import distribution


def test_the_package_has_its_license() -> None:
    package = distribution("countersign-sdk")
    assert package.metadata["License-Expression"] == "Apache-2.0"
    assert "Apache License" in (package.read_text("licenses/LICENSE") or "")
