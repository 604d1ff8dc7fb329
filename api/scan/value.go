package scan

import (
	"bytes"
	"math"
	"regexp"
	"strings"
	"sync"
)

// valueRule says when a value that matched is none after all. All of it looks at
// the whole value, never at the name before it or at a part (BR-30).
type valueRule struct {
	allow *allowed
	words *wordSet
	// needsDigit: words of letters alone are prose.
	needsDigit bool
	// unlessName: no names made of short words (tm_open_connection).
	unlessName bool
	// unlessIdentifier: no UUIDs, and no digests where the text says digest.
	unlessIdentifier bool
	// unlessTemplate: no variables, calls or fields to fill in.
	unlessTemplate bool
	// unlessNumber: no port numbers.
	unlessNumber bool
	// unlessUser: no password that is the user's name again (postgres:postgres@).
	unlessUser bool
	// likePassword: digits, symbols or capitals inside.
	likePassword bool
	// keyOnly: counts in the key, not in the content.
	keyOnly bool
	// mailbox: a name stands before the @, and it is not a machine's.
	mailbox bool
}

// allowed is a list of expressions, compiled when first asked.
type allowed struct {
	patterns []string
	once     sync.Once
	whole    []*regexp.Regexp
}

// sampleValues are values that documentation prints.
var sampleValues = &allowed{patterns: []string{
	`[0-9A-Za-z/+_-]+EXAMPLE(?:KEY)?`, // AWS
	`[xX*.#_-]+`,
}}

// covers reports whether one of the expressions matches all of the value.
func (a *allowed) covers(value []byte) bool {
	if a == nil {
		return false
	}
	a.once.Do(func() {
		for _, p := range a.patterns {
			a.whole = append(a.whole, regexp.MustCompile(`\A(?:`+p+`)\z`))
		}
	})
	for _, re := range a.whole {
		if re.Match(value) {
			return true
		}
	}
	return false
}

// wordSet is a set of stop words, lower case, read when first asked.
type wordSet struct {
	list   func() []string
	once   sync.Once
	words  map[string]bool
	starts map[string]bool // their first letters, so that most places cost one look
}

// Words shorter than this are met in random values too often.
const (
	shortestWord = 4
	longestWord  = 40
)

func newWordSet(words ...string) *wordSet {
	return &wordSet{list: func() []string { return words }}
}

func (s *wordSet) read() {
	s.words, s.starts = map[string]bool{}, map[string]bool{}
	for _, w := range s.list() {
		w = strings.Trim(strings.ToLower(w), "-_. ")
		if len(w) >= shortestWord && len(w) <= longestWord {
			s.words[w], s.starts[w[:shortestWord]] = true, true
		}
	}
}

// longestAt is the length of the longest word at the beginning of text, or 0.
func (s *wordSet) longestAt(text []byte) int {
	s.once.Do(s.read)
	if len(text) < shortestWord || !s.starts[string(text[:shortestWord])] {
		return 0
	}
	for n := min(len(text), longestWord); n >= shortestWord; n-- {
		if s.words[string(text[:n])] {
			return n
		}
	}
	return 0
}

// placeholderWords are what people write where a value would stand.
var placeholderWords = newWordSet(
	"example", "sample", "placeholder", "dummy", "fake", "test", "testing", "your", "here", "token",
	"secret", "password", "passwd", "pass", "user", "username", "changeme", "change", "replace",
	"insert", "redacted", "removed", "hidden", "value", "none", "null", "true", "false", "string",
	"postgres", "postgresql", "mysql", "root", "admin", "guest", "default", "local", "localhost",
	"letmein", "hunter2", "qwerty", "foobar", "minioadmin", "rabbitmq", "mongo", "redis", "access",
	"apikey", "credential", "credentials", "database", "host", "port", "name", "demo", "develop",
	"development", "production", "staging", "swordfish", "todo", "fixme", "masked", "this", "some",
)

// placeholder reports whether the value is made of words, sequences and
// repetitions, but for a fifth of it at most. A stop word inside of a random value
// covers a small part of it and says nothing.
func placeholder(value []byte, words *wordSet) bool {
	lower := bytes.ToLower(value)
	open, total := 0, 0
	for i := 0; i < len(lower) && open*5 <= len(lower); {
		c := lower[i]
		if !isAlnum(c) && c < 0x80 {
			i++
			continue
		}
		n := max(sequence(lower[i:]), words.longestAt(lower[i:]), placeholderWords.longestAt(lower[i:]))
		if n == 0 {
			open, total, i = open+1, total+1, i+1
			continue
		}
		total, i = total+n, i+n
	}
	return open*5 <= total
}

// sequence is the length of a run of equal, rising or falling characters at the
// beginning, or 0 when it is shorter than four.
func sequence(s []byte) int {
	for _, step := range []int{0, 1, -1} {
		n := 1
		for n < len(s) && isAlnum(s[n]) && (int(s[n])-int(s[n-1]) == step || step == 1 && s[n-1] == '9' && (s[n] == '0' || s[n] == 'a')) {
			n++
		}
		if n >= 4 {
			return n
		}
	}
	return 0
}

