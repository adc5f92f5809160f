using System.Text;
using Millrace.Simulation.Tests.Runs;
using Millrace.Simulation.Tests.Upstreams;

namespace Millrace.Simulation.Tests.Peers;

/// <summary>Draws requests to the sites, each with the answer it must have.</summary>
internal sealed class ExchangeGenerator(World world, SimulatedSites sites, Deployment? deployment, SimulatedUpstreams? upstreams)
{
    /// <summary>A part of a body that never becomes whole.</summary>
    private const int StalledBytes = 30;

    /// <summary>Ranges that are fewer bytes apart come as one.</summary>
    private const int MergedGap = 80;

    /// <summary>More than is sent of a head until its time is over.</summary>
    private const int TrickledBytes = 6_000;

    /// <summary>Whether clients ask for WebSockets, too.</summary>
    public bool HasTunnels => upstreams is { Shape.HasTunnels: true };

    /// <summary>A request for a WebSocket. Over HTTP/1.1 nothing follows it, if one is available.</summary>
    public Exchange DrawTunnel(int owner, int number, bool isHttp2) => Proxied(upstreams!.DrawTunnel(owner, number, isHttp2));

    /// <param name="owner">Whose request it is; where it can, the answer repeats it.</param>
    /// <param name="number">Which of the owner's.</param>
    public Exchange Draw(int owner, int number)
    {
        if (upstreams is not null && world.Random.Chance(850))
        {
            return Proxied(upstreams.Draw(owner, number));
        }

        if (deployment is not null && world.Random.Chance(400))
        {
            return Released(deployment.Way);
        }

        int host = world.Random.Below(SimulatedSites.HostNames.Count);
        string fields = $"Host: {SimulatedSites.HostNames[host]}\r\nX-Owner: {owner}-{number}\r\n";
        SiteFile file = DrawFile();
        return world.Random.Below(12) switch
        {
            0 => Redirected(fields, owner, number),
            1 => new(Bytes($"GET /missing/{owner} HTTP/1.1\r\n{fields}\r\n"), StatusText(404, "404 Not Found\r\n")),
            2 => new(
                Bytes($"HEAD {file.Target} HTTP/1.1\r\n{fields}\r\n"),
                Whole(file, host) with { BringsContent = false },
                file.Content),
            3 => new(
                Bytes($"GET {file.Target} HTTP/1.1\r\n{fields}If-None-Match: {file.EntityTags[host]}\r\n\r\n"),
                new Response(304) { Line = TagLine(file, host), BringsContent = false, NamesLength = false }),
            4 or 5 when file.Content.Length > 1 => Range(file, host, fields),
            6 when file.Content.Length > MergedGap + 60 => Ranges(file, host, fields),
            7 => Posted(fields, world.Random.Below(500)),
            _ => new(Bytes($"GET {file.Target} HTTP/1.1\r\n{fields}\r\n"), Whole(file, host), file.Content),
        };
    }

    /// <summary>A last request that ends the connection.</summary>
    public Exchange DrawLast() => world.Random.Below(3) switch
    {
        // White space before the colon is how requests are smuggled (RFC 9112, section 5.1).
        0 => new(Bytes("GET / HTTP/1.1\r\nHost : memory.test\r\n\r\n"), StatusText(400, "400 Bad Request\r\n") with { Ends = true }),
        1 => new(
            Bytes($"GET {sites.Files[2].Target} HTTP/1.0\r\nHost: memory.test\r\n\r\n"), Whole(sites.Files[2], 0) with { Ends = true }),
        _ => new(
            Bytes($"GET {sites.Files[3].Target} HTTP/1.1\r\nHost: files.test\r\nConnection: close\r\n\r\n"),
            Whole(sites.Files[3], 1) with { Ends = true },
            sites.Files[3].Content),
    };

    /// <summary>What a file is answered with that cannot be read.</summary>
    public static Response Unreadable { get; } = StatusText(500, "500 Internal Server Error\r\n") with { Ends = true };

    /// <summary>What somebody is told who is one too many, whatever he asks; what is no request is still called that.</summary>
    public static Response Refused(Response expected, ProxiedExchange? proxied = null)
    {
        bool bringsContent = proxied is not null ? proxied.Method != "HEAD" : expected.BringsContent || expected.Status == 304;
        return expected.Status == 400 ? expected
            : StatusText(503, "503 Service Unavailable\r\n") with { Ends = true, BringsContent = bringsContent };
    }

    /// <summary>A head that comes slowly and never ends.</summary>
    public static Exchange Trickled() =>
        new(Bytes("GET / HTTP/1.1\r\nHost: memory.test\r\nX-Slow: " + new string('z', TrickledBytes)), StatusText(408, "408 Request Timeout\r\n") with { Ends = true });

    /// <summary>A request that is answered before its body, which never comes.</summary>
    public static Exchange Stalled() =>
        new(
            Bytes($"POST / HTTP/1.1\r\nHost: memory.test\r\nContent-Length: 1000\r\n\r\n{new string('b', StalledBytes)}"),
            StatusText(405, "405 Method Not Allowed\r\n"));

    /// <summary>The server's own answer for an upstream that gave none.</summary>
    public static Response WithoutUpstream(int status, bool bringsContent)
    {
        string text = status == 502 ? "502 Bad Gateway\r\n" : status == 503 ? "503 Service Unavailable\r\n" : "504 Gateway Timeout\r\n";
        return StatusText(status, text) with { BringsContent = bringsContent, MayEnd = true };
    }

