namespace Millrace.Server.Configuration;

/// <summary>A section of the help and the reference: the options of one group.</summary>
/// <param name="Title">The heading.</param>
/// <param name="Group">The options' group in the file, or empty.</param>
/// <param name="Options">The options, in the order of the table.</param>
internal sealed record OptionSection(string Title, string Group, IReadOnlyList<ServerOption> Options)
{
    /// <summary>All sections. Each option is in one of them.</summary>
    public static IReadOnlyList<OptionSection> All { get; } =
    [
        new("General", "", [.. OfServer.Where(static option => GroupOf(option).Length == 0)]),
        new("Sites", "", [.. OptionTable.All.Where(static option => option.Scope == OptionScope.Site)]),
        .. OfServer.Where(static option => GroupOf(option).Length > 0).GroupBy(GroupOf).Select(static group =>
            new OptionSection(TitleOf(group.Key), group.Key, [.. group])),
    ];

    private static IEnumerable<ServerOption> OfServer => OptionTable.All.Where(static option => option.Scope == OptionScope.Server);

    /// <summary>A note on all options of the section, in Markdown.</summary>
    public string Note =>
        Group.Length > 0 ? $"Group `{Group}` in the file."
        : Options.All(static option => option.Scope == OptionScope.Site) ? "For all sites; each host can have its own."
        : "";

    private static string GroupOf(ServerOption option) => option.Path[..Math.Max(0, option.Path.LastIndexOf('.'))];

    private static string TitleOf(string group) =>
        group is "https" or "acme" ? group.ToUpperInvariant() : char.ToUpperInvariant(group[0]) + group[1..];
}
