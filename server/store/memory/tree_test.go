package memory

import (
	"cmp"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A tree holds what a map would, in order, and no later tree changes an earlier.
func TestTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trees := []tree[int, int]{newTree[int, int](cmp.Compare)}
		want := []map[int]int{{}}
		for i, key := range rapid.SliceOf(rapid.IntRange(0, 40)).Draw(t, "keys") {
			trees = append(trees, trees[i].with(key, i))
			next := maps.Clone(want[i])
			next[key] = i
			want = append(want, next)
		}
		from := rapid.IntRange(-1, 41).Draw(t, "from")
		for i, tree := range trees {
			if got := maps.Collect(tree.all()); !maps.Equal(got, want[i]) {
				t.Fatalf("tree %d holds %v, want %v", i, got, want[i])
			}
			keys := slices.Sorted(maps.Keys(want[i]))
			first, _ := slices.BinarySearch(keys, from)
			var got []int
			for key := range tree.from(from) {
				got = append(got, key)
			}
			if !slices.Equal(got, keys[first:]) {
				t.Fatalf("tree %d from %d gives %v, want %v", i, from, got, keys[first:])
			}
			for key, value := range want[i] {
				if got, ok := tree.get(key); !ok || got != value {
					t.Fatalf("tree %d has %d at %d, want %d", i, got, key, value)
				}
			}
		}
	})
}

// It stays shallow whatever the order of keys.
func TestTreeIsBalanced(t *testing.T) {
	orders := map[string]func(i int) int{
		"rising":  func(i int) int { return i },
		"falling": func(i int) int { return -i },
		"mixed":   func(i int) int { return i * 7919 % 10_007 },
	}
	for name, order := range orders {
		tree := newTree[int, int](cmp.Compare)
		for i := range 10_000 {
			tree = tree.with(order(i), i)
		}
		// An AA tree of n entries is at most 2 log2(n+1) deep.
		if depth := tree.root.depth(); depth > 27 {
			t.Errorf("%s keys: %d deep", name, depth)
		}
	}
}

func (n *node[K, V]) depth() int {
	if n == nil {
		return 0
	}
	return 1 + max(n.left.depth(), n.right.depth())
}

func TestTreeWalkMayEndEarly(t *testing.T) {
	tree := newTree[int, int](cmp.Compare)
	for i := range 100 {
		tree = tree.with(i, i)
	}
	var got []int
	for key := range tree.from(40) {
		if key == 43 {
			break
		}
		got = append(got, key)
	}
	if !slices.Equal(got, []int{40, 41, 42}) {
		t.Errorf("got %v", got)
	}
}
