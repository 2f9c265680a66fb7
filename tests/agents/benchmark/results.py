"""What the servers needed, as a table."""

from statistics import median

COLUMNS = ("calls", "characters", "seconds", "seen")


def table(results, starts):
    """`results`: rows as dictionaries with `bug`, `server` and COLUMNS; `starts`: characters by server."""
    servers = list(dict.fromkeys(row["server"] for row in results))
    by_bug = {}
    for row in results:
        by_bug.setdefault(row["bug"], {})[row["server"]] = row
    head = ["bug", *(f"{server}: calls, characters, s, cause" for server in servers)]
    rows = [head, ["---"] * len(head)]
    for bug, cells in by_bug.items():
        rows.append([bug, *(_cell(cells.get(server)) for server in servers)])
    rows.append(["**median**", *(_median(results, server) for server in servers)])
    if len(servers) > 1:
        rows.append([f"**median, times {servers[0]}'s**", "1, 1",
                     *(_ratio(results, server, servers[0]) for server in servers[1:])])
    rows.append(["list of tools, characters", *(str(starts[server]) for server in servers)])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def medians(results, server):
    """The medians of calls and characters, and how many causes were seen, of how many bugs."""
    own = [row for row in results if row["server"] == server]
    return {"calls": median(row["calls"] for row in own), "characters": median(row["characters"] for row in own),
            "seconds": median(row["seconds"] for row in own),
            "seen": sum(row["seen"] for row in own), "bugs": len(own)}


def _cell(row):
    if row is None:
        return ""
    return f"{row['calls']}, {row['characters']}, {row['seconds']:.1f}, {'seen' if row['seen'] else 'not seen'}"


def _median(results, server):
    its = medians(results, server)
    return f"{its['calls']:g}, {its['characters']:g}, {its['seconds']:.1f}, {its['seen']} of {its['bugs']}"


def _ratio(results, server, first):
    its, firsts = medians(results, server), medians(results, first)
    return f"{its['calls'] / firsts['calls']:.1f}, {its['characters'] / firsts['characters']:.1f}"
