// Formats of transparency logs as golang.org/x/mod, transparency-dev/formats and transparency-dev/tessera have them, to compare
// with sdk/typescript/src/transparency.
//
//	go run . make          prints values that the TypeScript code must read, as JSON
//	go run . read < FILE   verifies values that the TypeScript code made
//	go run . open URL LOG_KEY [WITNESS_KEY…]
//	                       reads the checkpoint of a running log, and requires the signatures of these keys
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) >= 3 && args[0] == "open" {
		return openRunning(args[1], args[2], args[3:])
	}
	if len(args) != 1 {
		return fmt.Errorf("usage: go run . make|read|open URL LOG_KEY [WITNESS_KEY…]")
	}
	switch args[0] {
	case "make":
		vectors, err := makeVectors()
		if err != nil {
			return err
		}
		encoder := json.NewEncoder(os.Stdout)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		return encoder.Encode(vectors)
	case "read":
		var log madeLog
		decoder := json.NewDecoder(os.Stdin)
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&log); err != nil {
			return err
		}
		return readLog(log)
	default:
		return fmt.Errorf("unknown command %q", args[0])
	}
}
