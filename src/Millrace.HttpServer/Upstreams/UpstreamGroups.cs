using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Abstractions;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Rules;

namespace Millrace.HttpServer.Upstreams;

/// <summary>
/// The groups of upstreams of all rules: rules with the same targets share one. Made once for a configuration; the next configuration's
/// takes over those that stay, with their addresses, health and connections, and all counters. Immutable; any thread.
/// </summary>
internal sealed class UpstreamGroups : IDisposable
{
    /// <summary>By the targets of a rule: rules of a site's own files are made again whenever these change.</summary>
    private readonly Dictionary<string, UpstreamGroup> _byTargets = new(StringComparer.Ordinal);
    private readonly Dictionary<(string Targets, UpstreamOptions Options), UpstreamGroup> _groups = [];

    /// <param name="rules">The rules of all sites.</param>
    /// <param name="options">The limits of all groups.</param>
    /// <param name="reactors">How many reactors share the connections of a target.</param>
    /// <param name="previous">The groups until now, of which those that stay are taken over; null at the start.</param>
    /// <param name="resolve">Resolves names; null for the system's resolver.</param>
    /// <param name="logging">Creates the logger for failures; null for none.</param>
    /// <exception cref="SiteException">A rule's target is not valid.</exception>
    public UpstreamGroups(
        IEnumerable<ProxyRule> rules,
        UpstreamOptions options,
        int reactors,
        UpstreamGroups? previous = null,
        ResolveName? resolve = null,
        ILoggerFactory? logging = null)
    {
        Counters = previous?.Counters ?? new UpstreamCounterTable();
        ILogger logger = (logging ?? NullLoggerFactory.Instance).CreateLogger("Millrace.Upstreams");
        foreach (ProxyRule rule in rules)
        {
            UpstreamTarget[] targets = [.. rule.Targets.Select(UpstreamTarget.Parse)];
            (string, UpstreamOptions) key = (string.Join(' ', targets.Select(static target => target.Text)), options);
            if (!_groups.TryGetValue(key, out UpstreamGroup? group))
            {
                group = previous?._groups.GetValueOrDefault(key) ?? new UpstreamGroup(
                    targets, options, reactors, new UpstreamLog(logger), resolve);
                _groups.Add(key, group);
            }

            _byTargets[rule.TargetsText] = group;
        }
    }

    /// <summary>No rules.</summary>
    public static UpstreamGroups None { get; } = new([], new UpstreamOptions(), 1);

    public IEnumerable<UpstreamGroup> All => _groups.Values;

    /// <summary>What all reactors have counted since the start, also with upstreams of earlier configurations.</summary>
    public UpstreamCounterTable Counters { get; }

    public UpstreamGroup For(string targets) => _byTargets[targets];

    /// <summary>Ends the groups that the next configuration has not taken over.</summary>
    public void DisposeExcept(UpstreamGroups next)
    {
        foreach (UpstreamGroup group in All.Except(next.All))
        {
            group.Dispose();
        }
    }

    public void Dispose() => DisposeExcept(None);
}
