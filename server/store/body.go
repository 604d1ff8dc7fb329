package store

import (
	"crypto/sha256"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"github.com/teammem/teammem/api"
)

// Body is one content as it is stored: packed by zstd where that makes it
// smaller. Stores keep the fields as they are.
type Body struct {
	Checksum api.Checksum
	Size     int // of the content, unpacked
	Coding   Coding
	Data     []byte
}

// Coding says how a Body's Data is packed.
type Coding int16

// The codings. Their numbers are in databases: never change one.
const (
	Plain Coding = 0
	Zstd  Coding = 1
)

// maxUnpacked bounds what a damaged or hostile frame can make the reader
// allocate.
const maxUnpacked = 64 << 20

// Both are safe for concurrent use.
var (
	packer, _   = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false))
	unpacker, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxUnpacked))
)

// Pack makes the stored form of a content. sum is its checksum; Pack trusts it.
func Pack(sum api.Checksum, content []byte) *Body {
	body := &Body{Checksum: sum, Size: len(content), Coding: Plain, Data: content}
	if packed := packer.EncodeAll(content, nil); len(packed) < len(content) {
		body.Coding, body.Data = Zstd, packed
	}
	return body
}

// Unpack gives the content of one of the bodies found, and [ErrCorrupt] when it
// is not among them: a row that names it stands, so it should be.
func Unpack(found map[api.Checksum]*Body, sum api.Checksum) ([]byte, error) {
	body, ok := found[sum]
	if !ok {
		return nil, fmt.Errorf("body %s is missing: %w", sum.Short(), ErrCorrupt)
	}
	return body.Unpack()
}

// Unpack gives the content back, and [ErrCorrupt] when it is not the content
// that its checksum names.
func (b *Body) Unpack() ([]byte, error) {
	content := b.Data
	switch b.Coding {
	case Plain:
	case Zstd:
		var err error
		if content, err = unpacker.DecodeAll(b.Data, make([]byte, 0, b.Size)); err != nil {
			return nil, fmt.Errorf("body %s: %w", b.Checksum.Short(), ErrCorrupt)
		}
	default:
		return nil, fmt.Errorf("body %s has coding %d: %w", b.Checksum.Short(), b.Coding, ErrCorrupt)
	}
	if api.ChecksumFromSum(sha256.Sum256(content)) != b.Checksum {
		return nil, fmt.Errorf("body %s: %w", b.Checksum.Short(), ErrCorrupt)
	}
	return content, nil
}
