using System.Diagnostics.CodeAnalysis;
using Millrace.Http;
using Millrace.Server.Configuration;
using Millrace.StaticFiles;

namespace Millrace.Server;

/// <summary>A virtual host, on the command line <c>NAME=ROOT</c>.</summary>
/// <param name="Name">The host's name or a wildcard such as <c>*.example.org</c>; empty for the site of all other hosts.</param>
/// <param name="Site">The site's options.</param>
internal sealed record HostedSite(string Name, SiteOptions Site)
{
    private const string Wildcard = "*.";

    public const string Form = "example.org=./folder or '*.example.org=./folder'";

    /// <summary>The configured settings, merged from all sources.</summary>
    public SettingSet Configured { get; init; } = SettingSet.Empty;

    /// <summary>Parses <c>NAME=ROOT</c>. The problem is a clause with the reason, if there is one besides the form.</summary>
    public static bool TryParse(string text, [NotNullWhen(true)] out HostedSite? host, out string? problem)
    {
        host = null;
        int equals = text.IndexOf('=', StringComparison.Ordinal);
        if (!TryReadName(equals < 0 ? "" : text[..equals], out string? name, out problem))
        {
            return false;
        }

        host = equals + 1 < text.Length ? new HostedSite(name, new SiteOptions { Root = text[(equals + 1)..] }) : null;
        return host is not null;
    }

    /// <summary>Converts a host name to the form that clients send: A-labels for international names.</summary>
    public static bool TryReadName(string text, [NotNullWhen(true)] out string? name, out string? problem)
    {
        name = null;
        bool isWildcard = text.StartsWith(Wildcard, StringComparison.Ordinal);
        if (!DomainName.TryEncode(isWildcard ? text[Wildcard.Length..] : text, out string? plain, out problem)
            || Uri.CheckHostName(plain.Trim('[', ']')) == UriHostNameType.Unknown)
        {
            return false;
        }

        name = isWildcard ? Wildcard + plain : plain;
        return true;
    }

    /// <summary>Whether another host has the same options, apart from its name.</summary>
    public bool HasSameOptions(HostedSite other) =>
        Site.Root == other.Site.Root
        && Site.Fields.SequenceEqual(other.Site.Fields)
        && OptionTable.All.Where(static option => option.Scope == OptionScope.Site)
            .All(option => Configured.TextsOf(option).SequenceEqual(other.Configured.TextsOf(option), StringComparer.Ordinal));

    public bool IsFor(string name) => string.Equals(Name, name, StringComparison.OrdinalIgnoreCase);
}
