"""`python -m countersign audit verify FILE --keys JWKS`."""

import sys

from countersign.audit_command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
