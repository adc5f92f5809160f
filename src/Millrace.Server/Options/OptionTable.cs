using Millrace.Server.Options.Rows;
using Millrace.Server.Options.Settings;

namespace Millrace.Server.Options;

/// <summary>
/// All options of the server. What users can tell it is one row here, in the rows of its concern, and one property below
/// <see cref="ServeOptions"/>; everything that reads or explains it is made from the row.
/// </summary>
internal static class OptionTable
{
    public static IReadOnlyList<ServerOption> All { get; } =
    [
        .. ListenRows.All, .. BackendRows.All, .. HttpsRows.All, .. ProxyRows.All, .. AccessLogRows.All, .. AdminRows.All, .. SiteRows.All,
        .. LimitRows.All, .. EngineRows.All, .. ServiceRows.All,
    ];

    /// <summary>What has to fit together, where each value alone is good.</summary>
    public static IReadOnlyList<Action<ServeOptions, SettingSet, ICollection<Complaint>>> Checks { get; } =
        [HttpsRows.Check, ProxyRows.Check, AccessLogRows.Check, AdminRows.Check, EngineRows.Check];

    /// <summary>The row of a key that is in the table.</summary>
    public static ServerOption Get(string key) => All.First(option => option.Key == key);
}
