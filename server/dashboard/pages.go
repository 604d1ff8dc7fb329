package dashboard

import "strconv"

// perPage is how many rows a page shows.
const perPage = 100

// pages are the ways to the pages of a list.
type pages struct {
	Newer, Older string
	Total        int
	From         int
}

// paged takes a page out of a list that is at hand whole; its cursor is a place.
func paged[T any](v *visit, all []T) ([]T, pages) {
	from, err := strconv.Atoi(v.query.Get("cursor"))
	if err != nil || from < 0 {
		from = 0
	}
	from = min(from, len(all))
	p := pages{Total: len(all), From: from}
	to := min(from+perPage, len(all))
	if to < len(all) {
		p.Older = v.turned("cursor", strconv.Itoa(to))
	}
	if from > 0 {
		p.Newer = v.turned("cursor", "")
	}
	return all[from:to], p
}

// turned is the address of this page with another value of one name.
func (v *visit) turned(name, value string) string {
	q := v.r.URL.Query()
	q.Del("cursor")
	if value == "" {
		q.Del(name)
	} else {
		q.Set(name, value)
	}
	if len(q) == 0 {
		return v.r.URL.Path
	}
	return v.r.URL.Path + "?" + q.Encode()
}
