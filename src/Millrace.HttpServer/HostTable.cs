using System.Text;
using Millrace.StaticFiles;

namespace Millrace.HttpServer;

/// <summary>
/// Maps hosts to sites (RFC 9110, section 7.2). Names match without case and port; "*.example.org" matches every name below example.org;
/// the first site serves all other names.
/// </summary>
internal sealed class HostTable
{
    private readonly (byte[] Name, int Site)[] _names;
    private readonly (byte[] Suffix, int Site)[] _wildcards;

    /// <param name="hosts">The hosts; the first is the default and may have no name.</param>
    public HostTable(IReadOnlyList<(string? Name, Site Site)> hosts)
    {
        Sites = [.. hosts.Select(static host => host.Site)];
        (byte[] Name, int Site)[] named =
        [
            .. hosts.Select(static (host, index) => (Name: Encoding.ASCII.GetBytes(Normalize(host.Name)), Site: index))
                .Where(static host => host.Name.Length > 0),
        ];
        _names = [.. named.Where(static host => !host.Name.AsSpan().StartsWith("*."u8))];
        // The longest first: "*.a.example.org" before "*.example.org".
        _wildcards =
        [
            .. named.Where(static host => host.Name.AsSpan().StartsWith("*."u8))
                .Select(static host => (host.Name[1..], host.Site))
                .OrderByDescending(static host => host.Item1.Length),
        ];
    }

    public IReadOnlyList<Site> Sites { get; }

    /// <summary>The index of the site for an authority: a host and perhaps a port.</summary>
    public int Find(ReadOnlySpan<byte> authority)
    {
        if (Sites.Count == 1)
        {
            return 0;
        }

        ReadOnlySpan<byte> host = NameOf(authority);
        foreach ((byte[] name, int site) in _names)
        {
            if (name.Length == host.Length && Ascii.EqualsIgnoreCase(name, host))
            {
                return site;
            }
        }

        foreach ((byte[] suffix, int site) in _wildcards)
        {
            if (host.Length > suffix.Length && Ascii.EqualsIgnoreCase(suffix, host[^suffix.Length..]))
            {
                return site;
            }
        }

        return 0;
    }

    /// <summary>
    /// A configured name in the form of an authority without its port: an IPv6 address in brackets, a name without its final dot.
    /// </summary>
    private static string Normalize(string? name) => name switch
    {
        null => "",
        ['[', ..] => name,
        _ when name.Contains(':', StringComparison.Ordinal) => $"[{name}]",
        [_, .., '.'] => name[..^1],
        _ => name,
    };

    /// <summary>The host of an authority: without its port, and without the final dot of a name.</summary>
    public static ReadOnlySpan<byte> NameOf(ReadOnlySpan<byte> authority)
    {
        ReadOnlySpan<byte> host = WithoutPort(authority);

        // "example.org." is the absolute form of the same name.
        return host.Length > 1 && host[^1] == '.' ? host[..^1] : host;
    }

    public static ReadOnlySpan<byte> WithoutPort(ReadOnlySpan<byte> authority)
    {
        // "[::1]:80": the colons of an IPv6 address are within brackets.
        int colon = authority.LastIndexOf((byte)':');
        return colon > authority.LastIndexOf((byte)']') ? authority[..colon] : authority;
    }
}
