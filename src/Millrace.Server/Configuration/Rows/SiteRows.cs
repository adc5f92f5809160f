using Millrace.StaticFiles.Options;

namespace Millrace.Server.Configuration.Rows;

/// <summary>The options of a site, from <see cref="SiteOptionTable"/>.</summary>
internal static class SiteRows
{
    /// <summary>The keys of rules in a file.</summary>
    private static readonly Dictionary<string, string> Templates = new()
    {
        ["error-page"] = "{status}={page}",
        ["mime"] = "{extension}={type}",
        ["cache-control"] = "{path}={value}",
        ["header"] = "[{path}=]{name}: {value}",
        ["redirect"] = "{from} {to}[ {status}]",
        ["rewrite"] = "{from} {to}",
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
        Template = Templates.GetValueOrDefault(row.Key),
        Apply = (options, text) => options with { Site = row.With(options.Site, text) },
    });
}
