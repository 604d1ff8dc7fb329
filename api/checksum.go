package api

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// Checksum is "sha256:" and 64 lower-case hex digits. Of an entry it is taken
// over the content's UTF-8 bytes exactly as decoded from JSON; nothing is
// normalised before. Of a whole repo it is opaque to clients. The zero value
// means "nothing there".
type Checksum string

// ChecksumPrefix opens every checksum.
const ChecksumPrefix = "sha256:"

// ChecksumLen is the length of a checksum in bytes.
const ChecksumLen = len(ChecksumPrefix) + 2*sha256.Size

// ChecksumOf is the checksum of one entry's content.
func ChecksumOf(content []byte) Checksum { return ChecksumFromSum(sha256.Sum256(content)) }

// ChecksumOfString is [ChecksumOf] without a copy of the content.
func ChecksumOfString(content string) Checksum {
	h := sha256.New()
	_, _ = h.Write([]byte(content))
	var sum [sha256.Size]byte
	return ChecksumFromSum([sha256.Size]byte(h.Sum(sum[:0])))
}

// ChecksumFromSum spells a raw SHA-256 sum.
func ChecksumFromSum(sum [sha256.Size]byte) Checksum {
	var b [ChecksumLen]byte
	copy(b[:], ChecksumPrefix)
	hex.Encode(b[len(ChecksumPrefix):], sum[:])
	return Checksum(b[:])
}

// ParseChecksum reads a checksum in its one spelling. Entity tags, which come
// back damaged by proxies, are read by [ParseTags] instead.
func ParseChecksum(s string) (Checksum, error) {
	digits, ok := strings.CutPrefix(s, ChecksumPrefix)
	if !ok || len(digits) != 2*sha256.Size || !isLowerHex(digits) {
		return "", fmt.Errorf("not a checksum: want sha256: and %d lower-case hex digits", 2*sha256.Size)
	}
	return Checksum(s), nil
}

// Sum is the raw SHA-256 sum. It is all zero for a checksum that [ParseChecksum]
// would refuse.
func (c Checksum) Sum() (sum [sha256.Size]byte) {
	if len(c) == ChecksumLen {
		_, _ = hex.Decode(sum[:], []byte(c[len(ChecksumPrefix):]))
	}
	return sum
}

// Short is the first eight hex digits, for people.
func (c Checksum) Short() string {
	if len(c) < len(ChecksumPrefix)+8 {
		return string(c)
	}
	return string(c[len(ChecksumPrefix) : len(ChecksumPrefix)+8])
}

// ETag is the checksum as a strong entity tag, quoted.
func (c Checksum) ETag() string { return `"` + string(c) + `"` }

func isLowerHex(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
