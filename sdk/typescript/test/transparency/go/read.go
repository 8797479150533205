package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/transparency-dev/formats/log"
	fnote "github.com/transparency-dev/formats/note"
	"github.com/transparency-dev/tessera/api"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// madeLog is a log that the TypeScript code made.
type madeLog struct {
	LogKey     string            `json:"logKey"`
	Witnesses  []string          `json:"witnesses"`
	Checkpoint string            `json:"checkpoint"`
	Times      []int64           `json:"times"`
	Tiles      map[string][]byte `json:"tiles"`
	// Bundles has each entry bundle by its path.
	Bundles     map[string][]byte   `json:"bundles"`
	Inclusion   []inclusionVector   `json:"inclusion"`
	Consistency []consistencyVector `json:"consistency"`
}

func readLog(made madeLog) error {
	checkpoint, err := readCheckpoint(made)
	if err != nil {
		return err
	}
	size := int64(checkpoint.Size)
	tree := tlog.Tree{N: size, Hash: tlog.Hash(checkpoint.Hash)}
	reader := tlog.TileHashReader(tree, tileReader(made.Tiles))
	if err := readTiles(made, size, reader); err != nil {
		return err
	}
	if err := readProofs(made, tree, reader); err != nil {
		return err
	}
	fmt.Printf("%d tiles, %d bundles, %d inclusion and %d consistency proofs\n",
		len(made.Tiles), len(made.Bundles), len(made.Inclusion), len(made.Consistency))
	return nil
}

func readCheckpoint(made madeLog) (*log.Checkpoint, error) {
	checkpoint, times, err := openCheckpoint([]byte(made.Checkpoint), made.LogKey, made.Witnesses)
	if err != nil {
		return nil, err
	}
	for at, cosigned := range times {
		if !cosigned.Equal(time.Unix(made.Times[at], 0)) {
			return nil, fmt.Errorf("%s cosigned at %v", made.Witnesses[at], cosigned)
		}
	}
	fmt.Printf("checkpoint of %s, size %d, %d cosignatures\n", checkpoint.Origin, checkpoint.Size, len(times))
	return checkpoint, nil
}

// openCheckpoint requires the signatures of the log and of all witnesses, and no other. It returns the times of the cosignatures.
func openCheckpoint(text []byte, logKey string, witnessKeys []string) (*log.Checkpoint, []time.Time, error) {
	logVerifier, err := note.NewVerifier(logKey)
	if err != nil {
		return nil, nil, err
	}
	var witnesses []note.Verifier
	for _, vkey := range witnessKeys {
		verifier, err := fnote.NewVerifierForCosignatureV1(vkey)
		if err != nil {
			return nil, nil, err
		}
		witnesses = append(witnesses, verifier)
	}
	checkpoint, rest, opened, err := log.ParseCheckpoint(text, logVerifier.Name(), logVerifier, witnesses...)
	if err != nil {
		return nil, nil, err
	}
	if len(rest) != 0 {
		return nil, nil, fmt.Errorf("extension lines: %q", rest)
	}
	if len(opened.Sigs) != 1+len(witnesses) || len(opened.UnverifiedSigs) != 0 {
		return nil, nil, fmt.Errorf("%d verified and %d other signatures", len(opened.Sigs), len(opened.UnverifiedSigs))
	}
	var times []time.Time
	for _, signature := range opened.Sigs[1:] {
		cosigned, err := fnote.CoSigV1Timestamp(signature)
		if err != nil {
			return nil, nil, err
		}
		times = append(times, cosigned)
	}
	return checkpoint, times, nil
}

// openRunning prints origin, size, root and the times of the cosignatures, one per line.
func openRunning(url, logKey string, witnessKeys []string) error {
	response, err := http.Get(url)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", response.Status, text)
	}
	checkpoint, times, err := openCheckpoint(text, logKey, witnessKeys)
	if err != nil {
		return err
	}
	fmt.Printf("%s\n%d\n%x\n", checkpoint.Origin, checkpoint.Size, checkpoint.Hash)
	for _, cosigned := range times {
		fmt.Println(cosigned.UTC().Format(time.RFC3339))
	}
	return nil
}

