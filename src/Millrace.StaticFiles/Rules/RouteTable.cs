using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Rules;

/// <summary>
/// The routes of one phase. The first match in their order applies. Exact routes are found by hash, so that a site that moved thousands of
/// pages pays only for routes with wildcards.
/// </summary>
internal sealed class RouteTable
{
    private readonly Route[] _routes;

    /// <summary>The indexes of the routes with wildcards, in order.</summary>
    private readonly int[] _patterns;
    private readonly Dictionary<byte[], int[]> _exact;
    private readonly Dictionary<byte[], int[]>.AlternateLookup<ReadOnlySpan<byte>> _exactByPath;

    public RouteTable(IEnumerable<Route> routes)
    {
        _routes = [.. routes];
        _patterns = [.. Enumerable.Range(0, _routes.Length).Where(index => _routes[index].ExactPath is null)];
        _exact = Enumerable.Range(0, _routes.Length)
            .Where(index => _routes[index].ExactPath is not null)
            .GroupBy(index => _routes[index].ExactPath!, PathBytes.Comparer)
            .ToDictionary(group => group.Key, group => group.ToArray(), PathBytes.Comparer);
        _exactByPath = _exact.GetAlternateLookup<ReadOnlySpan<byte>>();
    }

    public bool IsEmpty => _routes.Length == 0;

    public RuleMatch Match(ReadOnlySpan<byte> decodedPath, ReadOnlySpan<byte> query, Span<byte> scratch, out RuleTarget target)
    {
        ReadOnlySpan<int> exact = _exactByPath.TryGetValue(decodedPath, out int[]? indexes) ? indexes : [];
        ReadOnlySpan<int> patterns = _patterns;
        while (!exact.IsEmpty || !patterns.IsEmpty)
        {
            // Merges two ascending lists.
            bool isExactNext = !exact.IsEmpty && (patterns.IsEmpty || exact[0] < patterns[0]);
            int index = isExactNext ? exact[0] : patterns[0];
            exact = isExactNext ? exact[1..] : exact;
            patterns = isExactNext ? patterns : patterns[1..];

            RuleMatch match = _routes[index].Apply(decodedPath, query, scratch, out target);
            if (match != RuleMatch.None)
            {
                return match;
            }
        }

        target = default;
        return RuleMatch.None;
    }
}
