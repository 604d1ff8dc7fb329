package api

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Key identifies an entry: its path below the team directory, with slashes. A
// Key that came out of [ParseKey] keeps every rule of [KeyRules]; keys of
// strangers are strings until then. The spelling is never changed.
type Key string

// Bounds of a key, in bytes of UTF-8.
const (
	MaxKeyBytes     = 1024
	MaxSegmentBytes = 255
)

// IndexKey is the name of an index, the one file an agent loads by itself.
const IndexKey Key = "MEMORY.md"

// KeyRule is one rule a key must keep.
type KeyRule struct {
	Name   string // for programs; stable
	Reason string // for people; completes "the key …"
	breaks func(key string) bool
}

// plainRules look at a key as it is written.
var plainRules = []KeyRule{
	{"empty", "is empty", func(k string) bool { return k == "" }},
	{"key-length", fmt.Sprintf("is longer than %d bytes", MaxKeyBytes), func(k string) bool { return len(k) > MaxKeyBytes }},
	{"utf-8", "is not valid UTF-8", func(k string) bool { return !utf8.ValidString(k) }},
	{"control", "holds a control character", func(k string) bool { return strings.ContainsFunc(k, unicode.IsControl) }},
	{"backslash", "holds a backslash, a separator on Windows", func(k string) bool { return strings.ContainsRune(k, '\\') }},
	{"colon", "holds a colon, which names a drive or a stream on Windows", func(k string) bool { return strings.ContainsRune(k, ':') }},
	{"absolute", "is an absolute path", func(k string) bool { return strings.HasPrefix(k, "/") }},
	{"empty-segment", "has an empty segment", anySegment(func(s string) bool { return s == "" })},
	{"dot-segment", "has a segment that is . or ..", anySegment(func(s string) bool { return s == "." || s == ".." })},
	{"segment-length", fmt.Sprintf("has a segment longer than %d bytes", MaxSegmentBytes), anySegment(func(s string) bool { return len(s) > MaxSegmentBytes })},
	{"trailing", "has a segment that ends in a dot or a space, which Windows drops", anySegment(endsInDotOrSpace)},
	{"device", "has a segment that is a device name on Windows", anySegment(isDeviceName)},
	{"reserved", "has a segment .git, .claude or .teammem…, which belong to other programs", anySegment(isReservedName)},
}

// KeyRules is the table of rules, in the order they are tried. The last two try
// the others again on what the key turns into on its way through other programs.
var KeyRules = append(slices.Clone(plainRules),
	KeyRule{"percent-encoding", "turns into another path when percent-decoded", breaksWhenDecoded},
	KeyRule{"compatibility", "turns into another path under Unicode compatibility normalisation (NFKC)", breaksUnderNFKC},
)

// KeyError says which rule a key broke.
type KeyError struct {
	Key  Key // as it came; print it quoted
	Rule KeyRule
}

func (e *KeyError) Error() string {
	return fmt.Sprintf("the key %q %s", clip(string(e.Key)), e.Rule.Reason)
}

// Wire is the error as the contract carries it.
func (e *KeyError) Wire() *Error {
	return &Error{Code: InvalidRequest, Message: e.Error(), Details: Details{
		ErrorCode: ErrorCodeBadKey, Key: Key(strings.ToValidUTF8(clip(string(e.Key)), "\uFFFD")), Rule: e.Rule.Name,
	}}
}

// ParseKey checks s against the rules of one key. The error is a *[KeyError].
// Rules that concern several keys are in [CheckKeySet].
func ParseKey(s string) (Key, error) {
	for _, rule := range KeyRules {
		if rule.breaks(s) {
			return "", &KeyError{Key: Key(s), Rule: rule}
		}
	}
	return Key(s), nil
}

