using System.Buffers.Text;
using System.Text;
using Millrace.Http;
using Millrace.Server.Admin.Dashboard;
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
        AdminResponse.Text(_state.Readiness == Readiness.Ready ? 200 : 503, _state.Readiness.ToString().ToLowerInvariant());

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

/// <summary>The response of an admin page.</summary>
/// <param name="Status">A status of RFC 9110.</param>
/// <param name="ContentType">The body's type.</param>
/// <param name="Body">The body.</param>
/// <param name="Fields">Further lines of the head, each with its line break.</param>
internal sealed record AdminResponse(int Status, string ContentType, byte[] Body, byte[] Fields)
{
    /// <summary>A response of one line of text.</summary>
    public static AdminResponse Text(int status, string line, string fields = "") =>
        new(status, "text/plain; charset=utf-8", Encoding.UTF8.GetBytes($"{line}\n"), Encoding.ASCII.GetBytes(fields));
}
