// SPDX-License-Identifier: BSD-2-Clause

// Overlay writes an overlay for the go command, with which a program that imports ../stdlib uses
// the AES-GCM of tenrounds in crypto/tls and everywhere else:
//
//	go build -overlay "$(go run example.org/tenrounds/bindings/go/overlay)"
//
// It copies one file of the installed Go, gcm_asm.go of crypto/internal/fips140/aes/gcm, with a
// hook in it, and prints the name of the overlay's file, which is in a folder of the user's cache.
// It refuses a Go whose file it does not know.
package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// The file in Go 1.24 to 1.27.
const known = "2d9f49bfa9cb47b6a17ff03c6c0d8708611270e6f35b3981868d026253819031"

const path = "src/crypto/internal/fips140/aes/gcm/gcm_asm.go"

// Each change inserts text after a line of the file.
var changes = []struct{ after, text string }{
	{"\t\"crypto/internal/impl\"\n", "\t\"unsafe\"\n"},
	{"type gcmPlatformData struct {\n", "\ttenrounds tenroundsAEAD\n"},
	{"func initGCM(g *GCM) {\n\tif !supportsAESGCM {\n\t\treturn\n\t}\n", `	if tenroundsNewGCM != nil {
		schedule := aes.EncryptionKeySchedule(&g.cipher)
		key := unsafe.Slice((*byte)(unsafe.Pointer(&schedule[0])), 4*(len(schedule)/4-7))
		g.tenrounds = tenroundsNewGCM(key, g.nonceSize, g.tagSize)
	}
`},
	{"func seal(out []byte, g *GCM, nonce, plaintext, data []byte) {\n", `	if g.tenrounds != nil && g.tenrounds.Room(len(plaintext)) {
		g.tenrounds.Seal(out[:0], nonce, plaintext, data)
		return
	}
`},
	{"func open(out []byte, g *GCM, nonce, ciphertext, data []byte) error {\n", `	if g.tenrounds != nil && g.tenrounds.Room(len(ciphertext)) {
		if _, err := g.tenrounds.Open(out[:0], nonce, ciphertext, data); err != nil {
			return errOpen
		}
		return nil
	}
`},
}

const declarations = `
type tenroundsAEAD = interface {
	Room(n int) bool
	Seal(dst, nonce, plaintext, additionalData []byte) []byte
	Open(dst, nonce, ciphertext, additionalData []byte) ([]byte, error)
}

// Set by the package stdlib of tenrounds.
//
//go:linkname tenroundsNewGCM
var tenroundsNewGCM func(key []byte, nonceSize, tagSize int) tenroundsAEAD
`

func main() {
	log.SetFlags(0)
	log.SetPrefix("overlay: ")
	output, err := exec.Command("go", "env", "GOROOT", "GOVERSION").Output()
	if err != nil {
		log.Fatal("go env: ", err)
	}
	goroot, version, _ := strings.Cut(strings.TrimSpace(string(output)), "\n")
	original := filepath.Join(goroot, filepath.FromSlash(path))
	source, err := os.ReadFile(original)
	check(err)
	patched, err := patch(string(source))
	if err != nil {
		log.Fatalf("%s, %s: %v", version, original, err)
	}

	cache, err := os.UserCacheDir()
	check(err)
	// Two copies of one version of Go need two overlays, and so do two versions of this module.
	sum := sha256.Sum256([]byte(goroot + patched))
	folder := filepath.Join(cache, "tenrounds", "go-overlay", version+"-"+hex.EncodeToString(sum[:4]))
	check(os.MkdirAll(folder, 0o755))
	replacement := filepath.Join(folder, "gcm_asm.go")
	check(replace(replacement, []byte(patched)))
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {original: replacement}})
	check(err)
	name := filepath.Join(folder, "overlay.json")
	check(replace(name, overlay))
	fmt.Println(name)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// replace writes a file in one step: another build may read it at the same time.
func replace(name string, contents []byte) error {
	file, err := os.CreateTemp(filepath.Dir(name), "new")
	if err != nil {
		return err
	}
	_, err = file.Write(contents)
	if err := cmp.Or(err, file.Close()); err != nil {
		os.Remove(file.Name())
		return err
	}
	return os.Rename(file.Name(), name)
}

func patch(source string) (string, error) {
	sum := sha256.Sum256([]byte(source))
	if hex.EncodeToString(sum[:]) != known {
		return "", fmt.Errorf("this Go's GCM is another one than that of Go 1.24 to 1.27: build without the overlay")
	}
	for _, change := range changes {
		before, after, found := strings.Cut(source, change.after)
		if !found {
			return "", fmt.Errorf("%q is not in the file", change.after)
		}
		source = before + change.after + change.text + after
	}
	return source + declarations, nil
}