// Fold is what twins have in common: the key under NFC and full case folding.
// Two keys with one Fold are the same file on some machine. It is for comparing
// only, never for writing.
func (k Key) Fold() string {
	if isASCII(string(k)) {
		return strings.ToLower(string(k))
	}
	// A Caser keeps state; it is not shared.
	fold := cases.Fold().String(norm.NFC.String(string(k)))
	return norm.NFC.String(strings.Map(foldCherokee, fold))
}

// foldCherokee makes one of the two letters of a Cherokee pair. x/text swaps
// them instead: it takes the capitals to the small letters, as in every other
// script, and the small letters to the capitals, as Unicode has it.
func foldCherokee(r rune) rune {
	if 0xAB70 <= r && r <= 0xABBF || 0x13F8 <= r && r <= 0x13FD {
		return unicode.ToUpper(r)
	}
	return r
}

// Ancestors are the directories the key lies in, outermost first: a/b/c.md has a
// and a/b.
func (k Key) Ancestors() []Key {
	var all []Key
	for i, c := range string(k) {
		if c == '/' {
			all = append(all, k[:i])
		}
	}
	return all
}

// IsIndex reports whether the key names an index: MEMORY.md, in any directory.
func (k Key) IsIndex() bool {
	return k == IndexKey || strings.HasSuffix(string(k), "/"+string(IndexKey))
}

// HasDotSegment reports whether a segment begins with a dot. Such keys are legal
// on the wire; our client neither pushes nor writes them.
func (k Key) HasDotSegment() bool {
	return k != "" && (k[0] == '.' || strings.Contains(string(k), "/."))
}

// CheckKeySet holds the keys against the rules that concern several of them at
// once: no two may be twins, and none may be a directory of another. The error
// is ready for the wire and names both keys.
func CheckKeySet(keys []Key) error {
	byFold := make(map[string]Key, len(keys))
	for _, k := range keys {
		fold := k.Fold()
		if other, ok := byFold[fold]; ok && other != k {
			return TwinError(k, other)
		}
		byFold[fold] = k
	}
	for _, k := range keys {
		for _, dir := range k.Ancestors() {
			if other, ok := byFold[dir.Fold()]; ok {
				return DirectoryError(other, k)
			}
		}
	}
	return nil
}

// TwinError says that two keys are twins.
func TwinError(k, other Key) *Error {
	return &Error{
		Code:    InvalidRequest,
		Message: fmt.Sprintf("the keys %q and %q differ only in letter case or Unicode form and would be one file on some machines; rename one, or delete the old spelling in the same push", k, other),
		Details: Details{ErrorCode: ErrorCodeKeyTwin, Key: k, Other: other},
	}
}

// DirectoryError says that a key is a directory of another.
func DirectoryError(file, inside Key) *Error {
	return &Error{
		Code:    InvalidRequest,
		Message: fmt.Sprintf("the key %q is a directory of another key: %q; rename one of the two", file, inside),
		Details: Details{ErrorCode: ErrorCodeKeyDirectory, Key: file, Other: inside},
	}
}

func anySegment(bad func(segment string) bool) func(string) bool {
	return func(k string) bool {
		for more := true; more; {
			var segment string
			if segment, k, more = strings.Cut(k, "/"); bad(segment) {
				return true
			}
		}
		return false
	}
}

func endsInDotOrSpace(s string) bool {
	last, _ := utf8.DecodeLastRuneInString(s)
	return s != "" && (last == '.' || unicode.IsSpace(last))
}

// deviceNames are reserved by Windows in every directory and with any extension.
// https://learn.microsoft.com/windows/win32/fileio/naming-a-file
var deviceNames = []string{"con", "prn", "aux", "nul", "conin$", "conout$", "clock$"}

func isDeviceName(s string) bool {
	stem, _, _ := strings.Cut(s, ".")
	stem = strings.ToLower(strings.TrimRight(stem, " "))
	if slices.Contains(deviceNames, stem) {
		return true
	}
	port, ok := strings.CutPrefix(stem, "com")
	if !ok {
		port, ok = strings.CutPrefix(stem, "lpt")
	}
	// The superscripts count as digits there.
	return ok && utf8.RuneCountInString(port) == 1 && strings.ContainsAny(port, "0123456789¹²³")
}

