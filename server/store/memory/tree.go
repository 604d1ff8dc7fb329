package memory

import "iter"

// tree is a sorted map that is never changed: with makes another one and shares
// with it all nodes but those on the way to the new entry. It is an AA tree (Arne
// Andersson, Balanced Search Trees Made Simple, 1993). Nothing is ever taken out:
// the contract deletes no row, and a body that is erased leaves an empty place.
type tree[K, V any] struct {
	root    *node[K, V]
	compare func(a, b K) int
}

type node[K, V any] struct {
	key         K
	value       V
	level       int
	left, right *node[K, V]
}

func newTree[K, V any](compare func(a, b K) int) tree[K, V] {
	return tree[K, V]{compare: compare}
}

// get finds an entry.
func (t tree[K, V]) get(key K) (value V, ok bool) {
	for n := t.root; n != nil; {
		switch c := t.compare(key, n.key); {
		case c < 0:
			n = n.left
		case c > 0:
			n = n.right
		default:
			return n.value, true
		}
	}
	return value, false
}

// with is the tree with one entry put in or replaced.
func (t tree[K, V]) with(key K, value V) tree[K, V] {
	t.root = t.insert(t.root, key, value)
	return t
}

func (t tree[K, V]) insert(n *node[K, V], key K, value V) *node[K, V] {
	if n == nil {
		return &node[K, V]{key: key, value: value, level: 1}
	}
	fresh := *n
	switch c := t.compare(key, n.key); {
	case c < 0:
		fresh.left = t.insert(n.left, key, value)
	case c > 0:
		fresh.right = t.insert(n.right, key, value)
	default:
		fresh.value = value
	}
	return fresh.skew().split()
}

// skew turns a left child of the node's own level into its parent. The node is
// fresh; the child may be shared and is copied.
func (n *node[K, V]) skew() *node[K, V] {
	if n.left == nil || n.left.level != n.level {
		return n
	}
	top := *n.left
	n.left, top.right = top.right, n
	return &top
}

// split lifts the middle one of three nodes of one level.
func (n *node[K, V]) split() *node[K, V] {
	if n.right == nil || n.right.right == nil || n.right.right.level != n.level {
		return n
	}
	top := *n.right
	n.right, top.left = top.left, n
	top.level++
	return &top
}

// from gives the entries from a key on, in order.
func (t tree[K, V]) from(key K) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		t.root.walk(func(k K) bool { return t.compare(k, key) < 0 }, yield)
	}
}

// all gives the entries in order.
func (t tree[K, V]) all() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		t.root.walk(func(K) bool { return false }, yield)
	}
}

// walk visits in order and passes over what lies before the beginning; before
// holds for keys up to some place only.
func (n *node[K, V]) walk(before func(K) bool, yield func(K, V) bool) bool {
	if n == nil {
		return true
	}
	if before(n.key) {
		return n.right.walk(before, yield)
	}
	return n.left.walk(before, yield) && yield(n.key, n.value) && n.right.walk(before, yield)
}
