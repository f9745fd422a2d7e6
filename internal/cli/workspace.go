package cli

// operatorOverrides are those of the operator's API, whose commands take the names of workspaces instead of their ids.
var operatorOverrides = map[string]override{
	"createWorkspace": {
		long:     "Create a workspace. If there is no database yet, it is created too.",
		example:  "  petstore workspace create acme --plan pro\n  petstore workspace create huge --plan enterprise --per-minute 5000 --per-day 1000000",
		migrates: true,
	},
	"getWorkspace": {
		name: "show", flags: nameOfWorkspace,
		shows: "id,name,plan,keys,categories,pets,orders,lastUsedAt,createdAt,minute.used=USED THIS MINUTE,perMinute,minute.reset=MINUTE ENDS,day.used=USED TODAY,perDay,day.reset=DAY ENDS",
		long: `Show the plan of a workspace, how much of it is used, and how many live keys, pets
and orders the workspace has.

The database is up to half a second behind. If nodes count in Redis, use "petstore
api account" or --server for the latest counts.`,
	},
	"renameWorkspace": {
		flags: map[string]string{workspaceID: "name", "name": "new"},
		long:  "Rename a workspace. Its id, keys and data stay the same.",
	},
	"setPlan": {
		name: "set-plan", flags: nameOfWorkspace,
		long: "Move a workspace to another plan: free, pro, business or enterprise. It takes effect within one second. What was already used today still counts.",
	},
	"resetWorkspace": {
		flags: nameOfWorkspace, asks: "remove all pets, categories and orders from %s", did: "Emptied",
		long: "Remove all pets, categories and orders from a workspace. This cannot be undone.\n\nIts keys stay. Ids are not used again. A server notices it within a second. The rows are\nremoved afterwards; other workspaces are not affected.",
	},
	"deleteWorkspace": {flags: nameOfWorkspace, asks: "delete the workspace %s with its keys and all its data", did: "Deleted"},

	"listKeys": {name: "list", shows: "id,name,prefix=KEY,scopes,state,expiresAt,lastUsedAt,usedToday=TODAY,refusedToday=REFUSED,bannedUntil"},
	"createKey": {
		name: "create", values: map[string]any{"name": "default"}, secret: "key", shows: "id,name,scopes,expiresAt",
		long: "Create a key and print it. This is the only time: the database keeps just its hash. The key works immediately.\n\nTo manage keys of the workspace, a key needs the scope manage; for webhooks, both read and manage. A webhook belongs to the workspace: it goes on when the key that created it is revoked or expires.",
	},
	"getKey": {name: "show"},
	"rotateKey": {
		secret: "key", shows: "id,name,scopes,expiresAt",
		long: "Create a key with the same workspace, name, scopes and expiry as another, and print it, once. Both work during the overlap; then the old one expires. A key that has been rotated or revoked, or has expired, cannot be rotated.",
	},
	"revokeKey": {long: "Revoke a key. It stops working within one second. This cannot be undone.", did: "Revoked"},
	"banKey":    {flagsOnly: true, did: "Banned"},
	"unbanKey":  {name: "unban", did: "Unbanned"},
}

var nameOfWorkspace = map[string]string{workspaceID: "name"}
