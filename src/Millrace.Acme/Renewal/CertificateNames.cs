using System.Globalization;
using System.Net;
using System.Net.Sockets;

namespace Millrace.Acme.Renewal;

/// <summary>The names of certificates as authorities take them.</summary>
internal static class CertificateNames
{
    private static readonly IdnMapping Idn = new() { UseStd3AsciiRules = true };

    /// <summary>In lower case and ASCII, without duplicates, in the order given.</summary>
    /// <exception cref="AcmeConfigurationException">There are none, or one is not a host, <c>*.host</c> or an address.</exception>
    public static IReadOnlyList<string> Normalize(IReadOnlyList<string> names)
    {
        if (names.Count == 0)
        {
            throw new AcmeConfigurationException("A certificate needs at least one name.");
        }

        return [.. names.Select(Normalize).Distinct(StringComparer.Ordinal)];
    }

    /// <summary>The host whose record or port proves a name: without <c>*.</c>.</summary>
    public static string Host(string name) => name.StartsWith("*.", StringComparison.Ordinal) ? name[2..] : name;

    private static string Normalize(string name)
    {
        string trimmed = name.Trim();
        if (Address(trimmed) is { } address)
        {
            return address.ToString();
        }

        bool isWildcard = trimmed.StartsWith("*.", StringComparison.Ordinal);
        try
        {
            string host = Idn.GetAscii(Host(trimmed).TrimEnd('.').ToLowerInvariant());
            if (host.Length is > 0 and <= 253 && host.Split('.') is var labels && labels.All(IsLabel) && !labels[^1].All(char.IsAsciiDigit))
            {
                return isWildcard ? "*." + host : host;
            }
        }
        catch (ArgumentException)
        {
            // As below.
        }

        throw new AcmeConfigurationException(
            $"'{name}' is not a name that a certificate can have: name a host such as www.example.org, *.example.org or an IP address.");
    }

    private static IPAddress? Address(string name)
    {
        string bare = name.StartsWith('[') && name.EndsWith(']') ? name[1..^1] : name;
        return IPAddress.TryParse(bare, out IPAddress? address)
            && (address.AddressFamily == AddressFamily.InterNetworkV6 ? address.ScopeId == 0 : bare.Count('.') == 3)
                ? address
                : null;
    }

    private static bool IsLabel(string label) =>
        label.Length is > 0 and <= 63 && label[0] != '-' && label[^1] != '-'
        && label.All(static c => char.IsAsciiLetterOrDigit(c) || c == '-');
}
