#!/bin/sh
# After the files are gone. The shop's data stays until a purge, which takes the
# folders of the package with all that is in them, and nothing elsewhere.
set -e

if [ "$1" = purge ]; then
	rm -rf /var/lib/petstore /etc/petstore
	if getent passwd petstore >/dev/null; then
		userdel petstore
	fi
fi
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