// late compiles a pattern when it is first needed: a program that scans nothing should
// not pay for it at its start.
func late(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

var (
	uuid     = late(`\A[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\z`)
	digest   = late(`\A(?:[0-9a-f]{7,12}|[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{56}|[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128})\z`)
	digested = late(`(?i)sha-?\d|md5|digest|checksum|commit|revision|etag|hash|integrity|blake`)
	// ulid is one made since 2004 and before 2106.
	ulid     = late(`\A0[01][0-9A-HJKMNP-TV-Z]{24}\z`)
	date     = late(`\A[0-9:.T/-]+Z?\z`)
	template = late(`[<>{}\[\]()]|\A[$%]|\$[A-Za-z{(]|\.\.\.|…|::|\A[*•.xX#_-]+\z`)
)

// excused reports whether the value is none. before is the text ahead of it.
func (v *valueRule) excused(value, before []byte) bool {
	switch {
	case v.needsDigit && !hasDigit(value),
		v.unlessName && isName(value),
		v.unlessNumber && len(value) <= 5 && !bytes.ContainsFunc(value, func(r rune) bool { return !isDigit(r) }),
		v.unlessTemplate && template().Match(value),
		v.unlessIdentifier && identifier(value, before),
		v.unlessUser && isUserAgain(value, before),
		v.likePassword && !likePassword(value),
		v.mailbox && !isMailbox(value, before),
		v.allow.covers(value):
		return true
	}
	return v.words != nil && placeholder(value, v.words)
}

// identifier knows values that name something and open nothing.
func identifier(value, before []byte) bool {
	if uuid().Match(value) || ulid().Match(value) || date().Match(value) {
		return true
	}
	const near = 60
	return digest().Match(value) && digested().Match(before[max(0, len(before)-near):])
}

// isName: words of letters alone, none of them as long as the random part of a token.
func isName(value []byte) bool {
	const shortestRandom = 24
	word := 0
	for _, c := range value {
		switch {
		case c >= '0' && c <= '9':
			return false
		case c == '_' || c == '-':
			word = 0
		default:
			if word++; word >= shortestRandom {
				return false
			}
		}
	}
	return true
}

// isUserAgain: before ends in "://user:".
func isUserAgain(value, before []byte) bool {
	user, ok := bytes.CutSuffix(before, []byte(":"))
	return ok && len(user) > len(value) && bytes.EqualFold(user[len(user)-len(value):], value) && user[len(user)-len(value)-1] == '/'
}

var (
	mailboxBefore = late(`(?:\A|[^0-9A-Za-z._%+/:@-])([0-9A-Za-z][0-9A-Za-z._%+-]{0,63})\z`)
	nobody        = late(`(?i)\A(?:git|no-?reply|user|you|me|name|email|foo|bar|.*\[bot\]|x+)\z`)
	nowhere       = late(`(?i)(?:\A@|\.)(?:example(?:\.(?:com|org|net))?|test|invalid|local|localhost|noreply\.github\.com)\z`)
)

// isMailbox reports whether before ends in the name of a mailbox for the domain in
// value, and neither is made up.
func isMailbox(value, before []byte) bool {
	const longest = 70
	name := mailboxBefore().FindSubmatch(before[max(0, len(before)-longest):])
	return name != nil && !nobody().Match(name[1]) && !nowhere().Match(value)
}

// likePassword tells what a person would choose or a generator make from a word of
// prose or a name in code.
func likePassword(value []byte) bool {
	var letter, upper, lower, digit, symbol bool
	for i, c := range value {
		switch {
		case c >= '0' && c <= '9':
			digit = true
		case c >= 'A' && c <= 'Z':
			letter, upper = true, upper || i > 0
		case c >= 'a' && c <= 'z':
			letter, lower = true, true
		case strings.IndexByte("!@#$%^&+?~", c) >= 0:
			symbol = symbol || i < len(value)-1
		}
	}
	return digit && letter || symbol && letter || upper && lower && !titled(value)
}

// titled knows CamelCase and Snake_Case names: every capital begins a word of at
// least three letters.
func titled(value []byte) bool {
	run := 3
	for _, c := range value {
		switch {
		case c >= 'A' && c <= 'Z':
			if run < 3 {
				return false
			}
			run = 1
		case c >= 'a' && c <= 'z':
			run++
		default:
			run = 3
		}
	}
	return true
}

// entropyOf is Shannon's, in bits a character.
func entropyOf(value []byte) float64 {
	var count [256]int
	for _, c := range value {
		count[c]++
	}
	h, n := 0.0, float64(len(value))
	for _, k := range count {
		if k > 0 {
			p := float64(k) / n
			h -= p * math.Log2(p)
		}
	}
	return h
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

// hasDigit looks at bytes alone: it is asked of every match of many rules.
func hasDigit(value []byte) bool {
	for _, c := range value {
		if c >= '0' && c <= '9' {
			return true
		}
	}
	return false
}

func isAlnum(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func isWord(c byte) bool { return isAlnum(c) || c == '_' }
