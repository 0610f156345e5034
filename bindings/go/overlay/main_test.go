// SPDX-License-Identifier: BSD-2-Clause

package main

import (
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPatch patches the file of the Go that runs the test, and refuses a file with another byte.
func TestPatch(t *testing.T) {
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(goroot)), path))
	if err != nil {
		t.Fatal(err)
	}
	patched, err := patch(string(source))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.ParseFile(token.NewFileSet(), "gcm_asm.go", patched, 0); err != nil {
		t.Error(err)
	}
	for _, change := range changes {
		if !strings.Contains(patched, change.after+change.text) {
			t.Errorf("the patched file lacks %q", change.text)
		}
	}
	if _, err := patch(string(source) + "\n"); err == nil {
		t.Error("patches a file that it does not know")
	}
}
