package ledger

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/teammem/teammem/api"
)

// pair is one member of a set.
type pair struct {
	key api.Key
	sum api.Checksum
}

func setOf(pairs ...pair) set {
	var s set
	for _, p := range pairs {
		one := single(p.key, p.sum)
		s.add(&one)
	}
	return s
}

func somePairs() *rapid.Generator[[]pair] {
	one := rapid.Custom(func(t *rapid.T) pair {
		return pair{
			key: api.Key(rapid.StringN(1, 12, -1).Draw(t, "key")),
			sum: api.ChecksumOf(rapid.SliceOfN(rapid.Byte(), 0, 3).Draw(t, "content")),
		}
	})
	return rapid.SliceOfNDistinct(one, 0, 20, func(p pair) api.Key { return p.key })
}

// The values below are on the wire and in databases. A change that breaks this
// test breaks every client's and every server's memory of what it has seen.
func TestSetChecksumsNeverChange(t *testing.T) {
	hello := api.ChecksumOf([]byte("hello\n"))
	cases := []struct {
		name  string
		pairs []pair
		want  api.Checksum
	}{
		{"empty", nil, "sha256:e5a00aa9991ac8a5ee3109844d84a55583bd20572ad3ffcd42792f3c36b183ad"},
		{"one", []pair{{"MEMORY.md", hello}}, "sha256:cac380382557e77d5ec10aa8cb2b4a1bfce8e35a1a254a2e8f130eb8a1d8bc74"},
		{"three", []pair{
			{"MEMORY.md", hello},
			{"notes/caf\u00e9.md", api.ChecksumOf(nil)},
			{"notes/today.md", hello},
		}, "sha256:cd7310e593634a39013c1f358bf52f86bea8263c24b3a6f999c8e053723d337a"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := setOf(c.pairs...)
			if got := s.checksum(); got != c.want {
				t.Errorf("checksum is %s, want %s", got, c.want)
			}
		})
	}
}

func TestSetKnowsNoOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pairs := somePairs().Draw(t, "pairs")
		shuffled := rapid.Permutation(pairs).Draw(t, "shuffled")
		if setOf(pairs...) != setOf(shuffled...) {
			t.Error("another order made another set")
		}
	})
}

func TestSetForgetsWhatWasTakenOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pairs := somePairs().Draw(t, "pairs")
		keep := rapid.IntRange(0, len(pairs)).Draw(t, "keep")
		s := setOf(rapid.Permutation(pairs).Draw(t, "order")...)
		for _, p := range pairs[keep:] {
			one := single(p.key, p.sum)
			s.subtract(&one)
		}
		if s != setOf(pairs[:keep]...) {
			t.Error("a set with pairs taken out differs from one that never had them")
		}
		again, err := readSet(s[:])
		if err != nil || again != s {
			t.Errorf("a set does not come back from its stored form: %v", err)
		}
	})
}

// The key and the checksum must not run into each other, and each must count.
func TestSetTellsPairsApart(t *testing.T) {
	x, y := api.ChecksumOf([]byte("x")), api.ChecksumOf([]byte("y"))
	sets := map[string]set{
		"nothing":       {},
		"a=x":           setOf(pair{"a", x}),
		"a=y":           setOf(pair{"a", y}),
		"b=x":           setOf(pair{"b", x}),
		"ab=x":          setOf(pair{"ab", x}),
		"a=x, b=y":      setOf(pair{"a", x}, pair{"b", y}),
		"a=y, b=x":      setOf(pair{"a", y}, pair{"b", x}),
		"a=x, b=x":      setOf(pair{"a", x}, pair{"b", x}),
		"a=x, b=x, c=x": setOf(pair{"a", x}, pair{"b", x}, pair{"c", x}),
	}
	seen := map[api.Checksum]string{}
	for name, s := range sets {
		if other, ok := seen[s.checksum()]; ok {
			t.Errorf("{%s} and {%s} have one checksum", name, other)
		}
		seen[s.checksum()] = name
	}
}

func TestSetOfAnotherLengthIsCorrupt(t *testing.T) {
	for _, n := range []int{1, setBytes - 1, setBytes + 1} {
		if _, err := readSet(make([]byte, n)); err == nil {
			t.Errorf("a set of %d bytes was read", n)
		}
	}
}

func BenchmarkSetAdd(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	pairs := make([]pair, 1000)
	for i := range pairs {
		pairs[i] = pair{api.Key(fmt.Sprintf("notes/project_%d.md", random.Uint32())), api.ChecksumOf(fmt.Append(nil, i))}
	}
	var s set
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		p := pairs[i%len(pairs)]
		one := single(p.key, p.sum)
		s.add(&one)
	}
}
