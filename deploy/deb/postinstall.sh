#!/bin/sh
# After the files are there: the account, and the service, running.
set -e

[ "$1" = configure ] || exit 0

if ! getent passwd petstore >/dev/null; then
	if command -v systemd-sysusers >/dev/null; then
		systemd-sysusers petstore.conf
	else
		groupadd --system petstore
		useradd --system --gid petstore --home-dir /var/lib/petstore --no-create-home --shell /usr/sbin/nologin petstore
	fi
fi

# Where systemd is not running, as in a container being built, there is nothing
# to start. A restart keeps the sockets open, so that nobody is refused.
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	systemctl enable petstore.socket petstore-ops.socket petstore.service
	systemctl start petstore.socket petstore-ops.socket
	systemctl restart petstore.service
fi
