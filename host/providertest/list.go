package providertest

import (
	"github.com/reshost/reshost/host/internal/uri"
	"github.com/reshost/reshost/host/provider"
)

// checkList: a walk ends, repeats nothing, comes in one order whatever the page size, and names only what can be read.
func checkList(k *kit) {
	k.open()
	if !k.info.List {
		return
	}
	all := k.walk(1000)
	seen := map[string]bool{}
	for i := range k.info.Resources {
		seen[k.info.Resources[i].URI] = true
	}
	for i := range all {
		r := &all[i]
		k.checkResource("List", r)
		if seen[r.URI] {
			k.report("List: %s stands twice, counting Info.Resources", r.URI)
		}
		seen[r.URI] = true
		if u, err := uri.Parse(r.URI); err == nil {
			if _, ok := k.request(u); !ok {
				k.report("List: %s matches neither Info.Resources nor a template: the host never asks for it", r.URI)
			}
		}
	}
	k.compareOrder(all, k.walk(1000), "a second walk")
	k.compareOrder(all, k.walk(7), "a walk with PageSize 7")
	if len(all) <= 1000 { // a page an item
		k.compareOrder(all, k.walk(1), "a walk with PageSize 1")
	}
}

// compareOrder reports the first difference between two walks.
func (k *kit) compareOrder(want, got []provider.Resource, what string) {
	for i := range min(len(want), len(got)) {
		if want[i].URI != got[i].URI {
			k.report("List: the order is not stable: item %d is %s, and %s in %s", i, want[i].URI, got[i].URI, what)
			return
		}
	}
	if len(want) != len(got) {
		k.report("List: %d resources, but %d in %s", len(want), len(got), what)
	}
}
