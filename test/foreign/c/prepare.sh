# with the system's hiredis (tried: 0.14.1); without it the suite says so and tries nothing
if echo '#include <hiredis/hiredis.h>' | cc -E - >/dev/null 2>&1; then
  cc -std=gnu11 -O0 -Wall -Wextra -Werror -o suite suite.c -lhiredis
else
  printf '#!/bin/sh\necho "ok nothing was tried: there is no hiredis"\n' >suite
  chmod +x suite
fi
