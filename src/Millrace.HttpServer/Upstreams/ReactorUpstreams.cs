using Millrace.Engine;
using Millrace.StaticFiles.Rules;

namespace Millrace.HttpServer.Upstreams;

/// <summary>The pools of one reactor, by group of upstreams. Owned by the reactor's session state. Reactor thread only.</summary>
internal sealed class ReactorUpstreams(Reactor reactor, UpstreamGroups groups)
{
    private readonly Dictionary<UpstreamGroup, UpstreamPool> _pools = [];

    /// <summary>By the text of the upstream.</summary>
    private readonly Dictionary<string, UpstreamCounters> _counters = new(StringComparer.Ordinal);
    private UpstreamGroups _groups = groups;
    private string? _lastTargets;
    private UpstreamPool? _lastPool;

    public IEnumerable<UpstreamPool> Pools => _pools.Values;

    /// <summary>The pool for a rule's upstreams; rules with the same ones share it.</summary>
    public UpstreamPool PoolFor(ProxyRule rule) => PoolFor(rule.TargetsText);

    /// <summary>The pool for upstreams by their text: see <see cref="ProxyRule.TargetsText"/>.</summary>
    public UpstreamPool PoolFor(string targets)
    {
        if (!ReferenceEquals(targets, _lastTargets))
        {
            _lastPool = Find(targets);
            _lastTargets = targets;
        }

        return _lastPool!;
    }

    /// <summary>Uses other groups from now on; pools of groups that are gone end with their last exchange.</summary>
    public void Replace(UpstreamGroups groups)
    {
        _groups = groups;
        _lastTargets = null;
        foreach (UpstreamGroup gone in _pools.Keys.Except(groups.All).ToArray())
        {
            _pools[gone].Close();
            _pools.Remove(gone);
        }
    }

    private UpstreamPool Find(string targets)
    {
        UpstreamGroup group = _groups.For(targets);
        if (!_pools.TryGetValue(group, out UpstreamPool? pool))
        {
            pool = new UpstreamPool(reactor, group, CountersOf);
            _pools.Add(group, pool);
        }

        return pool;
    }

    private UpstreamCounters CountersOf(string upstream)
    {
        if (!_counters.TryGetValue(upstream, out UpstreamCounters? counters))
        {
            counters = new UpstreamCounters(upstream);
            _counters.Add(upstream, counters);
            _groups.Counters.Add(counters);
        }

        return counters;
    }
}
