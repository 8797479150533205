package main

import (
	"fmt"

	"golang.org/x/mod/sumdb/tlog"
)

// entry is the same as in support.ts.
func entry(index int64) []byte { return []byte(fmt.Sprintf("entry %d of the log", index)) }

// storedHashes are all hashes of a tree, in the order of tlog.StoredHashIndex.
type storedHashes []tlog.Hash

func (hashes storedHashes) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	found := make([]tlog.Hash, len(indexes))
	for at, index := range indexes {
		if index >= int64(len(hashes)) {
			return nil, fmt.Errorf("hash %d is not in the tree", index)
		}
		found[at] = hashes[index]
	}
	return found, nil
}

func buildTree(size int64) (storedHashes, error) {
	var hashes storedHashes
	for index := int64(0); index < size; index++ {
		added, err := tlog.StoredHashes(index, entry(index), hashes)
		if err != nil {
			return nil, err
		}
		hashes = append(hashes, added...)
	}
	return hashes, nil
}
