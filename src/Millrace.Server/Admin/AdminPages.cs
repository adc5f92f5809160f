using System.Buffers.Text;
using System.Text;
using Millrace.Http;
using Millrace.Server.Admin.Dashboard;
using Millrace.Server.Metrics;

namespace Millrace.Server.Admin;

/// <summary>What the admin listener shows, by path. Nothing here changes anything. Any thread.</summary>
internal sealed class AdminPages
{
    private readonly AllowedHosts _hosts;
    private readonly AdminState _state;
    private readonly Dictionary<string, Func<string, AdminAnswer>> _byPath;

    public AdminPages(AllowedHosts hosts, AdminState state)
    {
        _hosts = hosts;
        _state = state;
        _byPath = new(StringComparer.Ordinal)
        {
            ["/"] = static _ => DashboardPage.Answer,
            ["/healthz"] = _ => Health(),
            ["/readyz"] = _ => Ready(),
            ["/metrics"] = _ => new AdminAnswer(200, PrometheusText.ContentType, _state.WriteMetrics(), []),
            ["/stats.json"] = query => new AdminAnswer(200, "application/json", _state.WriteStats(After(query)), []),
        };
    }

    /// <summary>Answers a request that was parsed from these bytes.</summary>
    public AdminAnswer Answer(RequestHead head, ReadOnlySpan<byte> bytes)
    {
        if (!_hosts.Allows(head.Authority.In(bytes)))
        {
            return AdminAnswer.Text(421, "The admin pages have other names: ask by an IP address, or start with --admin-host NAME.");
        }

        ReadOnlySpan<byte> path = head.Target.Path.In(bytes);
        if (!_byPath.TryGetValue(path.IsEmpty ? "/" : Encoding.Latin1.GetString(path), out Func<string, AdminAnswer>? page))
        {
            return AdminAnswer.Text(404, "There is no such page. There are: " + string.Join(", ", _byPath.Keys) + ".");
        }

        return head.Method is Method.Get or Method.Head
            ? page(Encoding.Latin1.GetString(head.Target.Query.In(bytes)))
            : AdminAnswer.Text(405, "Pages here are read, with GET or HEAD.", "Allow: GET, HEAD\r\n");
    }

    private AdminAnswer Health() =>
        _state.Trouble is { } trouble ? AdminAnswer.Text(503, trouble) : AdminAnswer.Text(200, "healthy");

    private AdminAnswer Ready() =>
        AdminAnswer.Text(_state.Readiness == Readiness.Ready ? 200 : 503, _state.Readiness.ToString().ToLowerInvariant());

    /// <summary>The number behind "?after="; 0 for none, which is before all.</summary>
    private static long After(string query)
    {
        const string Parameter = "?after=";
        return query.StartsWith(Parameter, StringComparison.Ordinal)
            && Utf8Parser.TryParse(Encoding.Latin1.GetBytes(query[Parameter.Length..]), out long number, out _)
            ? number
            : 0;
    }
}
