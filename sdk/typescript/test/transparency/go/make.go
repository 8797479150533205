package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/transparency-dev/formats/log"
	fnote "github.com/transparency-dev/formats/note"
	"github.com/transparency-dev/tessera/api/layout"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

const tileHeight = 8

type vectors struct {
	LogKey    string       `json:"logKey"`
	Witnesses []string     `json:"witnesses"`
	Trees     []treeVector `json:"trees"`
	Paths     []pathVector `json:"paths"`
}

type treeVector struct {
	Size int64  `json:"size"`
	Root string `json:"root"`
	// Checkpoint is signed by the log and both witnesses; one of them also by a key that is not in the list.
	Checkpoint string `json:"checkpoint"`
	// TilesHash is over a line with path and SHA-256 for each tile.
	TilesHash string `json:"tilesHash"`
	// Tiles are of small trees only.
	Tiles       map[string]string   `json:"tiles,omitempty"`
	Inclusion   []inclusionVector   `json:"inclusion"`
	Consistency []consistencyVector `json:"consistency"`
}

type inclusionVector struct {
	Index int64    `json:"index"`
	Proof []string `json:"proof"`
}

type consistencyVector struct {
	OldSize int64    `json:"oldSize"`
	OldRoot string   `json:"oldRoot"`
	Proof   []string `json:"proof"`
}

type pathVector struct {
	// Level is -1 for entries.
	Level int    `json:"level"`
	Index int64  `json:"index"`
	Width int    `json:"width"`
	Path  string `json:"path"`
}

const logName = "log.example.com:8443/log"

var witnessNames = []string{"witness.example/w1", "zeuge.example/ärger"}

// signerKey makes the key of note.GenerateKey from a seed, so that vectors stay the same.
func signerKey(name string, seed byte) (skey, vkey string, err error) {
	return note.GenerateKey(bytes.NewReader(bytes.Repeat([]byte{seed}, 64)), name)
}

func makeVectors() (*vectors, error) {
	logSkey, logVkey, err := signerKey(logName, 1)
	if err != nil {
		return nil, err
	}
	logSigner, err := note.NewSigner(logSkey)
	if err != nil {
		return nil, err
	}
	signers := []note.Signer{logSigner}
	made := &vectors{LogKey: logVkey}
	for at, name := range witnessNames {
		skey, vkey, err := signerKey(name, byte(2+at))
		if err != nil {
			return nil, err
		}
		signer, err := fnote.NewSignerForCosignatureV1(skey)
		if err != nil {
			return nil, err
		}
		witnessVkey, err := fnote.VKeyToCosignatureV1(vkey)
		if err != nil {
			return nil, err
		}
		signers = append(signers, signer)
		made.Witnesses = append(made.Witnesses, witnessVkey)
	}
	otherSkey, _, err := fnote.GenerateMLDSAKey("other.example/post-quantum")
	if err != nil {
		return nil, err
	}
	other, err := fnote.NewSignerForCosignatureV1(otherSkey)
	if err != nil {
		return nil, err
	}
	for _, size := range []int64{0, 1, 2, 3, 7, 256, 257, 600, 65_537, 70_000} {
		by := signers
		if size == 7 {
			by = append(by, other)
		}
		vector, err := makeTree(size, by)
		if err != nil {
			return nil, fmt.Errorf("size %d: %w", size, err)
		}
		made.Trees = append(made.Trees, *vector)
	}
	made.Paths, err = makePaths()
	return made, err
}

func makeTree(size int64, signers []note.Signer) (*treeVector, error) {
	hashes, err := buildTree(size)
	if err != nil {
		return nil, err
	}
	root, err := tlog.TreeHash(size, hashes)
	if err != nil {
		return nil, err
	}
	text := log.Checkpoint{Origin: logName, Size: uint64(size), Hash: root[:]}.Marshal()
	checkpoint, err := note.Sign(&note.Note{Text: string(text)}, signers...)
	if err != nil {
		return nil, err
	}
	made := &treeVector{
		Size:        size,
		Root:        hex.EncodeToString(root[:]),
		Checkpoint:  string(checkpoint),
		Inclusion:   []inclusionVector{},
		Consistency: []consistencyVector{},
	}
	if made.TilesHash, made.Tiles, err = makeTiles(size, hashes); err != nil {
		return nil, err
	}
	for _, index := range []int64{0, 2, 255, 256, size - 1} {
		if index < 0 || index >= size {
			continue
		}
		proof, err := tlog.ProveRecord(size, index, hashes)
		if err != nil {
			return nil, err
		}
		made.Inclusion = append(made.Inclusion, inclusionVector{index, texts(proof)})
	}
	for _, oldSize := range []int64{1, 3, 4, 256, 300, 65_536, size} {
		if oldSize < 1 || oldSize > size {
			continue
		}
		oldRoot, err := tlog.TreeHash(oldSize, hashes)
		if err != nil {
			return nil, err
		}
		proof, err := tlog.ProveTree(size, oldSize, hashes)
		if err != nil {
			return nil, err
		}
		made.Consistency = append(made.Consistency,
			consistencyVector{oldSize, hex.EncodeToString(oldRoot[:]), texts(proof)})
	}
	return made, nil
}

func makeTiles(size int64, hashes storedHashes) (digest string, tiles map[string]string, err error) {
	var lines strings.Builder
	tiles = map[string]string{}
	for _, tile := range tlog.NewTiles(tileHeight, 0, size) {
		data, err := tlog.ReadTileData(tile, hashes)
		if err != nil {
			return "", nil, err
		}
		path := pathOf(tile)
		fmt.Fprintf(&lines, "%s %x\n", path, sha256.Sum256(data))
		if size == 7 || size == 257 {
			tiles[path] = base64.StdEncoding.EncodeToString(data)
		}
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(lines.String()))), tiles, nil
}

// pathOf is the path of C2SP: without the height, and with another word for entries.
func pathOf(tile tlog.Tile) string {
	path := strings.Replace(tile.Path(), fmt.Sprintf("tile/%d/", tileHeight), "tile/", 1)
	return strings.Replace(path, "tile/data/", "tile/entries/", 1)
}

func makePaths() ([]pathVector, error) {
	var paths []pathVector
	for _, level := range []int{-1, 0, 10, 63} {
		for _, index := range []int64{0, 67, 999, 1000, 1_234_067, 1_000_000_000, 35_184_372_088_830} {
			for _, width := range []int{1, 255, 256} {
				path := pathOf(tlog.Tile{H: tileHeight, L: level, N: index, W: width})
				// The uint8 of a full tile is 0.
				other := layout.EntriesPath(uint64(index), uint8(width))
				if level >= 0 {
					other = layout.TilePath(uint64(level), uint64(index), uint8(width))
				}
				if path != other {
					return nil, fmt.Errorf("two Go libraries disagree: %s, %s", path, other)
				}
				paths = append(paths, pathVector{level, index, width, path})
			}
		}
	}
	return paths, nil
}

func texts(hashes []tlog.Hash) []string {
	list := []string{}
	for _, hash := range hashes {
		list = append(list, hex.EncodeToString(hash[:]))
	}
	return list
}
