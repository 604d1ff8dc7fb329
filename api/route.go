package api

import "net/http"

// Route is one line of the contract's route table.
type Route struct {
	Method  string
	Pattern string // as chi and OpenAPI write it
	Right   Right
	// Operation is the operationId in openapi.yaml, and the name the route has
	// in logs and metrics.
	Operation string
}

// Routes is the whole surface of a server. rest refuses to start when a route
// here has no handler there; a test holds the list against openapi.yaml.
var Routes = []Route{
	{http.MethodGet, PathTeamMemory, Read, "getTeamMemory"},
	{http.MethodPut, PathTeamMemory, Write, "putTeamMemory"},
	{http.MethodGet, PathEvents, Read, "liveEvents"},
	{http.MethodGet, PathEntries, Read, "listEntries"},
	{http.MethodGet, PathEntry, Read, "getEntry"},
	{http.MethodGet, PathHistory, Read, "listHistory"},
	{http.MethodGet, PathVersions, Read, "listVersions"},
	{http.MethodGet, PathDiff, Read, "getDiff"},
	{http.MethodPost, PathRestore, Write, "restoreEntry"},
	{http.MethodPut, PathEntry, Write, "editEntry"},
	{http.MethodPost, PathMove, Write, "moveEntry"},
	{http.MethodGet, PathCatalogue, Read, "listCatalogue"},
	{http.MethodGet, PathLinks, Read, "getLinks"},
	{http.MethodGet, PathIndexes, Read, "getIndexes"},
	{http.MethodGet, PathBlame, Read, "getBlame"},
	{http.MethodGet, PathExport, Read, "exportRepo"},
	{http.MethodGet, PathActivity, Read, "listActivity"},
	{http.MethodGet, PathActivityLive, Read, "liveActivity"},
	{http.MethodGet, PathStats, Read, "getStats"},
	{http.MethodPost, PathClients, Read, "reportClient"},
	{http.MethodGet, PathClients, Known, "listClients"},
	{http.MethodGet, PathFindings, Read, "listFindings"},
	{http.MethodGet, PathProposals, Read, "listProposals"},
	{http.MethodGet, PathProposal, Read, "getProposal"},
	{http.MethodPost, PathApprove, Review, "approveProposal"},
	{http.MethodPost, PathReject, Review, "rejectProposal"},
	{http.MethodPost, PathReopen, Review, "reopenProposal"},
	{http.MethodGet, PathSearch, Read, "search"},
	{http.MethodGet, PathDigest, Read, "digest"},
	{http.MethodGet, PathPolicy, Known, "getPolicy"},
	{http.MethodPut, PathPolicy, Administer, "setPolicy"},
	{http.MethodPost, PathAccepted, Accept, "acceptFinding"},
	{http.MethodDelete, PathAccepted, Accept, "forgetFinding"},
	{http.MethodPost, PathRedactions, Administer, "redact"},
	{http.MethodGet, PathRedactions, Administer, "listRedactions"},
	{http.MethodPost, PathScans, Administer, "startScan"},
	{http.MethodGet, PathScan, Administer, "getScan"},
	{http.MethodGet, PathMembers, Administer, "listMembers"},
	{http.MethodPut, PathMembers, Administer, "setMember"},
	{http.MethodDelete, PathMembers, Administer, "removeMember"},
	{http.MethodGet, PathGroups, Administer, "listGroups"},
	{http.MethodPut, PathGroups, Administer, "setGroup"},
	{http.MethodDelete, PathGroups, Administer, "removeGroup"},
	{http.MethodGet, PathGrants, Administer, "listGrants"},
	{http.MethodPut, PathGrants, Administer, "setGrant"},
	{http.MethodDelete, PathGrants, Administer, "removeGrant"},
	{http.MethodGet, PathTokens, Known, "listTokens"},
	{http.MethodPost, PathTokens, Known, "createToken"},
	{http.MethodDelete, PathTokens, Known, "revokeToken"},
	{http.MethodGet, PathRepos, Read, "listRepos"},
	{http.MethodPut, PathRepoNames, Administer, "renameRepo"},
	{http.MethodDelete, PathRepoNames, Administer, "forgetRepoName"},
	{http.MethodGet, PathOrganization, Known, "getOrganization"},
	{http.MethodPatch, PathOrganization, Administer, "changeOrganization"},
	{http.MethodGet, PathAudit, Administer, "findAudit"},
	{http.MethodGet, PathAuditExport, Administer, "exportAudit"},
	{http.MethodGet, PathWhoAmI, Known, "whoAmI"},
	{http.MethodPost, PathSession, Known, "beginSession"},
	{http.MethodDelete, PathSession, Known, "endSession"},
	{http.MethodGet, PathOpenAPI, Public, "openAPI"},
	{http.MethodGet, PathWellKnown, Public, "wellKnown"},
	{http.MethodGet, PathHealth, Public, "health"},
	{http.MethodGet, PathReady, Public, "ready"},
}
