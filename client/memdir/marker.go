package memdir

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// Marker ties a directory to what it is synced with (promise C12). It lies in
// .teammem/marker.json and travels with the directory when that is moved.
type Marker struct {
	ID           string `json:"id"`
	Server       string `json:"server"`
	Organization string `json:"organization"`
	Repo         string `json:"repo"`
}

const markerFile = "marker.json"

// maxOwnFile bounds our own small files.
const maxOwnFile = 64 << 10

// Marker reads the marker. It makes nothing.
func (d *Dir) Marker() (Marker, bool, error) {
	own, err := d.folder(ownFolder, false)
	if errors.Is(err, fs.ErrNotExist) {
		return Marker{}, false, nil
	}
	if err != nil {
		return Marker{}, false, fmt.Errorf("read the marker: %w", err)
	}
	defer own.Close()
	got, err := own.read(markerFile, ownFolder+"/"+markerFile, maxOwnFile)
	if errors.Is(err, fs.ErrNotExist) {
		return Marker{}, false, nil
	}
	if err != nil {
		return Marker{}, false, fmt.Errorf("read the marker: %w", err)
	}
	var m Marker
	if err := json.Unmarshal(got.content, &m); err != nil || m.ID == "" {
		return Marker{}, false, fmt.Errorf("%w: %s/%s is damaged", ErrReplaced, ownFolder, markerFile)
	}
	return m, true, nil
}

// SetMarker writes the marker, durably.
func (d *Dir) SetMarker(m Marker) error {
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("write the marker: %w", err)
	}
	if err := d.putOwn(markerFile, append(b, '\n')); err != nil {
		return fmt.Errorf("write the marker: %w", err)
	}
	return nil
}

// putOwn replaces a file of ours in .teammem.
func (d *Dir) putOwn(name string, content []byte) error {
	own, err := d.own("")
	if err != nil {
		return err
	}
	defer own.Close()
	tmp, err := d.own("tmp")
	if err != nil {
		return err
	}
	defer tmp.Close()
	part := rand.Text()
	if _, err = tmp.fill(part, content, time.Time{}, defaultMode, synced); err == nil {
		err = move(tmp, part, own, name)
	}
	if err != nil {
		_ = tmp.root.Remove(part)
		return err
	}
	return syncFolder(own.file)
}
