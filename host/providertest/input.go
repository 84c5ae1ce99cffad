package providertest

import (
	"context"
	"slices"

	"github.com/reshost/reshost/host/internal/question"
	"github.com/reshost/reshost/host/internal/uri"
	"github.com/reshost/reshost/host/provider"
)

// checkInput: what a resource asks of its reader can be shown to a person, and whatever comes back, a refusal or nonsense, is answered
// and is no fault of the provider's (rule R4).
func checkInput(k *kit) {
	k.open()
	for _, t := range k.targets() {
		req, ok := k.request(t.uri)
		if !ok {
			continue
		}
		req.InputMethods = []string{question.Elicit, question.Sample, question.Roots}
		res, err := k.p.Read(k.ctx, req)
		if err != nil || res == nil || res.Input == nil {
			continue // checkRead's affair
		}
		if len(res.Contents) > 0 || res.NotModified {
			k.report("Read of %s asks for more and answers too", t.uri)
		}
		if err := question.Check(res.Input); err != nil {
			k.report("Read of %s: %v", t.uri, err)
			continue
		}
		k.checkAnswers(t.uri, req, res.Input)
	}
}

// checkAnswers reads again with every kind of answer that a client can give.
func (k *kit) checkAnswers(u uri.URI, req *provider.ReadRequest, in *provider.InputRequired) {
	for _, result := range []string{
		"", `{"action":"decline"}`, `{"action":"cancel"}`, `{"action":"accept"}`, `{"action":"accept","content":{}}`, `{"action":1,"content":[]}`, `{}`,
	} {
		again := *req
		again.State, again.Inputs = slices.Clone(in.State), nil
		what := "no answers"
		if result != "" {
			what = "the answer " + result
			for _, q := range in.Requests {
				again.Inputs = append(again.Inputs, provider.InputResponse{Key: q.Key, Result: provider.JSON(result)})
			}
		}
		k.within("Read of "+u.String()+" with "+what+" goes on", func() {
			ctx, cancel := context.WithTimeout(k.ctx, 10*k.opts.Patience)
			defer cancel()
			res, err := k.p.Read(ctx, &again)
			switch {
			case err != nil && provider.CodeOf(err) == provider.Internal:
				k.report("Read of %s with %s fails as if the provider were at fault: %v", u, what, err)
			case err == nil && res == nil:
				k.report("Read of %s with %s returns neither a result nor an error", u, what)
			case err == nil && res.Input != nil:
				if err := question.Check(res.Input); err != nil {
					k.report("Read of %s with %s: %v", u, what, err)
				}
			}
		})
	}
}
