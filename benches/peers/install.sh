#!/bin/sh
# Installs toulbar2 for compare.py from its Debian package; if there is none, prints what to do.
set -e
command -v toulbar2 && exit
if command -v apt-get && apt-get install -y toulbar2; then exit; fi
echo "no Debian package; build https://github.com/toulbar2/toulbar2 and set TOULBAR2 to its program" >&2
exit 1