    /// <summary>What a file is answered with that cannot be opened; null for what is no such answer.</summary>
    public static Response? Lost(ReadOnlySpan<byte> head, bool bringsContent) =>
        head.StartsWith("HTTP/1.1 404 "u8) ? StatusText(404, "404 Not Found\r\n") with { BringsContent = bringsContent }
        : head.StartsWith("HTTP/1.1 503 "u8) ? StatusText(503, "503 Service Unavailable\r\n") with { BringsContent = bringsContent }
        : null;

    private Exchange Proxied(ProxiedExchange exchange) => new(
        exchange.ToRequest(SimulatedSites.ProxiedHost, world.Random),
        new Response(exchange.Status)
        {
            Line = Bytes($"\r\n{exchange.Mark}\r\n"),
            Content = exchange.HasContent || exchange.Framing == AnswerFraming.Length ? [exchange.Content] : [],
            BringsContent = exchange.HasContent,
            NamesLength = exchange.Tunnel is null && exchange.Framing == AnswerFraming.Length && exchange.Status is not (204 or 304),
            MayEnd = !exchange.RequestBody.IsEmpty,
            IsOfUpstream = true,
        })
    {
        Proxied = exchange,
    };

    private static Exchange Redirected(string fields, int owner, int number) => new(
        Bytes($"GET /go/{owner}/{number} HTTP/1.1\r\n{fields}\r\n"),
        StatusText(302, "302 Found\r\n") with { Line = Bytes($"\r\nLocation: /gone/{owner}/{number}\r\n") });

    private static Exchange Posted(string fields, int bytes) => new(
        Bytes($"POST / HTTP/1.1\r\n{fields}Content-Length: {bytes}\r\n\r\n{new string('b', bytes)}"),
        StatusText(405, "405 Method Not Allowed\r\n"));

    /// <summary>A file of the site that is deployed: of one release or another, but all of it.</summary>
    private Exchange Released(int way)
    {
        int fitting = 1;
        while (fitting < SimulatedReleases.Targets.Count && SimulatedReleases.BytesMin(fitting) <= world.Shape.ResponseBytesMax)
        {
            fitting++;
        }

        int file = world.Random.Below(fitting);
        ReleasedFile[] versions = [.. sites.Releases.VersionsOf(file, way)];
        string head = $"{SimulatedReleases.Targets[file]} HTTP/1.1\r\nHost: {SimulatedSites.DeployedHost}\r\n";
        int first = world.Random.Below(SimulatedReleases.BytesMin(file));
        return world.Random.Below(5) switch
        {
            0 => OfReleases($"HEAD {head}\r\n", versions, version => WholeOf(version) with { BringsContent = false }),
            1 => OfReleases(
                $"GET {head}Range: bytes={first}-{first + 9}\r\n\r\n",
                versions,
                version => WholeOf(version) with { Status = 206, Content = [version.Content.AsMemory(first, Math.Min(10, version.Content.Length - first))] }),
            2 => OfReleases(
                $"GET {head}If-None-Match: {versions[0].EntityTag}\r\n\r\n",
                versions,
                version => version == versions[0]
                    ? WholeOf(version) with { Status = 304, BringsContent = false, NamesLength = false }
                    : WholeOf(version)),
            _ => OfReleases($"GET {head}\r\n", versions, WholeOf),
        };
    }

    private static Exchange OfReleases(string request, ReleasedFile[] versions, Func<ReleasedFile, Response> response)
    {
        Response[] responses = [.. versions.Select(response)];
        return new Exchange(Bytes(request), responses[0]) { OfReleases = responses };
    }

    private static Response WholeOf(ReleasedFile version) =>
        new(200) { Line = Bytes($"\r\nETag: {version.EntityTag}\r\n"), Content = [version.Content] };

    private Exchange Range(SiteFile file, int host, string fields)
    {
        int first = world.Random.Below(file.Content.Length);
        int last = first + world.Random.Below(file.Content.Length - first);
        return new(
            Bytes($"GET {file.Target} HTTP/1.1\r\n{fields}Range: bytes={first}-{last}\r\n\r\n"),
            new Response(206) { Line = TagLine(file, host), Content = [file.Content.AsMemory(first, last + 1 - first)] },
            file.Content);
    }

    private Exchange Ranges(SiteFile file, int host, string fields)
    {
        int firstLast = world.Random.Below(10);
        int second = world.Random.Between(MergedGap + 10, file.Content.Length - 1);
        int secondLast = Math.Min(second + world.Random.Below(15), file.Content.Length - 1);
        return new(
            Bytes($"GET {file.Target} HTTP/1.1\r\n{fields}Range: bytes=0-{firstLast},{second}-{secondLast}\r\n\r\n"),
            new Response(206) { Line = TagLine(file, host), File = file, Parts = [(0, firstLast), (second, secondLast)] },
            file.Content);
    }

    private SiteFile DrawFile()
    {
        int fitting = 1;
        while (fitting < sites.Files.Count && sites.Files[fitting].Content.Length <= world.Shape.ResponseBytesMax)
        {
            fitting++;
        }

        // Rather a small one: what is large says the same in more time.
        return sites.Files[Math.Min(world.Random.Below(fitting), world.Random.Below(sites.Files.Count))];
    }

    private static Response Whole(SiteFile file, int host) => new(200) { Line = TagLine(file, host), Content = [file.Content] };

    private static Response StatusText(int status, string text) => new(status) { Content = [Bytes(text)] };

    private static byte[] TagLine(SiteFile file, int host) => Bytes($"\r\nETag: {file.EntityTags[host]}\r\n");

    private static byte[] Bytes(string text) => Encoding.ASCII.GetBytes(text);
}
