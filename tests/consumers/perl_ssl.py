# SPDX-License-Identifier: BSD-2-Clause
"""Tests Perl's Net::SSLeay, which IO::Socket::SSL and LWP use: TLS in memory. With --measure: the CPU
seconds for each GB that it sends."""

import subprocess

from harness import Consumer
from harness_gains import MEASURING, Command, Gain

consumer = Consumer("perl_ssl", limit=600 if MEASURING else 60, needs={"perl": "perl", "openssl": "openssl"})
SIZE = (1 << 30) if MEASURING else (8 << 20)

PERL = """
use strict;
use warnings;
use Net::SSLeay;
my ($version, $suite, $size) = @ARGV;
my @ends;
for my $server (0, 1) {
    my $ctx = Net::SSLeay::CTX_new() or die;
    Net::SSLeay::set_cert_and_key($ctx, "rsa.pem", "rsa.key") or die if $server;
    Net::SSLeay::CTX_set_min_proto_version($ctx, hex $version) && Net::SSLeay::CTX_set_max_proto_version($ctx, hex $version)
        or die;
    ($version eq "0304" ? Net::SSLeay::CTX_set_ciphersuites($ctx, $suite) : Net::SSLeay::CTX_set_cipher_list($ctx, $suite))
        or die;
    my $end = {ssl => Net::SSLeay::new($ctx), in => Net::SSLeay::BIO_new(Net::SSLeay::BIO_s_mem()),
        out => Net::SSLeay::BIO_new(Net::SSLeay::BIO_s_mem())};
    Net::SSLeay::set_bio($end->{ssl}, $end->{in}, $end->{out});
    $server ? Net::SSLeay::set_accept_state($end->{ssl}) : Net::SSLeay::set_connect_state($end->{ssl});
    push @ends, $end;
}
for (1 .. 8) {
    for my $at (0, 1) {
        Net::SSLeay::do_handshake($ends[$at]{ssl});
        my $said = Net::SSLeay::BIO_read($ends[$at]{out}, 1 << 16);
        Net::SSLeay::BIO_write($ends[1 - $at]{in}, $said) if defined $said && length $said;
    }
}
my $sender = $ends[1];
my $used = Net::SSLeay::get_cipher($sender->{ssl});
die "no handshake, or $used" unless Net::SSLeay::is_init_finished($sender->{ssl}) && $used eq $suite;
my $piece = "x" x 16384;
for (my $done = 0; $done < $size; $done += length $piece) {
    Net::SSLeay::write($sender->{ssl}, $piece) == length $piece or die;
    length Net::SSLeay::BIO_read($sender->{out}, 1 << 16) > length $piece or die;
}
"""

if subprocess.run([consumer.program["perl"], "-MNet::SSLeay", "-e", "1"], stderr=subprocess.DEVNULL).returncode:
    consumer.skip_all("not installed: Net::SSLeay (package libnet-ssleay-perl)")
consumer.write("work.pl", PERL)
consumer.certificates()
for version, suite, cipher in (("0304", "TLS_AES_256_GCM_SHA384", "AES-256-GCM"),
                               ("0303", "ECDHE-RSA-AES128-GCM-SHA256", "AES-128-GCM")):
    name = "TLS 1.3" if version == "0304" else "TLS 1.2"
    Gain(consumer, "Perl Net::SSLeay", f"send 16 KiB, {name}, {cipher}", cipher, "libnet-ssleay-perl").result(
        Command(["perl", "work.pl", version, suite, SIZE], SIZE))
consumer.end()