func isReservedName(s string) bool {
	if isASCII(s) && !strings.HasPrefix(s, ".") {
		return false
	}
	// Some file systems drop characters that cannot be seen when they compare
	// names, so ".g<ZWJ>it" is .git there.
	s = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r) {
			return -1
		}
		return r
	}, s)
	fold := Key(s).Fold()
	return fold == ".git" || fold == ".claude" || strings.HasPrefix(fold, ".teammem")
}

// breaksPlain reports whether a form of a key that has length rules of its own
// behind it would be refused as written.
func breaksPlain(form string) bool {
	for _, rule := range plainRules {
		if rule.Name != "key-length" && rule.Name != "segment-length" && rule.breaks(form) {
			return true
		}
	}
	return false
}

// breaksUnderNFKC also refuses a form with more separators than the key: what
// is one file here would be a file in a directory there (U+2100 becomes a/c).
func breaksUnderNFKC(k string) bool {
	if isASCII(k) {
		return false
	}
	form := norm.NFKC.String(k)
	return form != k && (breaksPlain(form) || strings.Count(form, "/") != strings.Count(k, "/"))
}

// percentRounds is how many times a chain of careless programs is taken to
// decode one key.
const percentRounds = 3

func breaksWhenDecoded(k string) bool {
	form := k
	for range percentRounds {
		next := percentDecode(form)
		if next == form {
			return false
		}
		form = next
		if breaksPlain(form) || breaksUnderNFKC(form) {
			return true
		}
	}
	return false
}

// percentDecode undoes %XX and %uXXXX once, and reads overlong UTF-8 (%c0%ae for
// a dot) as the careless decoders do that it is aimed at. Bytes that mean
// nothing become U+FFFD, which no rule minds: "100%definitely.md" is a name.
func percentDecode(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	raw := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		if s[i] == '%' {
			if v, ok := hexValue(s, i+1, 2); ok {
				raw = append(raw, byte(v))
				i += 3
				continue
			}
			if i+1 < len(s) && (s[i+1] == 'u' || s[i+1] == 'U') {
				if v, ok := hexValue(s, i+2, 4); ok {
					raw = utf8.AppendRune(raw, rune(v))
					i += 6
					continue
				}
			}
		}
		raw = append(raw, s[i])
		i++
	}
	return readOverlong(raw)
}

func hexValue(s string, from, digits int) (v uint32, ok bool) {
	if from+digits > len(s) {
		return 0, false
	}
	for _, c := range []byte(s[from : from+digits]) {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		v = v<<4 | uint32(c)
	}
	return v, true
}

func readOverlong(raw []byte) string {
	var b strings.Builder
	for i := 0; i < len(raw); {
		r, size := utf8.DecodeRune(raw[i:])
		if r == utf8.RuneError && size == 1 {
			if wide, n := overlongRune(raw[i:]); n > 0 {
				r, size = wide, n
			}
		}
		b.WriteRune(r)
		i += size
	}
	return b.String()
}

// overlongRune reads a lead byte with its continuation bytes by their bit
// pattern alone.
func overlongRune(raw []byte) (r rune, size int) {
	lead := raw[0]
	switch {
	case lead&0xE0 == 0xC0:
		r, size = rune(lead&0x1F), 2
	case lead&0xF0 == 0xE0:
		r, size = rune(lead&0x0F), 3
	case lead&0xF8 == 0xF0:
		r, size = rune(lead&0x07), 4
	default:
		return 0, 0
	}
	if len(raw) < size {
		return 0, 0
	}
	for _, c := range raw[1:size] {
		// Some decoders mask the continuation bytes without looking at them.
		r = r<<6 | rune(c&0x3F)
	}
	if !utf8.ValidRune(r) {
		return 0, 0
	}
	return r, size
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
