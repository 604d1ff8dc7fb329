package api

import "fmt"

// DecodePush reads the body of a PUT strictly, see [ParseJSON]. Field names are
// matched exactly and unknown ones are ignored. Keys are given as they were sent:
// [ParseKey] is the ledger's business. A field that is null counts as absent.
//
// The error is an *[Error] with the code [InvalidRequest] that names the place
// and, where one is concerned, the key.
func DecodePush(body []byte) (Push, error) {
	r := jsonReader{data: body}
	var push Push
	if err := r.text(func() error { return r.push(&push) }); err != nil {
		return Push{}, nameKey(err, r.path)
	}
	return push, nil
}

func (r *jsonReader) push(push *Push) error {
	err := r.wantObject(func(name string) error {
		switch name {
		case "entries":
			return r.optional(func() (err error) {
				push.Entries, err = r.texts()
				return err
			})
		case "deletions":
			return r.optional(func() (err error) {
				push.Deletions, err = r.keyList()
				return err
			})
		case "baseChecksums":
			return r.optional(func() (err error) {
				push.BaseChecksums, err = r.baseChecksums()
				return err
			})
		case "modified":
			return r.optional(func() (err error) {
				push.Modified, err = r.times()
				return err
			})
		}
		return r.skip()
	})
	if err != nil {
		return err
	}
	if push.Entries == nil && push.Deletions == nil {
		return r.shape("neither entries nor deletions is there: there is nothing to push")
	}
	return nil
}

// texts reads an object of strings.
func (r *jsonReader) texts() (map[Key]string, error) {
	texts := map[Key]string{}
	err := r.wantObject(func(key string) (err error) {
		texts[Key(key)], err = r.wantString()
		return err
	})
	return texts, err
}

// keyList reads an array of strings, each there once.
func (r *jsonReader) keyList() ([]Key, error) {
	list := []Key{}
	var seen nameSet
	err := r.wantArray(func() error {
		key, err := r.wantString()
		if err != nil {
			return err
		}
		if !seen.add(key) {
			err := r.shape(fmt.Sprintf("the key %q stands twice", clip(key)))
			if e, ok := AsError(err); ok {
				e.Details.Key = Key(clip(key))
			}
			return err
		}
		list = append(list, Key(key))
		return nil
	})
	return list, err
}

func (r *jsonReader) baseChecksums() (map[Key]*Checksum, error) {
	base := map[Key]*Checksum{}
	err := r.wantObject(func(key string) error {
		if r.peek() == 'n' {
			base[Key(key)] = nil
			return r.literal("null")
		}
		sum, err := r.wantChecksum()
		base[Key(key)] = &sum
		return err
	})
	return base, err
}

func (r *jsonReader) times() (map[Key]Time, error) {
	times := map[Key]Time{}
	err := r.wantObject(func(key string) error {
		s, err := r.wantString()
		if err != nil {
			return err
		}
		t, err := ParseTime(s)
		if err != nil {
			return r.shape("want an RFC 3339 time")
		}
		times[Key(key)] = t
		return nil
	})
	return times, err
}

// nameKey adds the key to an error below one of the objects that are keyed by
// keys.
func nameKey(err error, path []jsonStep) error {
	if e, ok := AsError(err); ok && len(path) >= 2 {
		switch path[0].name {
		case "entries", "baseChecksums", "modified":
			e.Details.Key = Key(clip(path[1].name))
		}
	}
	return err
}

// optional reads a value that may also be null.
func (r *jsonReader) optional(read func() error) error {
	if r.peek() == 'n' {
		return r.literal("null")
	}
	return read()
}

func (r *jsonReader) wantObject(member func(name string) error) error {
	if r.peek() != '{' {
		return r.mismatch("an object")
	}
	return r.object(member)
}

func (r *jsonReader) wantArray(element func() error) error {
	if r.peek() != '[' {
		return r.mismatch("an array")
	}
	return r.array(element)
}

func (r *jsonReader) wantString() (string, error) {
	if r.peek() != '"' {
		return "", r.mismatch("a string")
	}
	return r.str(false)
}

func (r *jsonReader) wantChecksum() (Checksum, error) {
	s, err := r.wantString()
	if err != nil {
		return "", err
	}
	sum, err := ParseChecksum(s)
	if err != nil {
		return "", r.shape(err.Error())
	}
	return sum, nil
}

// mismatch says that another kind of value was found than the one asked for. A
// text that is no JSON at all is called that instead.
func (r *jsonReader) mismatch(want string) error {
	found := map[byte]string{'{': "an object", '[': "an array", '"': "a string", 't': "true", 'f': "false", 'n': "null"}[r.peek()]
	from := r.at
	if err := r.skip(); err != nil {
		return err
	}
	if found == "" {
		found = "a number"
	}
	r.at = from
	return r.shape(fmt.Sprintf("want %s, found %s", want, found))
}
