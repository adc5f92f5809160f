using System.Text;
using Millrace.StaticFiles;

namespace Millrace.Web;

/// <summary>
/// Which site answers for which host (RFC 9110, section 7.2). Names are matched without case and port; "*.example.org" takes every name
/// below; what nobody claims is the first site's.
/// </summary>
internal sealed class HostTable
{
    private readonly (byte[] Name, int Site)[] _names;
    private readonly (byte[] Suffix, int Site)[] _wildcards;

    /// <param name="hosts">The first is the default, and may be without a name.</param>
    public HostTable(IReadOnlyList<(string? Name, Site Site)> hosts)
    {
        Sites = [.. hosts.Select(static host => host.Site)];
        (byte[] Name, int Site)[] named =
        [
            .. hosts.Select(static (host, index) => (Name: Encoding.ASCII.GetBytes(Spelt(host.Name)), Site: index))
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

    /// <summary>The index of the site for an authority: host and perhaps port.</summary>
    public int Find(ReadOnlySpan<byte> authority)
    {
        if (Sites.Count == 1)
        {
            return 0;
        }

        ReadOnlySpan<byte> host = WithoutPort(authority);
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

    /// <summary>As an authority has it once its port is gone: an IPv6 address in brackets, a name without its final dot.</summary>
    private static string Spelt(string? name) => name switch
    {
        null => "",
        ['[', ..] => name,
        _ when name.Contains(':', StringComparison.Ordinal) => $"[{name}]",
        [_, .., '.'] => name[..^1],
        _ => name,
    };

    private static ReadOnlySpan<byte> WithoutPort(ReadOnlySpan<byte> authority)
    {
        // "[::1]:80": the colons of an address are within brackets.
        int colon = authority.LastIndexOf((byte)':');
        ReadOnlySpan<byte> host = colon > authority.LastIndexOf((byte)']') ? authority[..colon] : authority;

        // "example.org." is the same name, spelt absolutely.
        return host.Length > 1 && host[^1] == '.' ? host[..^1] : host;
    }
}
