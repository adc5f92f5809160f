using Microsoft.Extensions.Logging;
using Millrace.Engine;
using Millrace.Engine.Filters;
using Millrace.HttpServer.Upstreams;
using Millrace.Server.Configuration;
using Millrace.StaticFiles.Rules;
using Millrace.Tls;

namespace Millrace.Server.Serving;

/// <summary>
/// The applications that the sites of this process send requests to, and the TLS of those with https. Not thread-safe, but any thread reads
/// their status. Throws <see cref="TlsException"/> if that TLS cannot be set up.
/// </summary>
internal sealed class SiteUpstreams : IDisposable
{
    private readonly int _reactors;
    private readonly ILoggerFactory _logging;

    /// <summary>The options of the start: which authorities are trusted changes with a restart only.</summary>
    private readonly ServeOptions _started;
    private volatile UpstreamGroups _current;
    private TlsClient? _tls;

    /// <summary>One delegate for all configurations: groups with equal options stay.</summary>
    private Func<UpstreamTarget, Func<Connection, IReadOnlyList<ConnectionFilter>>>? _filters;

    public SiteUpstreams(ServeOptions options, int reactors, ILoggerFactory logging)
    {
        (_started, _reactors, _logging) = (options, reactors, logging);
        _current = Make(options, previous: null);
    }

    public UpstreamGroups Current => _current;

    /// <summary>What the reactors have done with each application, and whether they avoid it.</summary>
    public IReadOnlyCollection<UpstreamStatus> Status(ReactorGroup group) => UpstreamStatus.All(_current, group.Reactors[0].ClockMs);

    /// <summary>The applications of another configuration: those that stay keep connections and known health.</summary>
    public UpstreamGroups Next(ServeOptions next) => Make(next, Current);

    /// <summary>Ends what was made for a configuration that is not used.</summary>
    public void Discard(UpstreamGroups next) => next.DisposeExcept(Current);

    /// <summary>Makes these the current ones, and ends all others.</summary>
    public void Replace(UpstreamGroups next)
    {
        UpstreamGroups before = Current;
        _current = next;
        before.DisposeExcept(next);
        _ = _tls?.TryReload();
    }

    public void Dispose()
    {
        Current.Dispose();
        _tls?.Dispose();
    }

    private UpstreamGroups Make(ServeOptions options, UpstreamGroups? previous)
    {
        ProxyRule[] rules = [.. options.Sites.SelectMany(static hosted => hosted.Site.UpstreamRules)];
        if (_tls is null && rules.Any(static rule => rule.Targets.Any(static target => ProxyTarget.Parse(target).IsTls)))
        {
            TlsClient tls = TlsClient.Create(_started.UpstreamAuthorities, _logging);
            (_tls, _filters) = (tls, target => tls.FiltersFor(target.Host, target.Port));
        }

        return new UpstreamGroups(rules, options.Upstreams with { TlsFilters = _filters }, _reactors, previous, logging: _logging);
    }
}
