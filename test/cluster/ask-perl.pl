# Asks all the time through Perl's Redis until standard input ends, and says what came of each
# request, as ask-redis-py.py does.
#
# ask-perl.pl PORT
use strict;
use warnings;
use IO::Select;
use Redis;

use constant { KEYS => 32, PAUSE_SECONDS => 0.005 };

$| = 1;
my ($port) = @ARGV;
my $client = Redis->new(server => "127.0.0.1:$port");
my $input = IO::Select->new(\*STDIN);
print "ready $Redis::VERSION\n";

# Input is never sent: it can be read when it has ended.
for (my $turn = 0; !$input->can_read(PAUSE_SECONDS); $turn++) {
    my $key = "matrix:perl:" . $turn % KEYS;
    my $kind = $turn % 4 == 0 ? "write" : "read";
    my $done = eval { $kind eq "write" ? $client->set($key, $turn) : $client->get($key); 1 };
    print $done ? "$kind\n" : told($@);
}

# An error reply dies as "[get] ERR text, at ..."; whatever else dies had no answer.
sub told {
    my ($failure) = @_;
    $failure =~ s/\s+/ /g;
    my ($reply) = $failure =~ /^\[\w+\] ([A-Z]{2,} .*)/;
    return "lost $failure\n" unless defined $reply;
    return ($reply =~ /^UNKNOWNOUTCOME/ ? "unknown " : "error ") . "$reply\n";
}
