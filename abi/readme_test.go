package abi_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/reshost/reshost/abi"
)

// TestREADME keeps the specification's tables at the numbers of the code.
func TestREADME(t *testing.T) {
	b, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	want := func(line string) {
		t.Helper()
		if !strings.Contains(text, line) {
			t.Errorf("README.md does not have %q", line)
		}
	}
	for s := abi.StatusOK; s <= abi.StatusNotModified; s++ {
		want(fmt.Sprintf("\n| %d | %s |", s, s))
	}
	for k := abi.Kind(1); k <= abi.KindProgress; k++ {
		if k.String() != "" {
			want(fmt.Sprintf("\n| %d | %s |", k, k))
		}
	}
	for _, key := range []string{
		abi.KeyABI, abi.KeyMinMinor, abi.KeyName, abi.KeyVersion, abi.KeySchemes, abi.KeyResources, abi.KeyList, abi.KeyTemplates,
		abi.KeyCapabilities, abi.KeyLimits, abi.KeyIsolation, abi.KeyDynamic, abi.KeyPollMillis, abi.KeyConfigSchema,
	} {
		want("\n| `" + key + "` |")
	}
	for _, name := range []string{
		abi.ExportRead, abi.ExportList, abi.ExportComplete, abi.ExportPoll, abi.ExportDescribe, abi.ExportInit, abi.ExportInitialize, abi.ExportMemory,
	} {
		want("\n| `" + name + "` |")
	}
	for _, f := range protoFields(t, "message") {
		want("`" + strings.TrimPrefix(f.name, "arg_"))
	}
}

// TestREADMERecords compares the fields of each record's row with the .proto.
func TestREADMERecords(t *testing.T) {
	b, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := make(map[string]string)
	for line := range strings.SplitSeq(string(b), "\n") {
		if cells := strings.Split(line, " | "); len(cells) == 3 {
			rows[cells[1]] = cells[2]
		}
	}
	for _, f := range protoFields(t, "message") {
		row, ok := rows[strings.ToUpper(f.message)]
		if ok && !strings.Contains(row, f.number+" `"+f.name) {
			t.Errorf("the row of %s does not have %s `%s`", f.message, f.number, f.name)
		}
	}
}
