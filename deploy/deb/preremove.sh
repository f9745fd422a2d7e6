#!/bin/sh
# Before the files go, unless a newer version follows.
set -e

if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
	systemctl disable --now petstore.service petstore.socket petstore-ops.socket
fi
