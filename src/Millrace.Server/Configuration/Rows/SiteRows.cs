using Millrace.StaticFiles.Options;

namespace Millrace.Server.Configuration.Rows;

/// <summary>The options of a site, from <see cref="SiteOptionTable"/>.</summary>
internal static class SiteRows
{
    /// <summary>The parts of rules, by which a file may write them as objects.</summary>
    private static readonly Dictionary<string, RulePart[]> Parts = new()
    {
        ["error-page"] = [new("status", After: "="), new("page")],
        ["mime"] = [new("extension", After: "="), new("type")],
        ["cache-control"] = [new("path", After: "="), new("value")],
        ["header"] = [new("path", After: "=", IsOptional: true), new("name", After: ": "), new("value")],
        ["redirect"] = [new("from", After: " "), new("to"), new("status", Before: " ", IsOptional: true)],
        ["rewrite"] = [new("from", After: " "), new("to")],
    };

    public static IEnumerable<ServerOption> All => SiteOptionTable.All.Select(static row => new ServerOption
    {
        Key = row.Key,
        Scope = OptionScope.Site,
        Kind = row.Kind,
        ValueForm = row.ValueForm,
        Help = row.Help,
        Default = row.Default,
        Occurrence = row.Occurrence,
        Choices = row.Choices.Count > 0 || row.Default != "auto" ? row.Choices : [row.Default],
        BareValue = row.BareValue,
        Parts = Parts.GetValueOrDefault(row.Key) ?? [],
        Set = (options, text) => options with { Site = row.With(options.Site, text) },
    });
}
