package api

import "errors"

// Edit is the body that writes one entry as a person edits it: on the text that they
// saw, with a reason. When somebody was quicker the refusal's details name their change.
type Edit struct {
	Key     Key       `json:"key"`
	Content string    `json:"content"`
	Base    *Checksum `json:"baseChecksum"` // what was seen standing; null: nothing
	Reason  string    `json:"reason,omitempty"`
}

// Move is the body that gives an entry another key, in one version.
type Move struct {
	Key    Key       `json:"key"`
	To     Key       `json:"to"` // where nothing may stand
	Base   *Checksum `json:"baseChecksum,omitempty"`
	Reason string    `json:"reason,omitempty"`
}

// CheckNote holds a reason that may be empty against its form.
func CheckNote(reason string) error {
	if reason == "" {
		return nil
	}
	return CheckReason(reason)
}

// DecodeEdit reads the body of an edit strictly.
func DecodeEdit(data []byte) (e Edit, err error) {
	r := jsonReader{data: data}
	named := map[string]bool{}
	err = r.text(func() error {
		return r.wantObject(func(name string) (err error) {
			named[name] = true
			switch name {
			case "key":
				e.Key, err = r.wantKey()
			case "content":
				e.Content, err = r.wantString()
			case "baseChecksum":
				err = r.optional(func() error { return r.base(&e.Base) })
			case "reason":
				err = r.optional(func() error { return r.note(&e.Reason) })
			default:
				err = r.skip()
			}
			return err
		})
	})
	for _, name := range []string{"key", "content", "baseChecksum"} {
		if err == nil && !named[name] {
			err = r.shape(name + " is missing")
		}
	}
	return e, err
}

// DecodeMove reads the body of a move strictly.
func DecodeMove(data []byte) (m Move, err error) {
	r := jsonReader{data: data}
	err = r.text(func() error {
		return r.wantObject(func(name string) (err error) {
			switch name {
			case "key":
				m.Key, err = r.wantKey()
			case "to":
				m.To, err = r.wantKey()
			case "baseChecksum":
				err = r.optional(func() error { return r.base(&m.Base) })
			case "reason":
				err = r.optional(func() error { return r.note(&m.Reason) })
			default:
				err = r.skip()
			}
			return err
		})
	})
	switch {
	case err != nil:
	case m.Key == "" || m.To == "":
		err = r.shape("key or to is missing")
	case m.Key == m.To:
		err = r.shape("key and to are the same")
	}
	return m, err
}

// wantKey reads a key and holds it against the key rules.
func (r *jsonReader) wantKey() (Key, error) {
	text, err := r.wantString()
	if err != nil {
		return "", err
	}
	key, err := ParseKey(text)
	var bad *KeyError
	if errors.As(err, &bad) {
		return "", bad.Wire()
	}
	return key, err
}

func (r *jsonReader) base(into **Checksum) error {
	sum, err := r.wantChecksum()
	*into = &sum
	return err
}

func (r *jsonReader) note(into *string) (err error) {
	if *into, err = r.wantString(); err != nil {
		return err
	}
	if bad := CheckNote(*into); bad != nil {
		return r.shape(bad.Error())
	}
	return nil
}
