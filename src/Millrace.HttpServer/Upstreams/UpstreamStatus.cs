namespace Millrace.HttpServer.Upstreams;

/// <summary>What all reactors have done with one target, or with a group of several, for metrics.</summary>
internal sealed class UpstreamStatus(string upstream)
{
    /// <summary>The text of the target, or of the group.</summary>
    public string Upstream { get; } = upstream;

    /// <summary>Whether it is in the present configuration; what was counted with an earlier one's stays.</summary>
    public bool IsInUse { get; private set; }

    /// <summary>Whether an address of the target is not avoided; null for a group, and for a target that is not in use.</summary>
    public bool? IsHealthy { get; private set; }

    public UpstreamCounters Total { get; } = new(upstream);

    /// <summary>All upstreams, sorted by their text. Any thread.</summary>
    /// <param name="groups">The groups in use.</param>
    /// <param name="nowMs">The reactors' monotonic clock.</param>
    public static IReadOnlyCollection<UpstreamStatus> All(UpstreamGroups groups, long nowMs)
    {
        var statuses = new SortedDictionary<string, UpstreamStatus>(StringComparer.Ordinal);
        foreach (UpstreamGroup group in groups.All)
        {
            UpstreamPeer[] peers = group.Peers;
            foreach (UpstreamTarget target in group.Targets)
            {
                UpstreamStatus status = Of(target.Text);
                status.IsInUse = true;
                status.IsHealthy = status.IsHealthy == true || peers.Any(peer => peer.Target == target && !peer.IsDown(nowMs));
            }
        }

        foreach (UpstreamCounters counters in groups.Counters.All)
        {
            UpstreamStatus status = Of(counters.Upstream);
            status.Total.Add(counters);
            status.IsInUse |= groups.All.Any(group => group.Text == status.Upstream);
        }

        return statuses.Values;

        UpstreamStatus Of(string upstream)
        {
            if (!statuses.TryGetValue(upstream, out UpstreamStatus? status))
            {
                statuses.Add(upstream, status = new UpstreamStatus(upstream));
            }

            return status;
        }
    }
}
