using System.Diagnostics.CodeAnalysis;
using Millrace.Server.Options;
using Millrace.Server.Options.Settings;
using Millrace.StaticFiles;

namespace Millrace.Server;

/// <summary>A virtual host, on the command line <c>NAME=ROOT</c>.</summary>
/// <param name="Name">The host's name, perhaps <c>*.example.org</c>; empty for the site of all others.</param>
/// <param name="Site">What is served for it.</param>
internal sealed record HostedSite(string Name, SiteOptions Site)
{
    public const string Form = "example.org=./folder or '*.example.org=./folder'";

    /// <summary>What was said of it, by all sources.</summary>
    public SettingSet Told { get; init; } = SettingSet.Empty;

    public static bool TryParse(string text, [NotNullWhen(true)] out HostedSite? host)
    {
        int equals = text.IndexOf('=', StringComparison.Ordinal);
        string name = equals < 0 ? "" : text[..equals];
        string plain = name.StartsWith("*.", StringComparison.Ordinal) ? name[2..] : name;
        bool isName = Uri.CheckHostName(plain.Trim('[', ']')) != UriHostNameType.Unknown && plain.All(char.IsAscii);
        host = isName && equals + 1 < text.Length ? new HostedSite(name, new SiteOptions { Root = text[(equals + 1)..] }) : null;
        return host is not null;
    }

    /// <summary>Whether another is told the same, its name apart.</summary>
    public bool IsServedLike(HostedSite other) =>
        Site.Root == other.Site.Root
        && Site.Fields.SequenceEqual(other.Site.Fields)
        && OptionTable.All.Where(static option => option.Scope == OptionScope.Site)
            .All(option => Told.TextsOf(option).SequenceEqual(other.Told.TextsOf(option), StringComparer.Ordinal));

    public bool IsFor(string name) => string.Equals(Name, name, StringComparison.OrdinalIgnoreCase);
}
