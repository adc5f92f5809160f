using Millrace.StaticFiles.Catalog;

namespace Millrace.StaticFiles.Rules;

/// <summary>
/// The routes of one phase. The first in their order that matches decides; exact ones are found by hash, so that a site
/// that moved thousands of pages pays for those with wildcards only.
/// </summary>
internal sealed class RouteTable
{
    private readonly Route[] _routes;

    /// <summary>The places of the routes with wildcards, in order.</summary>
    private readonly int[] _patterns;
    private readonly Dictionary<byte[], int[]> _exact;
    private readonly Dictionary<byte[], int[]>.AlternateLookup<ReadOnlySpan<byte>> _exactByPath;

    public RouteTable(IEnumerable<Route> routes)
    {
        _routes = [.. routes];
        _patterns = [.. Enumerable.Range(0, _routes.Length).Where(place => _routes[place].ExactPath is null)];
        _exact = Enumerable.Range(0, _routes.Length)
            .Where(place => _routes[place].ExactPath is not null)
            .GroupBy(place => _routes[place].ExactPath!, PathBytes.Comparer)
            .ToDictionary(group => group.Key, group => group.ToArray(), PathBytes.Comparer);
        _exactByPath = _exact.GetAlternateLookup<ReadOnlySpan<byte>>();
    }

    public bool IsEmpty => _routes.Length == 0;

    public RuleMatch Match(ReadOnlySpan<byte> decodedPath, ReadOnlySpan<byte> query, Span<byte> scratch, out RuleTarget target)
    {
        ReadOnlySpan<int> exact = _exactByPath.TryGetValue(decodedPath, out int[]? places) ? places : [];
        ReadOnlySpan<int> patterns = _patterns;
        while (!exact.IsEmpty || !patterns.IsEmpty)
        {
            // Two ascending lists, merged.
            bool isExactNext = !exact.IsEmpty && (patterns.IsEmpty || exact[0] < patterns[0]);
            int place = isExactNext ? exact[0] : patterns[0];
            exact = isExactNext ? exact[1..] : exact;
            patterns = isExactNext ? patterns : patterns[1..];

            RuleMatch match = _routes[place].Apply(decodedPath, query, scratch, out target);
            if (match != RuleMatch.None)
            {
                return match;
            }
        }

        target = default;
        return RuleMatch.None;
    }
}
