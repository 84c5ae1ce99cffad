package wasmplugin

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/reshost/reshost/abi"
)

// Pack returns wasm with the manifest that its rh_describe emits as section "reshost.manifest", in place of one that is
// there. The guest runs as it will when it is loaded, within the default limits, but with no capability granted.
func (r *Runtime) Pack(ctx context.Context, wasm []byte) ([]byte, error) {
	info, err := scanModule(wasm)
	if err != nil {
		return nil, err
	}
	text, err := r.describeModule(ctx, info, wasm)
	if err != nil {
		return nil, err
	}
	packed := setManifest(info, wasm, text)
	// What was written must load: the same checks, before a file is made of it.
	again, err := scanModule(packed)
	if err != nil {
		return nil, err
	}
	man, err := again.readManifest()
	if err != nil {
		return nil, err
	}
	if problems := checkExports(again, man); len(problems) > 0 {
		return nil, problems[0]
	}
	if _, problems := link(again, man, nil); len(problems) > 0 {
		return nil, problems[0]
	}
	return packed, nil
}

// describeModule runs rh_describe of a module that may have no manifest yet, and returns what it emitted.
func (r *Runtime) describeModule(ctx context.Context, info *moduleInfo, wasm []byte) ([]byte, error) {
	if _, ok := info.export(abi.ExportDescribe); !ok {
		return nil, info.foreign()
	}
	man := &Manifest{Name: "pack", Dynamic: true}
	// Whatever it imports is declared here, and nothing is granted: the real declaration is checked afterwards.
	declared := map[string]bool{}
	for _, i := range info.imports {
		if name, ok := capabilityName(i.module); ok && !declared[name] && validCapability(name) {
			declared[name] = true
			man.Capabilities = append(man.Capabilities, Capability{Name: name, Optional: true})
		}
	}
	linked, problems := link(info, man, nil)
	if problems = append(problems, checkExports(info, man)...); len(problems) > 0 {
		return nil, problems[0]
	}
	pl := &plan{
		cfg: Config{Name: "pack"}, info: info, manifest: man, names: &schemeNames{}, served: &served{},
		limits: Limits{}.withDefaults(), isolation: abi.IsolationFresh, link: linked,
	}
	if err := pl.meter(wasm); err != nil {
		return nil, err
	}
	p := newPlugin(r, pl)
	if err := r.add(p); err != nil {
		return nil, err
	}
	var text []byte
	err := p.compile(ctx)
	if err == nil {
		text, err = p.describeOnce(ctx)
	}
	return text, errors.Join(err, p.Close(context.WithoutCancel(ctx)))
}

// describeOnce runs rh_describe to pack.
func (p *Plugin) describeOnce(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, p.limits.Timeout)
	defer cancel()
	inst, err := p.newInstance(ctx, start{urgent: true, pack: true})
	if err != nil {
		return nil, err
	}
	defer inst.close()
	s := &describeSink{}
	c := &call{plugin: p, export: abi.ExportDescribe, out: inst.out, sink: s, served: p.served.Load(), pack: true}
	defer c.close()
	c.request = initRequest(true)
	status, err := p.invoke(ctx, inst, c)
	if err != nil {
		return nil, err
	}
	if _, err := c.described(status, s); err != nil {
		return nil, fmt.Errorf("%s: %w", abi.ExportDescribe, err)
	}
	return s.manifest, nil
}

// setManifest writes the manifest's section at the end of a module, and drops one that is there.
func setManifest(info *moduleInfo, wasm, text []byte) []byte {
	body := binary.AppendUvarint(nil, uint64(len(manifestSection)))
	body = append(body, manifestSection...)
	body = append(body, text...)
	out := make([]byte, 0, len(wasm)+len(body)+8)
	if info.manifest != nil {
		out = append(out, wasm[:info.from]...)
		out = append(out, wasm[info.to:]...)
	} else {
		out = append(out, wasm...)
	}
	out = append(out, sectionCustom)
	out = binary.AppendUvarint(out, uint64(len(body)))
	return append(out, body...)
}
