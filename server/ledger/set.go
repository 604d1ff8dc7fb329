package ledger

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/teammem/teammem/api"
	"github.com/teammem/teammem/server/store"
)

// set is what the checksum of a repo is taken over: a homomorphic hash of the set
// of its (key, checksum) pairs, LtHash with 1,024 lanes of 16 bits (Lewi, Kim,
// Maykov, Weis: Securing Update Propagation with Homomorphic Hashing, 2019). Each
// pair is expanded to as many lanes, and the set is the sum of its pairs, lane by
// lane, modulo 2^16. The zero value is the empty set.
//
// A tree of buckets over key hashes would do as well for the wire. The sum won
// because it is one value in the repo's row instead of rows of its own to read,
// lock and write; it costs a PUT what the PUT carries and nothing for what the
// repo holds; it cannot depend on an order; and what one caller sees differently
// from another is a difference of sums.
//
// A pair is expanded by AES-256 in counter mode, from a key that is the SHA-256 of
// the pair: to whoever does not know two pairs with one SHA-256, the lanes of
// different pairs have nothing to do with each other, which is what the sum
// needs. The paper uses an extendable hash; processors have AES built in, and that
// takes less than half of the time (SHAKE128, measured in one run), which counts
// because what a PUT replaces is expanded under the repo's lock.
//
// How hard it is to make two sets with one checksum: about 2^200 steps for the
// sum, according to the paper, hence 2^128 for the whole, which is what SHA-256
// holds.
//
// The checksum is on the wire and the sum is in databases: neither may ever
// change.
type set [setBytes]byte

const (
	setLanes = 1024
	setBytes = 2 * setLanes
	// setDomain opens what is expanded, so that nothing else is ever expanded
	// to the same lanes.
	setDomain = "teammem set 1\x00"
)

// readSet reads a set as it is stored. Nothing stored is the empty set.
func readSet(stored []byte) (set, error) {
	switch len(stored) {
	case 0:
		return set{}, nil
	case setBytes:
		return set(stored), nil
	}
	return set{}, fmt.Errorf("set of %d bytes: %w", len(stored), store.ErrCorrupt)
}

// single is the set of one pair. Nearly all the work lies here, and none of it
// needs the repo: a PUT does it before the lock is taken. The checksum has a fixed
// length and stands in front of the key, so that no two pairs are hashed from the
// same bytes.
func single(key api.Key, sum api.Checksum) (s set) {
	raw := sum.Sum()
	pair := make([]byte, 0, 256)
	pair = append(pair, setDomain...)
	pair = append(pair, raw[:]...)
	pair = append(pair, key...)
	seed := sha256.Sum256(pair)
	block, err := aes.NewCipher(seed[:])
	if err != nil {
		panic(err) // of a key's length, which is that of a hash here
	}
	var from [aes.BlockSize]byte
	cipher.NewCTR(block, from[:]).XORKeyStream(s[:], s[:])
	return s
}

// add puts in the pairs of another set. The caller knows that none is there yet.
func (s *set) add(other *set) {
	for i := 0; i < setBytes; i += 2 {
		sum := binary.LittleEndian.Uint16(s[i:]) + binary.LittleEndian.Uint16(other[i:])
		binary.LittleEndian.PutUint16(s[i:], sum)
	}
}

// subtract takes out the pairs of another set. The caller knows that all are
// there.
func (s *set) subtract(other *set) {
	for i := 0; i < setBytes; i += 2 {
		rest := binary.LittleEndian.Uint16(s[i:]) - binary.LittleEndian.Uint16(other[i:])
		binary.LittleEndian.PutUint16(s[i:], rest)
	}
}

// checksum is the checksum of a repo that holds this set.
func (s *set) checksum() api.Checksum { return api.ChecksumFromSum(sha256.Sum256(s[:])) }

// checksumOf is the checksum of live rows from scratch.
func checksumOf(live []store.Row) api.Checksum {
	var whole set
	for _, row := range live {
		one := single(row.Key, row.Checksum)
		whole.add(&one)
	}
	return whole.checksum()
}

// ChecksumOf is the checksum that a repo has which holds these live rows.
func ChecksumOf(live []store.Row) api.Checksum { return checksumOf(live) }
