package recall

import "bytes"

// stem brings an English word in small letters to the form it shares with its kin:
// plurals, -ed and -ing, and the commonest endings that make a noun or an adverb.
// It is light on purpose: what it leaves need not be a word, and two forms that it
// does not bring together are found by the words beside them. Words of other
// languages in ASCII pass through it mostly unchanged. It works in place.
func stem(word []byte) []byte {
	if base, ok := irregular[string(word)]; ok {
		word = append(word[:0], base...)
	}
	if len(word) <= 3 || isCode(word) {
		return word
	}
	word = singular(word)
	word = present(word)
	for range 3 {
		shorter := derived(word)
		if len(shorter) == len(word) {
			break
		}
		word = shorter
	}
	if len(word) > 3 && word[len(word)-1] == 'e' {
		word = word[:len(word)-1]
	}
	return word
}

func singular(w []byte) []byte {
	n := len(w)
	switch {
	case w[n-1] != 's' || n <= 3:
	case bytes.HasSuffix(w, []byte("ies")) && n > 4:
		return append(w[:n-3], 'y')
	case bytes.HasSuffix(w, []byte("sses")), bytes.HasSuffix(w, []byte("xes")), bytes.HasSuffix(w, []byte("ches")), bytes.HasSuffix(w, []byte("shes")):
		return w[:n-2]
	case w[n-2] != 's' && w[n-2] != 'u' && w[n-2] != 'i':
		return w[:n-1]
	}
	return w
}

func present(w []byte) []byte {
	for _, ending := range [...]string{"ied", "ing", "ed"} {
		rest, ok := bytes.CutSuffix(w, []byte(ending))
		if !ok || len(rest) < 3 && ending == "ied" || !hasVowel(rest) || len(rest) < 2 {
			continue
		}
		if ending == "ied" {
			return append(rest, 'y')
		}
		if n := len(rest); n > 3 && rest[n-1] == rest[n-2] && bytes.IndexByte([]byte("bdgmnprt"), rest[n-1]) >= 0 {
			return rest[:n-1]
		}
		if n := len(rest); n > 5 && bytes.HasSuffix(rest, []byte("at")) {
			return append(rest, 'e') // authenticat(ed) is of authenticate
		}
		return rest
	}
	return w
}

// endings make another word of one. What is left must have at least four letters.
var endings = [...]struct{ ending, put string }{
	{"ation", ""},
	{"ator", ""},
	{"ship", ""},
	{"ment", ""},
	{"ness", ""},
	{"able", ""},
	{"ible", ""},
	{"ity", ""},
	{"ate", ""},
	{"ly", ""},
	{"er", ""},
	{"or", ""},
	{"tion", "t"},
	{"sion", "s"},
}

func derived(w []byte) []byte {
	switch w[len(w)-1] {
	case 'n', 'r', 'p', 't', 's', 'e', 'y': // the last letters of the endings
	default:
		return w
	}
	for _, e := range endings {
		n := len(w) - len(e.ending)
		if n+len(e.put) >= 4 && string(w[n:]) == e.ending && hasVowel(w[:n]) {
			return append(w[:n], e.put...)
		}
	}
	return w
}

func hasVowel(w []byte) bool {
	for _, c := range w {
		switch c {
		case 'a', 'e', 'i', 'o', 'u', 'y':
			return true
		}
	}
	return false
}

// isCode knows what is no word of a language.
func isCode(w []byte) bool {
	for _, c := range w {
		if c < 'a' || c > 'z' {
			return true
		}
	}
	return false
}

// irregular are the forms that no ending tells.
var irregular = map[string]string{
	"began": "begin", "begun": "begin", "broke": "break", "broken": "break", "brought": "bring", "built": "build",
	"bought": "buy", "caught": "catch", "chose": "choose", "chosen": "choose", "children": "child", "came": "come",
	"data": "data", "drew": "draw", "drawn": "draw", "drove": "drive", "driven": "drive", "fell": "fall", "fallen": "fall",
	"felt": "feel", "fought": "fight", "found": "find", "forgot": "forget", "forgotten": "forget", "froze": "freeze", "frozen": "freeze",
	"gave": "give", "given": "give", "grew": "grow", "grown": "grow", "held": "hold", "hid": "hide", "hidden": "hide",
	"indices": "index", "kept": "keep", "knew": "know", "known": "know", "led": "lead", "left": "leave", "lost": "lose", "made": "make",
	"meant": "mean", "met": "meet", "men": "man", "mice": "mouse", "paid": "pay", "people": "person", "ran": "run", "rose": "rise",
	"risen": "rise", "said": "say", "sent": "send", "shown": "show", "sold": "sell", "sought": "seek", "spent": "spend", "spoke": "speak", "spoken": "speak",
	"stood": "stand", "stuck": "stick", "swore": "swear", "taught": "teach", "thought": "think", "threw": "throw", "thrown": "throw",
	"told": "tell", "took": "take", "taken": "take", "understood": "understand", "went": "go", "gone": "go", "women": "woman",
	"won": "win", "wore": "wear", "written": "write", "wrote": "write",
}
