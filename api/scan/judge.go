package scan

import (
	"bytes"
	"cmp"
	"slices"
	"unicode/utf8"
)

// judge decides whether a match is a finding, and records it.
func (d *desk) judge(v *view, r *rule, loc []int, edits []edit) bool {
	from, to := valueOf(r, loc)
	value := v.text[from:to]
	switch {
	case len(value) == 0,
		r.entropy > 0 && entropyOf(value) <= r.entropy,
		r.values.excused(value, v.text[:from]),
		r.loose && strayJoint(v, from, to, edits),
		!d.inContext(v, r, loc):
		return false
	}
	d.behind[r.index] = loc[1]
	d.counts[r.index]++
	d.found = append(d.found, Finding{
		Rule: r.id, Class: r.class, Severity: r.severity,
		Start: v.begin(from), End: v.end(to),
		Fingerprint: d.fingerprint(unwrapped(value)),
	})
	return true
}

// valueOf finds the value in a match, as gitleaks does.
func valueOf(r *rule, loc []int) (from, to int) {
	switch {
	case r.whole:
	case r.group > 0:
		return max(loc[2*r.group], 0), max(loc[2*r.group+1], 0)
	default:
		for i := 2; i < len(loc); i += 2 {
			if loc[i+1] > loc[i] {
				return loc[i], loc[i+1]
			}
		}
	}
	return loc[0], loc[1]
}

// strayJoint reports whether a value without a form of its own goes over the end
// of a line of which one side is but a word: then two neighbours were joined.
func strayJoint(v *view, from, to int, edits []edit) bool {
	for _, e := range edits {
		at := int(e.at)
		if e.kind != broken || at <= from || at >= to {
			continue
		}
		if !bytes.ContainsFunc(v.text[from:at], isDigit) || !bytes.ContainsFunc(v.text[at:to], isDigit) {
			return true
		}
	}
	return false
}

// inContext reports whether one of the rule's keywords is in the match or
// anywhere else in the text.
func (d *desk) inContext(v *view, r *rule, loc []int) bool {
	if len(r.keywords) == 0 {
		return true
	}
	match := bytes.ToLower(v.text[loc[0]:loc[1]])
	for _, k := range r.keywords {
		if bytes.Contains(match, []byte(k)) {
			return true
		}
	}
	text := bytes.ToLower(v.text)
	return slices.ContainsFunc(r.keywords, func(k string) bool { return bytes.Contains(text, []byte(k)) })
}

// unwrapped is the value without line breaks and escapes, so that a key of many
// lines has one fingerprint however it is indented.
func unwrapped(value []byte) []byte {
	if !bytes.ContainsFunc(value, func(r rune) bool { return r == '\n' || r == '\\' || r == '\r' }) {
		return value
	}
	original := &view{text: value}
	var spelled, joined view
	spelled.reset(original)
	unescape(&spelled)
	joined.reset(&spelled)
	join(&joined)
	return joined.text
}

// settle orders the findings, keeps the longest of those that say the same of the
// same place, and drops the generic where a value is known for what it is.
func settle(found []Finding) []Finding {
	slices.SortStableFunc(found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End))
	})
	kept := found[:0]
	for _, f := range found {
		if n := len(kept); n > 0 && kept[n-1].Rule == f.Rule && f.Start < kept[n-1].End {
			if f.End-f.Start > kept[n-1].End-kept[n-1].Start {
				kept[n-1] = f
			}
			continue
		}
		kept = append(kept, f)
	}
	slices.SortStableFunc(kept, compareFindings)
	return dropGeneric(kept)
}

// dropGeneric walks the findings in order of place.
func dropGeneric(found []Finding) []Finding {
	var secrets []Finding
	for _, f := range found {
		if f.Class == Secret {
			secrets = append(secrets, f)
		}
	}
	slices.SortFunc(secrets, func(a, b Finding) int { return cmp.Compare(a.End, b.End) })
	return slices.DeleteFunc(found, func(f Finding) bool {
		if f.Class != SecretGeneric {
			return false
		}
		i, _ := slices.BinarySearchFunc(secrets, f.Start+1, func(s Finding, start int) int { return cmp.Compare(s.End, start) })
		return slices.ContainsFunc(secrets[i:min(i+4, len(secrets))], func(s Finding) bool { return s.Start < f.End })
	})
}

// place turns bytes into lines and columns. The findings are in order.
func place(found []Finding, text []byte, key bool) {
	line, column, at := 1, 1, 0
	for i := range found {
		f := &found[i]
		for ; at < f.Start; at++ {
			switch c := text[at]; {
			case c == '\n':
				line, column = line+1, 1
			case utf8.RuneStart(c):
				column++
			}
		}
		f.Line, f.Column = line, column
		f.EndLine = line + bytes.Count(bytes.TrimSuffix(text[f.Start:f.End], []byte("\n")), []byte("\n"))
		if key {
			f.Line, f.EndLine = 0, 0
		}
	}
}
