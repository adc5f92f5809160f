using Millrace.Server.Configuration.Rows;
using Millrace.Server.Configuration.Settings;

namespace Millrace.Server.Configuration;

/// <summary>
/// All options of the server. Each option is one row here and one property below <see cref="ServeOptions"/>; everything that reads or
/// documents options is generated from the rows.
/// </summary>
internal static class OptionTable
{
    public static IReadOnlyList<ServerOption> All { get; } =
    [
        .. ListenRows.All, .. BackendRows.All, .. HttpsRows.All, .. ProxyRows.All, .. AccessLogRows.All, .. AdminRows.All, .. SiteRows.All,
        .. LimitRows.All, .. EngineRows.All, .. ServiceRows.All,
    ];

    /// <summary>Checks across options, after each value alone is valid.</summary>
    public static IReadOnlyList<Action<ServeOptions, SettingSet, ICollection<OptionError>>> Checks { get; } =
        [HttpsRows.Check, ProxyRows.Check, AccessLogRows.Check, AdminRows.Check, EngineRows.Check];

    /// <summary>The row of a key, which must exist.</summary>
    public static ServerOption Get(string key) => All.First(option => option.Key == key);
}
