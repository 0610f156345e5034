#!/usr/bin/env perl
# SPDX-License-Identifier: BSD-2-Clause
# Writes the linker's version script for OpenSSL: mkdef.pl ... --ordinals FILE ... >script. Replaces
# OpenSSL's util/mkdef.pl, which its makefile calls and the crate leaves out. A line of FILE has a
# symbol, its number, the version that introduced it, and whether it exists (OpenSSL's doc/internal,
# "libcrypto.num").
use strict;
use warnings;

my ($ordinals, %symbols);
while (defined(my $argument = shift)) {
    $ordinals = shift if $argument eq '--ordinals';
}
open(my $file, '<', $ordinals // die "no --ordinals\n") or die "$ordinals: $!\n";
while (<$file>) {
    my ($symbol, undef, $version, $state) = split;
    next unless defined $state && $state =~ /^EXIST:(?!VMS|_WIN32)/;
    push @{ $symbols{ join('.', $version =~ /\d+/g) } }, $symbol;
}
my $before = '';
for my $version (sort { version_key($a) cmp version_key($b) } keys %symbols) {
    print "OPENSSL_$version {\n    global:\n", map("        $_;\n", @{ $symbols{$version} });
    print "    local: *;\n" unless $before;
    print "}$before;\n";
    $before = " OPENSSL_$version";
}

sub version_key { return join '', map { sprintf '%03d', $_ } split /\./, shift }
