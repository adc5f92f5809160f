namespace Millrace.Server.Options.Reference;

/// <summary>Options that are explained together.</summary>
/// <param name="Title">What they are about.</param>
/// <param name="Group">Their group in the file; empty for none.</param>
/// <param name="Options">In the order of the table.</param>
internal sealed record OptionSection(string Title, string Group, IReadOnlyList<ServerOption> Options)
{
    /// <summary>All options of the table, each in one.</summary>
    public static IReadOnlyList<OptionSection> All { get; } =
    [
        new("Where and what", "", [.. OfServer.Where(static option => GroupOf(option).Length == 0)]),
        new("Sites", "", [.. OptionTable.All.Where(static option => option.Scope == OptionScope.Site)]),
        .. OfServer.Where(static option => GroupOf(option).Length > 0).GroupBy(GroupOf).Select(static group =>
            new OptionSection(char.ToUpperInvariant(group.Key[0]) + group.Key[1..], group.Key, [.. group])),
    ];

    private static IEnumerable<ServerOption> OfServer => OptionTable.All.Where(static option => option.Scope == OptionScope.Server);

    /// <summary>What is to be known of all of them, in Markdown.</summary>
    public string Note =>
        Group.Length > 0 ? $"In the file, the group `{Group}`."
        : Options.All(static option => option.Scope == OptionScope.Site) ? "Of all sites, and of a host its own."
        : "";

    private static string GroupOf(ServerOption option) => option.Path[..Math.Max(0, option.Path.LastIndexOf('.'))];
}
