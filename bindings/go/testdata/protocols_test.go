// SPDX-License-Identifier: BSD-2-Clause

// Benchmarks of x/crypto/ssh and quic-go, as BenchmarkTLS, when "scripts/go tls" builds package stdlib
// with this file. The go command ignores this folder, so the module depends on neither.

package stdlib

import (
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"net"
	"testing"

	"github.com/quic-go/quic-go"
	"golang.org/x/crypto/ssh"
)

func BenchmarkSSH(b *testing.B) {
	received := make(chan error)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer listener.Close()
	go func() {
		if err := serveSSH(listener, received); err != nil {
			received <- err
		}
	}()
	client, err := ssh.Dial("tcp", listener.Addr().String(), &ssh.ClientConfig{
		Config:          ssh.Config{Ciphers: []string{"aes128-gcm@openssh.com"}},
		HostKeyCallback: ssh.InsecureIgnoreHostKey(),
	})
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	channel, requests, err := client.OpenChannel("data", nil)
	if err != nil {
		b.Fatal(err)
	}
	go ssh.DiscardRequests(requests)
	transfer(b, channel, 1<<20, received)
}

// serveSSH takes one connection, and receives from its first channel.
func serveSSH(listener net.Listener, received chan<- error) error {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		return err
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		return err
	}
	config := &ssh.ServerConfig{NoClientAuth: true}
	config.AddHostKey(signer)
	connection, err := listener.Accept()
	if err != nil {
		return err
	}
	_, channels, requests, err := ssh.NewServerConn(connection, config)
	if err != nil {
		return err
	}
	go ssh.DiscardRequests(requests)
	channel, requests, err := (<-channels).Accept()
	if err != nil {
		return err
	}
	go ssh.DiscardRequests(requests)
	receive(channel, received)
	return nil
}

func BenchmarkQUIC(b *testing.B) {
	received := make(chan error)
	config := serverConfig(b)
	config.NextProtos = []string{"data"}
	listener, err := quic.ListenAddr("127.0.0.1:0", config, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer listener.Close()
	go func() {
		if err := serveQUIC(listener, received); err != nil {
			received <- err
		}
	}()
	connection, err := quic.DialAddr(context.Background(), listener.Addr().String(),
		&tls.Config{InsecureSkipVerify: true, NextProtos: config.NextProtos}, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer connection.CloseWithError(0, "")
	if used := connection.ConnectionState().TLS.CipherSuite; used != tls.TLS_AES_128_GCM_SHA256 {
		b.Fatalf("the suite is %s", tls.CipherSuiteName(used))
	}
	stream, err := connection.OpenStreamSync(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	transfer(b, stream, 1<<20, received)
}

// serveQUIC takes one connection, and receives from its first stream.
func serveQUIC(listener *quic.Listener, received chan<- error) error {
	connection, err := listener.Accept(context.Background())
	if err != nil {
		return err
	}
	stream, err := connection.AcceptStream(context.Background())
	if err != nil {
		return err
	}
	receive(stream, received)
	return nil
}
