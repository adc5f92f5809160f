using System.Buffers.Text;
using System.Net;
using System.Net.Sockets;
using System.Text;
using Millrace.Http;
using Millrace.Server.Metrics;

namespace Millrace.Server.Admin;

/// <summary>The admin pages by path. All are read-only. Any thread.</summary>
internal sealed class AdminPages
{
    private readonly AllowedHosts _hosts;
    private readonly AdminState _state;
    private readonly Dictionary<string, Func<string, AdminResponse>> _byPath;

    public AdminPages(AllowedHosts hosts, AdminState state)
    {
        _hosts = hosts;
        _state = state;
        _byPath = new(StringComparer.Ordinal)
        {
            ["/"] = static _ => DashboardPage.Response,
            ["/healthz"] = _ => Health(),
            ["/readyz"] = _ => Ready(),
            ["/metrics"] = _ => new AdminResponse(200, PrometheusText.ContentType, _state.WriteMetrics(), []),
            ["/stats.json"] = query => new AdminResponse(200, "application/json", _state.WriteStats(After(query)), []),
        };
    }

    /// <summary>Responds to a request that was parsed from these bytes.</summary>
    public AdminResponse Response(RequestHead head, ReadOnlySpan<byte> bytes)
    {
        if (!_hosts.Allows(head.Authority.In(bytes)))
        {
            return AdminResponse.Text(
                421, "This host name is not allowed for the admin pages: use an IP address, or allow the name with --admin-host NAME.");
        }

        ReadOnlySpan<byte> path = head.Target.Path.In(bytes);
        if (!_byPath.TryGetValue(path.IsEmpty ? "/" : Encoding.Latin1.GetString(path), out Func<string, AdminResponse>? page))
        {
            return AdminResponse.Text(404, "There is no such page. Pages: " + string.Join(", ", _byPath.Keys) + ".");
        }

        return head.Method is Method.Get or Method.Head
            ? page(Encoding.Latin1.GetString(head.Target.Query.In(bytes)))
            : AdminResponse.Text(405, "Only GET and HEAD are supported.", "Allow: GET, HEAD\r\n");
    }

    private AdminResponse Health() =>
        _state.Trouble is { } trouble ? AdminResponse.Text(503, trouble) : AdminResponse.Text(200, "healthy");

    private AdminResponse Ready() =>
        AdminResponse.Text(
            _state.Readiness == Readiness.Ready ? 200 : 503,
            string.Join('\n', [_state.Readiness.ToString().ToLowerInvariant(), .. _state.CertificateTroubles]));

    /// <summary>The number of "?after="; 0 if missing, for all samples.</summary>
    private static long After(string query)
    {
        const string Parameter = "?after=";
        return query.StartsWith(Parameter, StringComparison.Ordinal)
            && Utf8Parser.TryParse(Encoding.Latin1.GetBytes(query[Parameter.Length..]), out long number, out _)
            ? number
            : 0;
    }
}

/// <summary>The response of an admin page. Fields are further lines of its head, each with its line break.</summary>
internal sealed record AdminResponse(int Status, string ContentType, byte[] Body, byte[] Fields)
{
    /// <summary>A response of one line of text.</summary>
    public static AdminResponse Text(int status, string line, string fields = "") =>
        new(status, "text/plain; charset=utf-8", Encoding.UTF8.GetBytes($"{line}\n"), Encoding.ASCII.GetBytes(fields));
}

/// <summary>
/// The live page: one embedded file with its style and script. The content security policy lists their hashes, so that no other code runs
/// and no other host is contacted.
/// </summary>
internal static class DashboardPage
{
    /// <summary>SHA-256 in Base64, written down, and compared by a test: computing them would load OpenSSL, which may be missing.</summary>
    public const string StyleHash = "G1zM9vweFFsvdu+31L92tm4K7UZY/hh2IWdZcA5qxE0=";
    public const string ScriptHash = "180P6WBSNzXX6n6ZyQnBBi0qjEN7EjZIjbBQglToyxU=";

    private static AdminResponse? Cached;

    /// <summary>Read on first use.</summary>
    public static AdminResponse Response => Cached ??= Make();

    private static AdminResponse Make()
    {
        string page = EmbeddedText.Read("dashboard.html");
        string policy = "default-src 'none'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
            + $"frame-ancestors 'none'; style-src 'sha256-{StyleHash}'; script-src 'sha256-{ScriptHash}'; "
            + "require-trusted-types-for 'script'";
        byte[] fields = Encoding.ASCII.GetBytes($"Content-Security-Policy: {policy}\r\nReferrer-Policy: no-referrer\r\n");
        return new AdminResponse(200, "text/html; charset=utf-8", Encoding.UTF8.GetBytes(page), fields);
    }
}

/// <summary>
/// The host names under which the admin pages respond. A foreign web page can make its own name resolve to this machine (DNS rebinding),
/// and would then read the pages in a user's browser; IP addresses and localhost cannot be rebound.
/// </summary>
internal sealed class AllowedHosts(IReadOnlyList<string> names)
{
    /// <param name="authority">Host and optional port; empty if the client sends no host, which no browser does.</param>
    public bool Allows(ReadOnlySpan<byte> authority)
    {
        if (authority.IsEmpty || authority[0] == '[')
        {
            // The parser has checked that brackets contain an address.
            return true;
        }

        int colon = authority.LastIndexOf((byte)':');
        string host = Encoding.Latin1.GetString(colon < 0 ? authority : authority[..colon]);
        host = host.Length > 1 && host[^1] == '.' ? host[..^1] : host;
        return IsLocalhost(host) || IsAddress(host) || names.Contains(host, StringComparer.OrdinalIgnoreCase);
    }

    /// <summary>Names below localhost are this machine too (RFC 6761, section 6.3).</summary>
    private static bool IsLocalhost(string host) =>
        host.Equals("localhost", StringComparison.OrdinalIgnoreCase)
        || (host.Length > 10 && host.EndsWith(".localhost", StringComparison.OrdinalIgnoreCase));

    /// <summary>Dotted decimal only: browsers convert every other form of an address to it.</summary>
    private static bool IsAddress(string host) =>
        host.AsSpan().Count('.') == 3
        && IPAddress.TryParse(host, out IPAddress? address)
        && address.AddressFamily == AddressFamily.InterNetwork;
}
