using Millrace.Server.Configuration.Rows;

namespace Millrace.Server.Configuration;

/// <summary>
/// All options of the server. Each option is one row here and one property below <see cref="ServeOptions"/>; everything that reads or
/// documents options is generated from the rows.
/// </summary>
internal static class OptionTable
{
    public static IReadOnlyList<ServerOption> All { get; } =
    [
        .. ListenRows.All, .. EngineRows.Reactors, .. HttpsRows.All, .. AcmeRows.All, .. ProxyRows.All, .. UpstreamRows.All,
        .. AdminRows.All, .. SiteRows.All, .. RateLimitRows.OfSites, .. LimitRows.All, .. RateLimitRows.OfServer, .. EngineRows.Sizes,
        .. ServiceRows.All,
    ];

    /// <summary>The row of a key, which must exist.</summary>
    public static ServerOption Get(string key) => All.First(option => option.Key == key);
}