// tileReader gives tlog the tiles by their paths.
type tileReader map[string][]byte

func (tiles tileReader) Height() int { return tileHeight }

func (tiles tileReader) SaveTiles([]tlog.Tile, [][]byte) {}

func (tiles tileReader) ReadTiles(wanted []tlog.Tile) ([][]byte, error) {
	var found [][]byte
	for _, tile := range wanted {
		data, ok := tiles[pathOf(tile)]
		if !ok {
			return nil, fmt.Errorf("no tile %s", pathOf(tile))
		}
		found = append(found, data)
	}
	return found, nil
}

// readTiles compares each tile with the hashes that tlog computes from the entries, and authenticates each leaf hash by the root.
func readTiles(made madeLog, size int64, reader tlog.HashReader) error {
	tiles := tlog.NewTiles(tileHeight, 0, size)
	if len(tiles) != len(made.Tiles) {
		return fmt.Errorf("%d tiles, not %d", len(made.Tiles), len(tiles))
	}
	var entries [][]byte
	for _, tile := range tiles {
		if tile.L != 0 {
			continue
		}
		bundle := api.EntryBundle{}
		path := pathOf(tlog.Tile{H: tile.H, L: -1, N: tile.N, W: tile.W})
		if err := bundle.UnmarshalText(made.Bundles[path]); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if len(bundle.Entries) != tile.W {
			return fmt.Errorf("%s has %d entries", path, len(bundle.Entries))
		}
		entries = append(entries, bundle.Entries...)
	}
	var hashes storedHashes
	for index, data := range entries {
		added, err := tlog.StoredHashes(int64(index), data, hashes)
		if err != nil {
			return err
		}
		hashes = append(hashes, added...)
		proven, err := reader.ReadHashes([]int64{tlog.StoredHashIndex(0, int64(index))})
		if err != nil {
			return err
		}
		if proven[0] != tlog.RecordHash(data) {
			return fmt.Errorf("entry %d is not in the tree", index)
		}
	}
	for _, tile := range tiles {
		data, err := tlog.ReadTileData(tile, hashes)
		if err != nil {
			return err
		}
		if !bytes.Equal(data, made.Tiles[pathOf(tile)]) {
			return fmt.Errorf("%s differs (%x)", pathOf(tile), sha256.Sum256(data))
		}
	}
	return nil
}

func readProofs(made madeLog, tree tlog.Tree, reader tlog.HashReader) error {
	for _, each := range made.Inclusion {
		leaf, err := reader.ReadHashes([]int64{tlog.StoredHashIndex(0, each.Index)})
		if err != nil {
			return err
		}
		proof, err := hashesOf(each.Proof)
		if err != nil {
			return err
		}
		if err := tlog.CheckRecord(proof, tree.N, tree.Hash, each.Index, leaf[0]); err != nil {
			return fmt.Errorf("inclusion of %d: %w", each.Index, err)
		}
	}
	for _, each := range made.Consistency {
		proof, err := hashesOf(append([]string{each.OldRoot}, each.Proof...))
		if err != nil {
			return err
		}
		if err := tlog.CheckTree(proof[1:], tree.N, tree.Hash, each.OldSize, proof[0]); err != nil {
			return fmt.Errorf("consistency with %d: %w", each.OldSize, err)
		}
	}
	return nil
}

func hashesOf(texts []string) ([]tlog.Hash, error) {
	hashes := []tlog.Hash{}
	for _, text := range texts {
		data, err := hex.DecodeString(text)
		if err != nil || len(data) != tlog.HashSize {
			return nil, fmt.Errorf("not a hash: %s", text)
		}
		hashes = append(hashes, tlog.Hash(data))
	}
	return hashes, nil
}
