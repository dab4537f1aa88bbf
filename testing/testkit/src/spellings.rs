//! Spellings of a guarded path, as attackers try them: one list for everything that may stand before a site. Sends nothing.

/// Everything below this needs a pass where the spellings are tried.
pub const GUARDED: &str = "/tickets/*";

/// What some server reads as a path at or below `/tickets`. None may reach a site without a pass, whoever judges it.
pub const SPELLINGS: [&str; 54] = [
    "/tickets/1",
    "/tickets",
    "/TICKETS/1",
    "/Tickets/1",
    "/%74ickets/1",
    "/%54%49%43%4b%45%54%53/1",
    "/%2574ickets/1",
    "/%252574ickets/1",
    "//tickets/1",
    "///tickets///1",
    // A host first, for who reads the path as an address without a scheme.
    "//a/tickets/",
    "///a/tickets",
    "/\\a/tickets/",
    "//x:1@y/tickets/",
    "//[::1]/tickets/",
    "/%2fa/tickets/1",
    "/%5Ca%5Ctickets/1",
    "/%2ftickets/1",
    "/%2Ftickets/1",
    "/%252ftickets/1",
    "/tickets%2f1",
    "/tickets%2F1",
    "/tickets%252F1",
    "/./tickets/1",
    "/x/../tickets/1",
    "/x/%2e%2e/tickets/1",
    "/x/%2E%2E/tickets/1",
    "/x/.%2e/tickets/1",
    "/x/%252e%252e/tickets/1",
    "/x/..%2ftickets/1",
    "/x/..%5ctickets/1",
    "/x/..;/tickets/1",
    "/x/..;a=1/tickets/1",
    "/%2e/tickets/1",
    "/\\tickets/1",
    "/x\\..\\tickets",
    "/%5ctickets/1",
    "/%255Ctickets/1",
    "/tickets;a=1/1",
    "/tickets;/1",
    "/;a/tickets/1",
    "/tickets%3b/1",
    "/%3ba/tickets/1",
    "/tickets%253b/1",
    "/tickets%3f",
    "/tickets%23",
    "/tickets./1",
    "/tickets%20/1",
    "/tickets%09/1",
    "/tickets/1%00",
    "/tickets%00/1",
    "/tickets/1%0d%0aX-A:%20b",
    "/tickets/%ff",
    "/tickets/%zz",
];

/// The same in letters and bytes that some systems take for others. Jari's own proxy knows them; the proxies that ask Jari
/// do not, which their guide says.
pub const IN_OTHER_LETTERS: [&str; 4] =
    ["/%c0%aftickets/1", "/%ef%bc%8ftickets/1", "/%ef%bd%94ickets/1", "/tic%e2%84%aaets/1"];
